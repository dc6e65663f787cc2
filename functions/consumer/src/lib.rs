//! The consumer: an SQS batch of wake-ups becomes, per document, one consistent read, a fence, a cascade, a stored plan, purges from
//! the inside out, a new head and its marks.
//!
//! As a library, so that tests and simulations run the same code as the function; the binary only wires.

pub mod batch;
pub mod configuration;
pub mod document;
pub mod handler;
pub mod sanity_source;
pub mod settings;
pub mod source;
