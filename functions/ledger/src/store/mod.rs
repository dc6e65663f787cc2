//! The verbs that touch the tables. A function asks only for the traits whose actions its role grants.
//!
//! `Moved` answers are no errors: somebody else changed the document since it was read, so read it again.

pub mod dynamo;
pub mod jobs;
pub mod memory;
pub mod operator;

use std::future::Future;

use platform::Deadline;

use crate::{
    duplicate::Addition,
    head::Head,
    history::History,
    item::OutboxItem,
    plan::{Plan, PlanChunk, PlanEntry, UnpackError},
    record::NewEvent,
    resend::Claim,
};

/// Why a verb could not be carried out, by what to do next.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Throttled, in conflict with another transaction, unreachable or out of time: the same call may pass later.
    #[error("the ledger is busy ({0}); try again later")]
    Busy(String),
    /// Denied, or the table is not there: an operator must look at the function's role and configuration.
    #[error("the ledger refused the call ({0}); check the function's role and table names")]
    Denied(String),
    /// An item does not read as what its key says.
    #[error("an item of the ledger cannot be read: {0}")]
    Corrupt(String),
}

impl From<UnpackError> for LedgerError {
    fn from(error: UnpackError) -> Self {
        Self::Corrupt(error.to_string())
    }
}

/// What became of an event that was to be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// Event and outbox item are committed.
    New,
    /// The event was there already.
    Duplicate,
    /// It was there already, and the same hook told it with other content; that is kept now, in review.
    Contradiction,
}

impl Recorded {
    /// What is said of a duplicate whose addition is committed.
    pub(crate) fn of(addition: &Addition) -> Self {
        match addition {
            Addition::Slugs(_) => Self::Duplicate,
            Addition::Contradiction(_) => Self::Contradiction,
        }
    }
}

/// What became of a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Written.
    Done,
    /// Somebody else was faster; nothing was written.
    Moved,
}

/// Records events (law 2). The webhook's verbs.
pub trait Recorder: Send + Sync {
    /// Commits the event and its outbox item in one transaction, both only if absent. Conflicts and throttling are retried
    /// until the deadline.
    ///
    /// # Errors
    /// Nothing is committed, or it is not known whether it is: the sender must try again.
    fn record(
        &self,
        event: &NewEvent,
        deadline: Deadline,
    ) -> impl Future<Output = Result<Recorded, LedgerError>> + Send;

    /// Counts one more delivery of an event that is there already. Best effort, and never creates an item.
    ///
    /// # Errors
    /// The delivery was not counted.
    fn count_delivery(&self, event: &NewEvent) -> impl Future<Output = Result<(), LedgerError>> + Send;
}

/// One consistent read of a document's partition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DocumentState {
    /// The head; the default where there is none yet.
    pub head: Head,
    /// The items from the lower of the head's open second and the message's, settled ones included.
    pub items: Vec<OutboxItem>,
    /// The chunks of the plan.
    pub chunks: Vec<PlanChunk>,
}

impl DocumentState {
    /// The plan that the chunks hold.
    ///
    /// # Errors
    /// [`LedgerError::Corrupt`] when a chunk does not read as entries.
    pub fn plan(&self) -> Result<Plan, LedgerError> {
        let mut entries = Vec::new();
        for chunk in &self.chunks {
            entries.extend(chunk.entries.unpack::<PlanEntry>()?);
        }
        Ok(Plan::of(entries))
    }
}

/// The one change with which a wake takes effect: the head, what is to wake later, the history, and the plan that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Advance {
    /// Partition of the document.
    pub document_key: String,
    /// The version that was read; the new head's is one more.
    pub from_version: u64,
    /// The new head.
    pub head: Head,
    /// Items to wake later.
    pub wakes: Vec<OutboxItem>,
    /// The chunks, as last written, to be removed.
    pub chunks: Vec<PlanChunk>,
    /// What was done.
    pub history: History,
}

/// How an item is marked applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Why it counts as applied.
    pub reason: String,
    /// RFC 3339.
    pub applied_at: String,
    /// Routes the cascade touched, where one ran for this item.
    pub routes_affected: Option<u32>,
    /// Time to live, epoch seconds.
    pub expires_at: i64,
}

/// How an item is put off (law 11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferral {
    /// Epoch second of the next attempt.
    pub next_attempt: i64,
    /// What stood in the way.
    pub error: String,
    /// RFC 3339.
    pub at: String,
}

/// Reads and changes a document's partition. The consumer's verbs.
pub trait Documents: Send + Sync {
    /// Reads the document consistently, never through an index: the head, the items from the lower of the head's open second
    /// and the second of `sort_key`, and the plan.
    ///
    /// # Errors
    /// The read failed.
    fn read(
        &self,
        document_key: &str,
        sort_key: &str,
    ) -> impl Future<Output = Result<DocumentState, LedgerError>> + Send;

    /// Whether the evidence of an event is still there.
    ///
    /// # Errors
    /// The read failed.
    fn event_exists(&self, event_id: &str) -> impl Future<Output = Result<bool, LedgerError>> + Send;

    /// Stores the chunks of a plan, each over the version before its own, and only while the head is at `head_version`.
    /// Chunk 0 is written last.
    ///
    /// # Errors
    /// It is not known which chunks were stored; none is lost by storing them again.
    fn put_plan(
        &self,
        document_key: &str,
        head_version: u64,
        chunks: &[PlanChunk],
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;

    /// Stores one chunk over the version before its own.
    ///
    /// # Errors
    /// The write failed.
    fn confirm(
        &self,
        document_key: &str,
        chunk: &PlanChunk,
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;

    /// Takes effect, in one transaction.
    ///
    /// # Errors
    /// It is not known whether it took effect; doing the work again is safe.
    fn advance(&self, advance: &Advance) -> impl Future<Output = Result<Written, LedgerError>> + Send;

    /// Marks an open item applied. [`Written::Moved`]: it is settled already.
    ///
    /// # Errors
    /// The mark is still missing; the head owes it.
    fn mark(
        &self,
        item: &OutboxItem,
        mark: &Mark,
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;

    /// Open → in review, out of the READY index in the same write. [`Written::Moved`]: it is settled already.
    ///
    /// # Errors
    /// The item keeps its state.
    fn set_aside(
        &self,
        item: &OutboxItem,
        reason: &str,
        at: &str,
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;

    /// Puts a READY item off: an answer, so its attempts start again. [`Written::Moved`]: it is not READY any more.
    ///
    /// # Errors
    /// The item keeps its next attempt.
    fn defer(
        &self,
        item: &OutboxItem,
        deferral: &Deferral,
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;
}

/// Keeps the breakers of the targets, so that all consumers share them (law 11).
pub trait Breakers: Send + Sync {
    /// The stored breaker, with its version; 0 where none is stored.
    ///
    /// # Errors
    /// The read failed.
    fn breaker(
        &self,
        target: &str,
    ) -> impl Future<Output = Result<(u64, Option<String>), LedgerError>> + Send;

    /// Stores a breaker over the version read.
    ///
    /// # Errors
    /// The write failed.
    fn set_breaker(
        &self,
        target: &str,
        version: u64,
        state: &str,
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;
}

/// A page of the READY index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DuePage {
    /// Keys of items that were due when the index was written: (partition, sort key, next attempt).
    pub keys: Vec<(String, String, i64)>,
    /// Where the next page begins.
    pub next: Option<DueCursor>,
}

/// Where a page of the READY index begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueCursor(pub(crate) std::collections::BTreeMap<String, String>);

/// What one shard of the READY index holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready {
    /// Items READY, due or not.
    pub count: u64,
    /// When the oldest of them was accepted, epoch milliseconds.
    pub oldest_accepted_at: Option<i64>,
}

/// Finds and claims what is READY. The relay's verbs.
pub trait Outbox: Send + Sync {
    /// A page of what one shard of the READY index holds up to `until` (epoch seconds), oldest first. The index lags.
    ///
    /// # Errors
    /// The read failed.
    fn due(
        &self,
        shard: &str,
        until: i64,
        from: Option<DueCursor>,
    ) -> impl Future<Output = Result<DuePage, LedgerError>> + Send;

    /// How many items one shard holds READY, due or not, and since when; at most some thousands are looked at.
    ///
    /// # Errors
    /// The read failed.
    fn ready(&self, shard: &str) -> impl Future<Output = Result<Ready, LedgerError>> + Send;

    /// Reads an item and the head of its document, consistently.
    ///
    /// # Errors
    /// The read failed.
    fn item_and_head(
        &self,
        document_key: &str,
        sort_key: &str,
    ) -> impl Future<Output = Result<Option<(OutboxItem, Head)>, LedgerError>> + Send;

    /// Claims an item as it was read. [`Written::Moved`]: another relay or a consumer was faster.
    ///
    /// # Errors
    /// The item keeps its state.
    fn claim(
        &self,
        item: &OutboxItem,
        claim: &Claim,
        message_group_id: &str,
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;

    /// Takes a claim back whose message the queue did not take: it was no send, so it consumes no attempt.
    ///
    /// # Errors
    /// The item keeps the claim.
    fn unclaim(
        &self,
        item: &OutboxItem,
        claim: &Claim,
        next_attempt: i64,
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;

    /// Marks what the head covers. As [`Documents::mark`].
    ///
    /// # Errors
    /// The mark is still missing.
    fn settle(
        &self,
        item: &OutboxItem,
        mark: &Mark,
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;

    /// READY → DEAD, as the item was read.
    ///
    /// # Errors
    /// The item keeps its state.
    fn bury(
        &self,
        item: &OutboxItem,
        reason: &str,
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;
}
