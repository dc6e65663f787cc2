//! Where a document's pages are, what they are made of, and what must be purged when a document changes.
//!
//! The decisions are functions without I/O: [`config`] says what each document type means, [`row`] reads what the routing
//! query answered, [`cascade`] compares that with the routes held and returns the writes and the purge. [`store`] holds the
//! routes, in DynamoDB or in memory. [`affected`] reads from a store all that a cascade needs.
//!
//! One changed document, as the consumer handles it:
//!
//! ```no_run
//! # use routing::{Changed, DocumentRef, RouteStore, RoutesConfig, Rows, affected, cascade, store::Outcome};
//! # async fn run<S: RouteStore>(store: S, deadline: platform::Deadline,
//! #     ask: impl Fn(&str, &serde_json::Map<String, serde_json::Value>) -> serde_json::Value,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! let config = RoutesConfig::embedded()?;
//! let document = DocumentRef::new("production", "banner-summer");
//! let mut held = affected(&store, &[document.clone()], config.limits().maximum_width, &deadline).await?;
//! let mut rows = Rows::default();
//! for query in config.queries(&held.documents("production")) {
//!     rows.read(&query.ids, &ask(config.groq(), &query.params), config.limits().maximum_dependencies);
//! }
//! held.complete(&store, &rows, &deadline).await?;
//! let changed = Changed { document, document_type: Some("banner".into()), slugs: vec![] };
//! let outcome = cascade(&config, &changed, &held, &rows);
//! // The plan (outcome.purge) is stored here, before the first write.
//! for change in &outcome.changes {
//!     if store.apply(change, &deadline).await? == Outcome::Conflict { /* start again from `affected` */ }
//! }
//! # Ok(()) }
//! ```

pub mod affected;
pub mod cascade;
pub mod config;
pub mod model;
pub mod row;
pub mod store;

pub use affected::{Affected, affected};
pub use cascade::{BoundHit, Cascade, Changed, PurgeEntry, cascade};
pub use config::{RoutesConfig, TypePolicy};
pub use model::{DocumentRef, Entry, Route, RouteChange, RouteName};
pub use row::{Row, RowError, Rows};
pub use store::{RouteStore, StoreError};

#[cfg(test)]
mod interleavings;
