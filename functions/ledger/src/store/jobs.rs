//! Verbs of the scheduled jobs beside the relay: reconcile, sweep, rebuild, dead letters.

use std::future::Future;

use super::{LedgerError, Written};
use crate::item::OutboxItem;

/// Keeps where a job stands, so that its next run goes on from there. Beside the documents: `JOB#<name>`, `BOOKMARK`.
pub trait Bookmarks: Send + Sync {
    /// The bookmark of a job, with its version; 0 where there is none.
    ///
    /// # Errors
    /// The read failed.
    fn bookmark(&self, job: &str) -> impl Future<Output = Result<(u64, Option<String>), LedgerError>> + Send;

    /// Stores a bookmark over the version read. [`Written::Moved`]: another run of the job was faster.
    ///
    /// # Errors
    /// It is not known whether it was stored.
    fn set_bookmark(
        &self,
        job: &str,
        version: u64,
        state: &str,
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;
}

/// Wakes a document without an event.
pub trait Wakes: Send + Sync {
    /// Puts a new item. [`Written::Moved`]: it is there already.
    ///
    /// # Errors
    /// It is not known whether it was put; putting it again is safe.
    fn wake(&self, item: &OutboxItem) -> impl Future<Output = Result<Written, LedgerError>> + Send;
}

/// Follows up messages that the queue gave up on.
pub trait Letters: Send + Sync {
    /// Reads an item, consistently.
    ///
    /// # Errors
    /// The read failed.
    fn item(
        &self,
        document_key: &str,
        sort_key: &str,
    ) -> impl Future<Output = Result<Option<OutboxItem>, LedgerError>> + Send;

    /// Pending → failed, out of the READY index in the same write. What the consumer last said about it stays.
    /// [`Written::Moved`]: it is not pending any more.
    ///
    /// # Errors
    /// The item keeps its state.
    fn fail(
        &self,
        item: &OutboxItem,
        reason: &str,
    ) -> impl Future<Output = Result<Written, LedgerError>> + Send;
}
