//! The operator's verbs in memory.

use super::MemoryLedger;
use crate::{
    item::{OutboxItem, State},
    record::EventRecord,
    resend,
    store::{
        LedgerError, Written,
        operator::{Change, Happened, Inspection, Interventions, Request, StatePage, allows},
    },
};

impl Inspection for MemoryLedger {
    async fn by_state(
        &self,
        state: &str,
        since: &str,
        limit: u32,
        from: Option<&str>,
    ) -> Result<StatePage, LedgerError> {
        let key = resend::state_key(state);
        let place = |item: &OutboxItem| format!("{} {} {}", item.received_at, item.pk, item.sk);
        let mut items: Vec<OutboxItem> = self
            .all_items()
            .into_iter()
            .filter(|item| item.state_key.as_deref() == Some(&key) && item.received_at.as_str() >= since)
            .filter(|item| from.is_none_or(|from| place(item).as_str() > from))
            .collect();
        items.sort_by_key(place);
        let more = items.len() > limit as usize;
        items.truncate(limit as usize);
        let next = items.last().filter(|_| more).map(place);
        Ok(StatePage { items, next })
    }

    async fn evidence(&self, event_id: &str) -> Result<Option<EventRecord>, LedgerError> {
        Ok(self.event(event_id))
    }

    async fn happened(&self, document_key: &str, limit: u32) -> Result<Vec<Happened>, LedgerError> {
        let tables = self.tables();
        let Some(partition) = tables.partitions.get(document_key) else {
            return Ok(vec![]);
        };
        let wakes = partition.history.iter();
        let asked = partition.interventions.iter();
        let mut all: Vec<(&String, Happened)> = wakes
            .map(|(sk, history)| (sk, Happened::Wake(history.clone())))
            .chain(asked.map(|(sk, asked)| (sk, Happened::Operator(asked.clone()))))
            .collect();
        all.sort_by(|one, other| one.0.cmp(other.0));
        let skipped = all.len().saturating_sub(limit as usize);
        Ok(all.into_iter().skip(skipped).map(|(_, it)| it).collect())
    }
}

impl Interventions for MemoryLedger {
    async fn intervene(&self, request: &Request) -> Result<Written, LedgerError> {
        let mut tables = self.tables();
        let asked = &request.intervention;
        let partition = tables.partitions.entry(asked.pk.clone()).or_default();
        let fits = request.change.as_ref().is_none_or(|(read, change)| {
            partition
                .items
                .get(&read.sk)
                .is_some_and(|held| allows(held, read, change))
        });
        let fresh = request
            .wake
            .as_ref()
            .is_none_or(|wake| !partition.items.contains_key(&wake.sk));
        if !fits || !fresh || partition.interventions.contains_key(&asked.sk) {
            return Ok(Written::Moved);
        }
        if let Some((read, change)) = &request.change
            && let Some(held) = partition.items.get_mut(&read.sk)
        {
            match change {
                Change::Accept => held.state = State::Pending,
                Change::Close { reason, expires_at } => {
                    held.state = State::Ignored;
                    held.reason = Some(reason.clone());
                    held.expires_at = Some(*expires_at);
                }
            }
            held.status = None;
            held.state_key = None;
        }
        if let Some(wake) = &request.wake {
            partition.items.insert(wake.sk.clone(), wake.clone());
        }
        partition.interventions.insert(asked.sk.clone(), asked.clone());
        Ok(Written::Done)
    }
}
