//! The source as rebuild reads it.

use std::future::Future;

use platform::Deadline;
use routing::config::RoutingQuery;
use serde_json::Value;

/// Why the source did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the source did not answer: {0}")]
pub struct SourceError(pub String);

/// A published document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// `_id`.
    pub id: String,
    /// `_type`.
    pub document_type: String,
}

/// The source. Every call is one read, and reads are billed.
pub trait Dataset: Send + Sync {
    /// The first `limit` documents with an id behind `after`, of one type or of all, in order of their ids.
    fn page(
        &self,
        dataset: &str,
        document_type: Option<&str>,
        after: &str,
        limit: usize,
        deadline: Deadline,
    ) -> impl Future<Output = Result<Vec<Named>, SourceError>> + Send;

    /// The raw answer of a routing query.
    fn rows(
        &self,
        dataset: &str,
        query: &RoutingQuery,
        deadline: Deadline,
    ) -> impl Future<Output = Result<Value, SourceError>> + Send;
}
