//! The webhook function as API Gateway sees it, on a ledger in memory.

#![allow(clippy::unwrap_used)]

mod faults;
mod requests;
mod support;
