//! The ledger: every accepted event as immutable evidence, and the outbox that holds what has become of it.
//!
//! Decisions are functions without I/O ([`order`], [`late`], [`fence`], [`plan`], [`resend`]); [`store`] holds the verbs that touch a
//! table, each with a twin in memory, and one conformance suite that both pass.

pub mod duplicate;
pub mod fence;
pub mod head;
pub mod history;
pub mod identity;
pub mod intervention;
pub mod item;
pub mod late;
pub mod message;
pub mod observed;
pub mod order;
pub mod payload;
pub mod plan;
pub mod record;
pub mod resend;
pub mod slugs;
pub mod store;
#[cfg(test)]
mod testing;
pub mod wake;
