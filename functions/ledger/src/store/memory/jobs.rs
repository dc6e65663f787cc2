//! The jobs' verbs in memory.

use super::MemoryLedger;
use crate::{
    item::{OutboxItem, State},
    store::{
        LedgerError, Written,
        jobs::{Bookmarks, Letters, Wakes},
    },
};

impl Bookmarks for MemoryLedger {
    async fn bookmark(&self, job: &str) -> Result<(u64, Option<String>), LedgerError> {
        Ok(match self.tables().bookmarks.get(job) {
            Some((version, state)) => (*version, Some(state.clone())),
            None => (0, None),
        })
    }

    async fn set_bookmark(&self, job: &str, version: u64, state: &str) -> Result<Written, LedgerError> {
        let mut tables = self.tables();
        let held = tables.bookmarks.get(job).map_or(0, |(version, _)| *version);
        if held != version {
            return Ok(Written::Moved);
        }
        tables
            .bookmarks
            .insert(job.to_owned(), (version + 1, state.to_owned()));
        Ok(Written::Done)
    }
}

impl Wakes for MemoryLedger {
    async fn wake(&self, item: &OutboxItem) -> Result<Written, LedgerError> {
        let mut tables = self.tables();
        let partition = tables.partitions.entry(item.pk.clone()).or_default();
        if partition.items.contains_key(&item.sk) {
            return Ok(Written::Moved);
        }
        partition.items.insert(item.sk.clone(), item.clone());
        Ok(Written::Done)
    }
}

impl Letters for MemoryLedger {
    async fn item(&self, document_key: &str, sort_key: &str) -> Result<Option<OutboxItem>, LedgerError> {
        let tables = self.tables();
        let partition = tables.partitions.get(document_key);
        Ok(partition.and_then(|it| it.items.get(sort_key)).cloned())
    }

    async fn fail(&self, item: &OutboxItem, reason: &str) -> Result<Written, LedgerError> {
        Ok(self.change(
            item,
            |held| held.state == State::Pending,
            |held| held.wait_for_a_person(State::Failed, "failed", reason),
        ))
    }
}
