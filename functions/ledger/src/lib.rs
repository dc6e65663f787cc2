//! The events and the outbox.

pub mod plan;
