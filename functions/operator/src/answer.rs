//! Answers: JSON for people, and errors that say what to do.

use ledger::{item::OutboxItem, store::LedgerError};
use routing::store::StoreError;
use serde_json::{Value, json};

use crate::source::SourceError;

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The request itself is wrong.
    #[error("{0}")]
    BadRequest(String),
    /// What it names is not there.
    #[error("{0}")]
    NotFound(String),
    /// What it names is not in a state for it.
    #[error("{0}")]
    Refused(String),
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The routes table did not answer.
    #[error(transparent)]
    Routes(#[from] StoreError),
    /// The source did not answer.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl OperatorError {
    /// The answer, where the request is at fault; none where something of ours is.
    pub fn answer(&self) -> Option<Value> {
        let code = match self {
            Self::BadRequest(_) => "bad_request",
            Self::NotFound(_) => "not_found",
            Self::Refused(_) => "refused",
            Self::Ledger(_) | Self::Routes(_) | Self::Source(_) => return None,
        };
        Some(json!({"error": {"code": code, "message": self.to_string()}}))
    }
}

/// An item as a line of a list.
pub(crate) fn line(item: &OutboxItem) -> Value {
    let mut line = json!({
        "event_id": item.event_id,
        "kind": item.kind,
        "document_id": item.document_id,
        "type": item.document_type,
        "dataset": item.dataset,
        "operation": item.operation,
        "revision": item.revision,
        "state": item.state,
        "status": item.status,
        "reason": item.reason,
        "generation": item.generation,
        "slugs": item.slugs,
        "received_at": item.received_at,
        "applied_at": item.applied_at,
        "next_attempt": item.next_attempt,
        "attempts": item.attempts,
        "defers": item.defers,
        "deliveries": item.deliveries,
        "last_error": item.last_error,
        "last_attempt": item.last_attempt,
        "routes_affected": item.routes_affected,
        "source": item.source,
        "document_key": item.pk,
        "sort_key": item.sk,
    });
    if let Some(fields) = line.as_object_mut() {
        fields.retain(|_, value| !value.is_null() && value != &json!([]));
    }
    line
}
