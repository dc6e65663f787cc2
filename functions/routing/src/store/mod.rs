//! The routes table.
//!
//! # Layout
//!
//! | item | `pk` | `sk` | attributes |
//! |---|---|---|---|
//! | route | `DOC#<dataset>#<_id>` | `ROUTE#<route>` | those of [`Route`](crate::model::Route): `dataset` `document_id` `document_type` `graphql_type` `route` `slug` `dependencies` (L of S) `source_revision` `source_second` (N) `item_hash` `version` (N) |
//! | removed route | the same | the same | `gone` (true) `dataset` `document_id` `route` `source_revision` `source_second` `version` `expires_at` (TTL, epoch seconds) |
//! | edge | `DEP#<dataset>#<dependency>` | `PAGE#<document>#<route>` | `document_id` `route` |
//! | slug pointer | `SLUG#<dataset>#<slug>` | `ROUTE#<document>#<route>` | those of [`Pointer`]: `owner` (`<document>#<route>`) `document_id` `document_type` `graphql_type` `route` `source_second` |
//!
//! A route, its edges and its pointer change in one transaction, on the route's version that was read. So the edges of a
//! version are its `dependencies`, and a change needs to write only their difference.
//!
//! **The owner is part of a pointer's key.** A pointer with one owner in an attribute cannot be kept right: a slug may have two
//! holders for a while (a swap under way, an editor's mistake), and whichever order two writers come in, deleting "the"
//! pointer of a slug loses the other page's, or leaves the slug with a page that moved away. Here a delete names its owner, and
//! writers of different routes never meet.
//!
//! **A removed route leaves its version behind** for seven days ([`GoneRoute`](crate::model::GoneRoute)).
//!
//! **No cascade scans.** Dependants are one partition, read in order; a table of any size costs what the cascade touches.
//!
//! More edges than one transaction holds (100 actions) are added before and removed after it, under a version of their own. A
//! crash in between leaves edges too many, never too few; [`affected`](crate::affected) believes an edge only if the route
//! names the dependency.
//!
//! # For the GraphQL API: which page is at a slug?
//!
//! ```sh
//! aws dynamodb query --table-name "$ROUTES_TABLE" \
//!   --key-condition-expression 'pk = :slug' \
//!   --expression-attribute-values '{":slug": {"S": "SLUG#production#/summer"}}'
//! ```
//!
//! No item: 404. Several: the one with the greatest `source_second`. The pointer says document, GraphQL type and route; the
//! route item with its dependencies is `pk = DOC#production#<document_id>`, `sk = ROUTE#<route>`; one with `gone` is no route.

pub(crate) mod actions;
pub(crate) mod apply;
pub mod dynamo;
mod error;
pub mod memory;
pub mod walk;

use std::collections::BTreeSet;
use std::future::Future;

use platform::Deadline;
use serde::{Deserialize, Serialize};

pub use error::{NextStep, StoreError};

use crate::model::{DocumentRef, Entry, RouteChange, RouteName};

/// A page's claim to a slug.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pointer {
    /// The document that the page shows.
    pub document_id: String,
    /// The page among the document's pages.
    pub route: String,
    /// The document's Sanity `_type`.
    pub document_type: String,
    /// Its type in the GraphQL schema.
    pub graphql_type: String,
    /// `_updatedAt` of the revision that claimed the slug, in epoch seconds.
    pub source_second: i64,
}

/// The pages that a document appears on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Dependants {
    /// Their names, in order.
    pub pages: BTreeSet<RouteName>,
    /// Whether there are more documents than were asked for.
    pub more: bool,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was made.
    Applied,
    /// It had been made already, by an attempt whose answer was lost or by another consumer.
    Unchanged,
    /// The route is no longer at the version that was read: read routes and source again.
    Conflict,
}

/// Holds routes, edges and slug pointers. All reads are strongly consistent.
///
/// Not promised: that two reads show one moment. A cascade may therefore miss a page that begins to depend on its document
/// meanwhile; that page's own edit purges it after it was written.
pub trait RouteStore: Send + Sync {
    /// Everything held of `document`'s own pages, removed ones included, in order of their names.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn routes_of(
        &self,
        document: &DocumentRef,
        deadline: &Deadline,
    ) -> impl Future<Output = Result<Vec<Entry>, StoreError>> + Send;

    /// The pages that have an edge to `document`, of at most `limit` documents.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn dependants_of(
        &self,
        document: &DocumentRef,
        limit: usize,
        deadline: &Deadline,
    ) -> impl Future<Output = Result<Dependants, StoreError>> + Send;

    /// What is held under `names`, in their order; nothing for a name that is not held.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn entries(
        &self,
        names: &BTreeSet<RouteName>,
        deadline: &Deadline,
    ) -> impl Future<Output = Result<Vec<Entry>, StoreError>> + Send;

    /// The pages that claim `slug`; more than one if two documents hold it.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn pages_at(
        &self,
        dataset: &str,
        slug: &str,
        deadline: &Deadline,
    ) -> impl Future<Output = Result<Vec<Pointer>, StoreError>> + Send;

    /// Makes `change`, if the route is still at the version that the change expects.
    ///
    /// # Errors
    /// See [`StoreError`]. After an error the change may have been made; making it again then answers
    /// [`Outcome::Unchanged`], or [`Outcome::Conflict`] if it was made in part.
    fn apply(
        &self,
        change: &RouteChange,
        deadline: &Deadline,
    ) -> impl Future<Output = Result<Outcome, StoreError>> + Send;
}
