//! Finding what the webhook never delivered (law 13). As a library, so that tests and simulations run the same step as the
//! function.
//!
//! Each run asks the source what changed since the stored watermark ([`changes`]), by the source's own clock and a little
//! overlapping, and enters what the ledger has not seen through the same transaction as a webhook. Once a day it goes on with a
//! sweep ([`sweep`]): every document known as a route or a dependency is compared with the source, so that a lost delete is
//! found as well.

pub mod changes;
pub mod configuration;
mod enter;
pub mod run;
pub mod sanity_source;
pub mod settings;
pub mod source;
pub mod sweep;
