//! The outbox item: all the state of one event (law 2).
//!
//! The event record itself is immutable evidence; what happens to it is written here. Every change is conditional on the
//! state it leaves, see [`crate::transition`].

use serde::{Deserialize, Serialize};

use crate::{
    plan::{Layer, PackedEntries},
    resend,
};

/// What an outbox item asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An event that was received.
    Event,
    /// An operator's wish to handle the document again (law 14).
    Reprocess,
    /// A later look at the source, after a fence that was tied, trusted or unsure (law 7).
    Recheck,
    /// One more purge of the same keys, for renders that read before the first purge and stored after it (law 10).
    Repeat,
}

/// Where an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Accepted, not yet handled.
    Pending,
    /// Handled: what it changed is visible everywhere.
    Applied,
    /// Stored and deliberately not handled; the reason says why.
    Ignored,
    /// Stored, but a person has to look at it; the reason says why.
    InReview,
    /// Handling failed for good so far; can still end applied.
    Failed,
}

/// Whether the outbox still has to see to it that the item is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// Not settled: the relay sends it again when its next attempt is due.
    Ready,
    /// Settled, only ever together with [`State::Applied`].
    Sent,
    /// No consumer answered any of the allowed sends; an operator's turn.
    Dead,
}

/// Whether the event says that the document exists or that it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Create and update: one revision of them is one event (law 3).
    Write,
    /// The document was deleted or unpublished. Ranks after the write of its own revision.
    Delete,
}

/// Who brought an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A signed webhook delivery.
    Webhook,
    /// The reconciliation with the source (law 13).
    Reconcile,
    /// An operator (law 14).
    Operator,
    /// The consumer, waking itself later.
    Consumer,
}

/// What the source showed of a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seen {
    /// The document's `_rev`.
    pub revision: String,
    /// The document's `_updatedAt` in epoch seconds.
    pub second: i64,
}

/// An item of the outbox table below a document's partition, other than its head, plan and history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxItem {
    /// Partition key: [`crate::identity::document_key`].
    pub pk: String,
    /// Sort key: [`crate::identity::sort_key`].
    pub sk: String,
    /// What it asks for.
    pub kind: Kind,
    /// The event; for a wake, the newest event of the purge it follows.
    pub event_id: String,
    /// Absent in every final state other than applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Where it stands.
    pub state: State,
    /// Why it is in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Group of the queue's message. Absent while the item waits for a later wake, so the Pipe passes it by (law 12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_group_id: Option<String>,
    /// Deduplication id of the queue's message (law 6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_deduplication_id: Option<String>,
    /// Epoch second from which the relay takes it. Only with [`Status::Ready`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<i64>,
    /// Key of the sparse READY index. Only with [`Status::Ready`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_shard: Option<String>,
    /// Key of the sparse index of states in which an operator must act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_key: Option<String>,
    /// Sends by the relay that no consumer has answered yet.
    #[serde(default)]
    pub attempts: u32,
    /// All sends by the relay; makes each deduplication id fresh.
    #[serde(default)]
    pub resends: u32,
    /// Times a consumer has put it off since the last full attempt.
    #[serde(default)]
    pub defers: u32,
    /// Deliveries of the same event by Sanity, counted best-effort.
    #[serde(default)]
    pub deliveries: u32,
    /// Sanity project.
    pub project: String,
    /// Sanity dataset.
    pub dataset: String,
    /// `_id`; absent when the event is its own document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    /// `_type`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_type: Option<String>,
    /// `create`, `update` or `delete` as declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Write or delete.
    pub class: Class,
    /// `_rev`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// `_rev` before the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_revision: Option<String>,
    /// The signed `_updatedAt` in epoch seconds; of an unordered event, the second it was received.
    pub second: i64,
    /// No signed `_updatedAt`: always newer, and leaves the head's second alone (law 5).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unordered: bool,
    /// Old and new slugs the event names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slugs: Vec<String>,
    /// When it was accepted, epoch milliseconds.
    pub accepted_at: i64,
    /// The same, RFC 3339.
    pub received_at: String,
    /// W3C trace parent of the request that brought it; the Pipe carries no trace header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_parent: Option<String>,
    /// Who brought it.
    pub source: Origin,
    /// Summary of what a consumer last failed at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When a consumer last tried, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempt: Option<String>,
    /// When it was applied, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_at: Option<String>,
    /// Routes the cascade touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes_affected: Option<u32>,
    /// The generation a reprocess wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The keys a wake would purge again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<PackedEntries>,
    /// Of a repeat: the innermost layer that it purges again; absent: all of them (law 10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_layer: Option<Layer>,
    /// What the source showed when the wake was ordered; absent: no document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
    /// Time to live, epoch seconds. Only on applied and ignored items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

impl OutboxItem {
    /// Takes it out of the outbox's hands, for a person to look at.
    pub(crate) fn wait_for_a_person(&mut self, state: State, name: &str, reason: &str) {
        self.state = state;
        self.status = None;
        self.reason = Some(reason.to_owned());
        self.next_attempt = None;
        self.ready_shard = None;
        self.state_key = Some(resend::state_key(name));
    }

    /// Not in a final state: pending, failed or DEAD (law 5).
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Pending | State::Failed)
    }

    /// The revision, or what stands for it where the event names none.
    pub fn revision_or_event(&self) -> &str {
        self.revision.as_deref().unwrap_or(&self.event_id)
    }

    /// What makes this item's messages distinct: the part of the sort key behind the second.
    pub fn message_base(&self) -> &str {
        self.sk.splitn(3, '#').nth(2).unwrap_or(&self.event_id)
    }
}
