//! The caches in front of an edit, as targets of a purge.
//!
//! Two rules shape everything in here. An empty key list is never sent, since to Stellate it means the whole type. And every
//! key that is handed in is answered exactly once, so that the plan can shrink by confirmation and a retry repeats only what
//! failed.
//!
//! # Whose fault a bad answer is
//!
//! | answer | meaning |
//! |---|---|
//! | no connection, no answer in time, 408, 429, 503 | the target is out; `retry-after` is honoured |
//! | 401, 403, 404, 405 of the endpoint, a redirect of the endpoint itself, an answer that is not understood | the target is out: a rotated token, a moved route |
//! | another 3xx or 4xx | one of the keys: the batch is halved until it is found, and refused |
//! | another 5xx, GraphQL `errors` without a path | the target or one of the keys: the batch is halved; if anything succeeds it was the key |
//! | GraphQL `errors` with a path, a page's own bad result | that key |
//!
//! A lone key that a 500 answers proves neither. It is reported as a [`PurgeReport::suspects`] beside the outage, and
//! [`BreakerState::blames_keys`] says when the caller may count it as a try of the key.
//!
//! What decides is free of I/O: `work` (what to send next, what an answer means), [`breaker`], [`order`], [`PathRules`].

pub mod breaker;
mod drive;
mod http;
pub mod nextjs;
pub mod order;
mod reason;
mod retry_after;
mod session;
pub mod stellate;
mod target;
mod targets;
mod token;
mod work;

pub use breaker::{BreakerConfig, BreakerState, Permit, Transition};
pub use http::ConfigurationProblem;
pub use nextjs::{Encode, PathRules, SecretIn, Storefront, StorefrontConfig, TrailingSlash};
pub use reason::Reason;
pub use stellate::{Stellate, StellateConfig};
pub use target::{AnyTarget, KeyOutcome, Outage, PurgeReport, Target, merge};
pub use targets::Targets;
pub use token::{Renewal, SecretField, TokenSource};
