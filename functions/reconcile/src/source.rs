//! The source of truth as reconcile reads it.

use std::{collections::BTreeMap, future::Future, time::Duration};

use ledger::item::Seen;
use platform::Deadline;
use serde::{Deserialize, Serialize};

/// Why the source did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the source did not answer: {what}")]
pub struct SourceError {
    /// What happened.
    pub what: String,
    /// How long it asked to be left alone.
    pub retry_after: Option<Duration>,
}

/// A place in the order of changes: `_updatedAt` as the source writes it, then `_id`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// `_updatedAt`.
    pub at: String,
    /// `_id`; empty for the place before every document of that time.
    pub id: String,
}

/// A published document as the source shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Where it stands in the order of changes.
    pub place: Place,
    /// `_type`.
    pub document_type: String,
    /// `_rev`, and `_updatedAt` in epoch seconds.
    pub seen: Seen,
    /// Its slug, if it has one where slugs usually are.
    pub slug: Option<String>,
}

/// The source. Every call is one read, and reads are billed.
pub trait Lake: Send + Sync {
    /// The first `limit` documents behind `after`, in order.
    fn changed(
        &self,
        dataset: &str,
        after: &Place,
        limit: usize,
        deadline: Deadline,
    ) -> impl Future<Output = Result<Vec<Shown>, SourceError>> + Send;

    /// The `_updatedAt` of the document changed last; none in an empty dataset.
    fn newest(
        &self,
        dataset: &str,
        deadline: Deadline,
    ) -> impl Future<Output = Result<Option<String>, SourceError>> + Send;

    /// What it shows of `ids`, by `_id`; a document that is not there is absent.
    fn shown(
        &self,
        dataset: &str,
        ids: &[String],
        deadline: Deadline,
    ) -> impl Future<Output = Result<BTreeMap<String, Shown>, SourceError>> + Send;
}
