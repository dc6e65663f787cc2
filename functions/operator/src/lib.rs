//! What a person asks of Cascata, one JSON event in, one JSON answer out (law 14).
//!
//! | verb | what it does |
//! |---|---|
//! | `list` | what waits for a person: `in_review`, `failed`, `dead` |
//! | `show` | one event: its evidence and where it stands |
//! | `trace` | one document, or one slug: events, wakes, requests, plan, routes; why a page was purged |
//! | `reprocess` | handles events again, through the same door as a new one |
//! | `settle` | closes an event that nothing will handle |
//! | `rebuild` | builds routes and edges from the whole dataset |
//!
//! What changes something names who asks and why, and is a dry run unless it says `"dry_run": false`.

pub mod answer;
pub mod configuration;
mod look;
pub mod rebuild;
mod reprocess;
pub mod request;
pub mod sanity_source;
mod settle;
pub mod source;
mod target;
mod verbs;

pub use verbs::Operator;
