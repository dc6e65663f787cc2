//! The ledger in memory: the twin that tests and simulations use, with the same conditions as the tables.

mod breakers;
mod jobs;
mod operator;

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use platform::Deadline;

use super::{
    Advance, Deferral, DocumentState, Documents, DueCursor, DuePage, LedgerError, Mark, Outbox, Ready,
    Recorded, Recorder, Written,
};
use crate::{
    duplicate::Held,
    head::Head,
    history::History,
    intervention::Intervention,
    item::{OutboxItem, State, Status},
    plan::PlanChunk,
    record::{EventRecord, NewEvent},
    resend::{self, Claim},
};

#[derive(Debug, Clone, Default)]
struct Partition {
    head: Option<Head>,
    items: BTreeMap<String, OutboxItem>,
    chunks: BTreeMap<u32, PlanChunk>,
    history: BTreeMap<String, History>,
    interventions: BTreeMap<String, Intervention>,
}

#[derive(Debug, Default)]
struct Tables {
    events: BTreeMap<String, EventRecord>,
    partitions: BTreeMap<String, Partition>,
    breakers: BTreeMap<String, (u64, String)>,
    bookmarks: BTreeMap<String, (u64, String)>,
}

impl Tables {
    fn add(&mut self, event: &NewEvent) -> Result<(), LedgerError> {
        let partition = self.partitions.entry(event.item.pk.clone()).or_default();
        if partition.items.contains_key(&event.item.sk) {
            return Err(LedgerError::Corrupt(format!(
                "item {} without its event",
                event.item.sk
            )));
        }
        partition.items.insert(event.item.sk.clone(), event.item.clone());
        self.events
            .insert(event.event_id().to_owned(), event.record.clone());
        Ok(())
    }
}

/// The ledger in memory. Every verb is one atomic step.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    tables: Mutex<Tables>,
}

impl MemoryLedger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The evidence of an event.
    pub fn event(&self, event_id: &str) -> Option<EventRecord> {
        self.tables().events.get(event_id).cloned()
    }

    /// How many events there are.
    pub fn event_count(&self) -> usize {
        self.tables().events.len()
    }

    /// Every outbox item, of every document.
    pub fn all_items(&self) -> Vec<OutboxItem> {
        self.tables()
            .partitions
            .values()
            .flat_map(|it| it.items.values().cloned())
            .collect()
    }

    /// The history of a document, oldest first.
    pub fn history(&self, document_key: &str) -> Vec<History> {
        self.tables()
            .partitions
            .get(document_key)
            .map(|it| it.history.values().cloned().collect())
            .unwrap_or_default()
    }

    /// Puts an item as it is, for tests that begin in the middle.
    pub fn put_item(&self, item: OutboxItem) {
        let mut tables = self.tables();
        tables
            .partitions
            .entry(item.pk.clone())
            .or_default()
            .items
            .insert(item.sk.clone(), item);
    }

    fn change(
        &self,
        item: &OutboxItem,
        allowed: impl Fn(&OutboxItem) -> bool,
        change: impl FnOnce(&mut OutboxItem),
    ) -> Written {
        let mut tables = self.tables();
        let held = tables
            .partitions
            .get_mut(&item.pk)
            .and_then(|it| it.items.get_mut(&item.sk));
        match held {
            Some(held) if allowed(held) => {
                change(held);
                Written::Done
            }
            _ => Written::Moved,
        }
    }

    fn mark_item(&self, item: &OutboxItem, mark: &Mark) -> Written {
        self.change(item, OutboxItem::is_open, |held| {
            held.state = State::Applied;
            held.status = Some(Status::Sent);
            held.reason = Some(mark.reason.clone());
            held.applied_at = Some(mark.applied_at.clone());
            held.expires_at = Some(mark.expires_at);
            if mark.routes_affected.is_some() {
                held.routes_affected = mark.routes_affected;
            }
            held.next_attempt = None;
            held.ready_shard = None;
            held.state_key = None;
        })
    }
}

impl Recorder for MemoryLedger {
    async fn record(&self, event: &NewEvent, _deadline: Deadline) -> Result<Recorded, LedgerError> {
        let mut tables = self.tables();
        if let Some(held) = tables.events.get(event.event_id()) {
            let Some(addition) = event.adds_to(&Held::from(held)) else {
                return Ok(Recorded::Duplicate);
            };
            if tables.events.contains_key(addition.event().event_id()) {
                return Ok(Recorded::Duplicate);
            }
            tables.add(addition.event())?;
            return Ok(Recorded::of(&addition));
        }
        tables.add(event)?;
        Ok(Recorded::New)
    }

    async fn count_delivery(&self, event: &NewEvent) -> Result<(), LedgerError> {
        let mut tables = self.tables();
        let Some((pk, sk)) = tables
            .events
            .get(event.event_id())
            .map(|record| (record.document_key.clone(), record.outbox_sort_key.clone()))
        else {
            return Ok(());
        };
        if let Some(item) = tables
            .partitions
            .get_mut(&pk)
            .and_then(|it| it.items.get_mut(&sk))
        {
            item.deliveries += 1;
        }
        Ok(())
    }
}

impl Documents for MemoryLedger {
    async fn read(&self, document_key: &str, sort_key: &str) -> Result<DocumentState, LedgerError> {
        let tables = self.tables();
        let Some(partition) = tables.partitions.get(document_key) else {
            return Ok(DocumentState::default());
        };
        let head = partition.head.clone().unwrap_or_default();
        let from = head.read_from(sort_key);
        Ok(DocumentState {
            items: partition
                .items
                .range(from..)
                .map(|(_, item)| item.clone())
                .collect(),
            chunks: partition.chunks.values().cloned().collect(),
            head,
        })
    }

    async fn event_exists(&self, event_id: &str) -> Result<bool, LedgerError> {
        Ok(self.tables().events.contains_key(event_id))
    }

    async fn put_plan(
        &self,
        document_key: &str,
        head_version: u64,
        chunks: &[PlanChunk],
    ) -> Result<Written, LedgerError> {
        let mut tables = self.tables();
        let partition = tables.partitions.entry(document_key.to_owned()).or_default();
        let version = partition.head.as_ref().map_or(0, |head| head.version);
        let fits = |chunk: &PlanChunk| {
            partition.chunks.get(&chunk.number).map_or(0, |held| held.version) + 1 == chunk.version
        };
        if version != head_version || !chunks.iter().all(fits) {
            return Ok(Written::Moved);
        }
        for chunk in chunks {
            partition.chunks.insert(chunk.number, chunk.clone());
        }
        Ok(Written::Done)
    }

    async fn confirm(&self, document_key: &str, chunk: &PlanChunk) -> Result<Written, LedgerError> {
        let mut tables = self.tables();
        let held = tables
            .partitions
            .get_mut(document_key)
            .and_then(|it| it.chunks.get_mut(&chunk.number));
        match held {
            Some(held) if held.version + 1 == chunk.version => {
                *held = chunk.clone();
                Ok(Written::Done)
            }
            _ => Ok(Written::Moved),
        }
    }

    async fn advance(&self, advance: &Advance) -> Result<Written, LedgerError> {
        let mut tables = self.tables();
        let partition = tables.partitions.entry(advance.document_key.clone()).or_default();
        let version = partition.head.as_ref().map_or(0, |head| head.version);
        let unchanged = |chunk: &PlanChunk| {
            partition
                .chunks
                .get(&chunk.number)
                .is_some_and(|held| held.version == chunk.version)
        };
        if version != advance.from_version
            || !advance.chunks.iter().all(unchanged)
            || advance
                .wakes
                .iter()
                .any(|wake| partition.items.contains_key(&wake.sk))
        {
            return Ok(Written::Moved);
        }
        partition.head = Some(advance.head.clone());
        for chunk in &advance.chunks {
            partition.chunks.remove(&chunk.number);
        }
        for wake in &advance.wakes {
            partition.items.insert(wake.sk.clone(), wake.clone());
        }
        partition
            .history
            .insert(advance.history.sk.clone(), advance.history.clone());
        Ok(Written::Done)
    }

    async fn mark(&self, item: &OutboxItem, mark: &Mark) -> Result<Written, LedgerError> {
        Ok(self.mark_item(item, mark))
    }

    async fn set_aside(&self, item: &OutboxItem, reason: &str, at: &str) -> Result<Written, LedgerError> {
        Ok(self.change(item, OutboxItem::is_open, |held| {
            held.wait_for_a_person(State::InReview, "in_review", reason);
            held.last_attempt = Some(at.to_owned());
        }))
    }

    async fn defer(&self, item: &OutboxItem, deferral: &Deferral) -> Result<Written, LedgerError> {
        Ok(self.change(
            item,
            |held| held.status == Some(Status::Ready),
            |held| {
                held.next_attempt = Some(deferral.next_attempt);
                held.defers += 1;
                held.attempts = 0;
                held.last_error = Some(deferral.error.clone());
                held.last_attempt = Some(deferral.at.clone());
            },
        ))
    }
}

impl Outbox for MemoryLedger {
    async fn due(&self, shard: &str, until: i64, _from: Option<DueCursor>) -> Result<DuePage, LedgerError> {
        let mut keys: Vec<(String, String, i64)> = self
            .all_items()
            .into_iter()
            .filter(|item| item.ready_shard.as_deref() == Some(shard))
            .filter_map(|item| item.next_attempt.map(|next| (item.pk, item.sk, next)))
            .filter(|(_, _, next)| *next <= until)
            .collect();
        keys.sort_by_key(|(_, _, next)| *next);
        Ok(DuePage { keys, next: None })
    }

    async fn ready(&self, shard: &str) -> Result<Ready, LedgerError> {
        let items = self.all_items();
        let ready = || {
            items
                .iter()
                .filter(|item| item.ready_shard.as_deref() == Some(shard))
        };
        Ok(Ready {
            count: ready().count() as u64,
            oldest_accepted_at: ready().map(|item| item.accepted_at).min(),
        })
    }

    async fn item_and_head(
        &self,
        document_key: &str,
        sort_key: &str,
    ) -> Result<Option<(OutboxItem, Head)>, LedgerError> {
        let tables = self.tables();
        let Some(partition) = tables.partitions.get(document_key) else {
            return Ok(None);
        };
        let head = partition.head.clone().unwrap_or_default();
        Ok(partition.items.get(sort_key).map(|item| (item.clone(), head)))
    }

    async fn claim(
        &self,
        item: &OutboxItem,
        claim: &Claim,
        message_group_id: &str,
    ) -> Result<Written, LedgerError> {
        let as_read = |held: &OutboxItem| {
            held.status == Some(Status::Ready)
                && held.resends == item.resends
                && held.next_attempt == item.next_attempt
        };
        Ok(self.change(item, as_read, |held| {
            held.resends = claim.resends;
            held.attempts = claim.attempts;
            held.next_attempt = Some(claim.next_attempt);
            held.message_group_id = Some(message_group_id.to_owned());
            held.message_deduplication_id = Some(claim.message_deduplication_id.clone());
        }))
    }

    async fn unclaim(
        &self,
        item: &OutboxItem,
        claim: &Claim,
        next_attempt: i64,
    ) -> Result<Written, LedgerError> {
        let as_claimed = |held: &OutboxItem| {
            held.status == Some(Status::Ready)
                && held.resends == claim.resends
                && held.attempts == claim.attempts
        };
        Ok(self.change(item, as_claimed, |held| {
            held.attempts = item.attempts;
            held.next_attempt = Some(next_attempt);
        }))
    }

    async fn settle(&self, item: &OutboxItem, mark: &Mark) -> Result<Written, LedgerError> {
        Ok(self.mark_item(item, mark))
    }

    async fn bury(&self, item: &OutboxItem, reason: &str) -> Result<Written, LedgerError> {
        let as_read =
            |held: &OutboxItem| held.status == Some(Status::Ready) && held.next_attempt == item.next_attempt;
        Ok(self.change(item, as_read, |held| {
            held.status = Some(Status::Dead);
            held.reason = Some(reason.to_owned());
            held.next_attempt = None;
            held.ready_shard = None;
            held.state_key = Some(resend::state_key("dead"));
        }))
    }
}
