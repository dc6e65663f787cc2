//! Verbs of the operator: looking things up, asking for work again, closing what nothing will handle.

use std::future::Future;

use super::{LedgerError, Written};
use crate::{
    history::History,
    intervention::Intervention,
    item::{OutboxItem, State},
    record::EventRecord,
};

/// One page of what waits for an operator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatePage {
    /// Items as the index shows them, oldest first. The index lags: read the item itself before changing it.
    pub items: Vec<OutboxItem>,
    /// Where the next page begins, as text to hand back.
    pub next: Option<String>,
}

/// What happened to a document, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub enum Happened {
    /// A wake took effect.
    Wake(History),
    /// An operator asked for something.
    Operator(Intervention),
}

/// Looks things up.
pub trait Inspection: Send + Sync {
    /// A page of the items in `state` (`in_review`, `failed` or `dead`) that were received at or after `since` (RFC 3339; empty
    /// for all), oldest first.
    ///
    /// # Errors
    /// The read failed, or `from` is no text that an earlier page gave.
    fn by_state(
        &self,
        state: &str,
        since: &str,
        limit: u32,
        from: Option<&str>,
    ) -> impl Future<Output = Result<StatePage, LedgerError>> + Send;

    /// The evidence of an event.
    ///
    /// # Errors
    /// The read failed.
    fn evidence(
        &self,
        event_id: &str,
    ) -> impl Future<Output = Result<Option<EventRecord>, LedgerError>> + Send;

    /// The newest `limit` entries of a document's history, oldest first.
    ///
    /// # Errors
    /// The read failed.
    fn happened(
        &self,
        document_key: &str,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Happened>, LedgerError>> + Send;
}

/// How an event in a state that waits for a person is changed together with the request for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// In review → pending: it is handled by the wake asked for.
    Accept,
    /// In review, failed or DEAD → ignored, for good.
    Close {
        /// Why.
        reason: String,
        /// Time to live, epoch seconds.
        expires_at: i64,
    },
}

/// One operator's request, taken as one transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What is kept of it.
    pub intervention: Intervention,
    /// A new item that wakes the document.
    pub wake: Option<OutboxItem>,
    /// An item, as it was read, and what becomes of it.
    pub change: Option<(OutboxItem, Change)>,
}

/// Takes requests.
pub trait Interventions: Send + Sync {
    /// Takes a request, whole or not at all. [`Written::Moved`]: the item was changed since it was read, or the same wake was
    /// asked for already.
    ///
    /// # Errors
    /// It is not known whether it was taken.
    fn intervene(&self, request: &Request) -> impl Future<Output = Result<Written, LedgerError>> + Send;
}

/// The states that wait for a person, as the index names them.
pub const WAITING: [&str; 3] = ["in_review", "failed", "dead"];

/// Whether an item may be changed so.
pub(crate) fn allows(held: &OutboxItem, read: &OutboxItem, change: &Change) -> bool {
    let unchanged = held.state == read.state && held.status == read.status;
    unchanged
        && match change {
            Change::Accept => held.state == State::InReview,
            Change::Close { .. } => held.state_key.is_some(),
        }
}
