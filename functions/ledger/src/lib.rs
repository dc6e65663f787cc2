//! The ledger: every accepted event as immutable evidence, and the outbox that holds what has become of it.
//!
//! Decisions are functions without I/O ([`order`], [`fence`], [`plan`], `resend`); [`store`] holds the verbs that touch a
//! table, each with a twin in memory, and one conformance suite that both pass.

pub mod fence;
pub mod head;
pub mod identity;
pub mod item;
pub mod order;
pub mod plan;
#[cfg(test)]
mod testing;
