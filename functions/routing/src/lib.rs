//! Where a document's pages are, what they are made of, and what must be purged when a document changes.
//!
//! The decisions are functions without I/O: [`config`] says what each document type means, [`reading`] what to ask the source,
//! [`row`] reads what the routing query answered, [`references`] what a document references, [`cascade`] compares that with the routes held and returns the writes and the purge. [`store`] holds the
//! routes, in DynamoDB or in memory. [`affected`] reads from a store all that a cascade needs.
//!
//! One changed document, as the consumer handles it:
//!
//! ```no_run
//! # use routing::{Changed, DocumentRef, Reading, RouteStore, RoutesConfig, affected, cascade, store::Outcome};
//! # async fn run<S: RouteStore>(store: S, deadline: platform::Deadline,
//! #     ask: impl Fn(&routing::config::RoutingQuery) -> serde_json::Value,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! let config = RoutesConfig::embedded()?;
//! let document = DocumentRef::new("production", "banner-summer");
//! let mut held = affected(&store, &[document.clone()], config.limits().maximum_width, &deadline).await?;
//! let mut reading = Reading::new(&config, &held, "production");
//! while let Some(query) = reading.next_query() {
//!     reading.answer(&query, &ask(&query));
//! }
//! let rows = reading.into_rows();
//! held.complete(&store, &config, &rows, &deadline).await?;
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
mod discovery;
pub mod model;
pub mod reading;
pub mod references;
pub mod row;
pub mod store;

pub use affected::{Affected, affected};
pub use cascade::{BoundHit, Cascade, Changed, PurgeEntry, cascade};
pub use config::{RoutesConfig, TypePolicy};
pub use model::{DocumentRef, Entry, Route, RouteChange, RouteName};
pub use reading::Reading;
pub use row::{Row, RowError, Rows};
pub use store::{RouteStore, StoreError};

#[cfg(test)]
mod interleavings;
