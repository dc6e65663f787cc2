//! Carrying a stored plan out (law 10): layer by layer from the inside, each confirmation stored before the next layer begins.

use std::collections::BTreeMap;

use ledger::{
    item::Seen,
    plan::{Key, Layer, PackedEntries, PlanChunk, PlanEntry, Progress},
    record::rfc3339,
    store::{Breakers, Documents, LedgerError, Written},
};
use platform::{Clock, fault_point};
use purge::{AnyTarget, KeyOutcome, Permit, PurgeReport, Target, Transition, breaker, merge, order};
use routing::store::RouteStore;

use super::{Consumer, Round, Stop, cascade::Cascaded};
use crate::source::Source;

/// Refusals of one key before it is settled as refused (law 10).
const MOST_TRIES: u32 = 3;
/// Keys handed to a layer before what it confirmed is stored.
const KEYS_A_CALL: usize = 500;

/// A plan as stored: its chunks, each with its entries.
pub(super) struct Chunks {
    list: Vec<(PlanChunk, Vec<PlanEntry>)>,
}

impl Chunks {
    /// The chunks as they were just stored.
    pub(super) fn stored(chunks: Vec<PlanChunk>) -> Result<Self, LedgerError> {
        let list = chunks
            .into_iter()
            .map(|chunk| {
                chunk
                    .entries
                    .unpack::<PlanEntry>()
                    .map(|entries| (chunk, entries))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { list })
    }

    fn entries(&self) -> impl Iterator<Item = &PlanEntry> {
        self.list.iter().flat_map(|(_, entries)| entries)
    }

    fn as_order(&self) -> Vec<order::Entry<Key>> {
        let progress = |progress: &Progress| match progress {
            Progress::Owed { tries, .. } => order::Progress::Open { tries: *tries },
            Progress::Confirmed { .. } | Progress::Refused { .. } => order::Progress::Settled,
        };
        self.entries()
            .map(|entry| order::Entry {
                key: entry.entry.key.clone(),
                behind: entry.entry.behind.clone(),
                layers: entry
                    .layers
                    .iter()
                    .map(|(layer, held)| (*layer, progress(held)))
                    .collect(),
            })
            .collect()
    }

    /// Records outcomes; gives the places of the chunks that changed.
    fn record(&mut self, layer: Layer, outcomes: &BTreeMap<Key, KeyOutcome>) -> Vec<usize> {
        let mut changed = Vec::new();
        for (place, (_, entries)) in self.list.iter_mut().enumerate() {
            let before = entries.clone();
            for entry in entries.iter_mut() {
                if let (Some(outcome), Some(held)) =
                    (outcomes.get(&entry.entry.key), entry.layers.get(&layer))
                {
                    entry.layers.insert(layer, after(held, outcome));
                }
            }
            if *entries != before {
                changed.push(place);
            }
        }
        changed
    }

    /// The chunks, for their removal.
    pub(super) fn into_chunks(self) -> Vec<PlanChunk> {
        self.list.into_iter().map(|(chunk, _)| chunk).collect()
    }
}

/// A layer's progress with a key after an outcome, for the work it is owed to.
fn after(held: &Progress, outcome: &KeyOutcome) -> Progress {
    let Progress::Owed { token, tries } = held else {
        return held.clone();
    };
    let token = token.clone();
    match (
        order::after(order::Progress::Open { tries: *tries }, outcome, MOST_TRIES),
        outcome,
    ) {
        (order::Progress::Open { tries }, _) => Progress::Owed { tries, token },
        (order::Progress::Settled, KeyOutcome::Refused { reason }) => Progress::Refused {
            token,
            reason: reason.as_str().to_owned(),
        },
        (order::Progress::Settled, _) => Progress::Confirmed { token },
    }
}

/// A purge that is through.
pub(super) struct Purged {
    /// The chunks to remove.
    pub(super) chunks: Vec<PlanChunk>,
    /// Every key of the plan.
    pub(super) keys: Vec<ledger::plan::Entry>,
    /// What the source showed.
    pub(super) seen: Option<Seen>,
    /// Routes touched, where a cascade ran.
    pub(super) routes_affected: Option<u32>,
}

impl<L, R, S, C> Consumer<L, R, S, C>
where
    L: Documents + Breakers,
    R: RouteStore,
    S: Source,
    C: Clock,
{
    pub(super) async fn purge(&self, round: &mut Round<'_>, cascaded: Cascaded) -> Result<Purged, Stop> {
        let Cascaded {
            mut chunks,
            seen,
            routes_affected,
        } = cascaded;
        let layers = self.targets.layers();
        let mut why: Vec<String> = Vec::new();
        let mut retry_after = None;
        for layer in &layers {
            let keys = order::sendable(&chunks.as_order(), *layer, &layers);
            for keys in keys.chunks(KEYS_A_CALL) {
                if round.deadline.is_near(self.settings.margin) {
                    return Err(Stop::PutOff {
                        why: "no time left".to_owned(),
                        retry_after: None,
                    });
                }
                let mut reports = Vec::new();
                for target in self.targets.in_layer(*layer) {
                    fault_point!("consumer.purge-due.{layer:?}");
                    let report = self.call(target, keys, round).await?;
                    fault_point!("consumer.purge-sent.{layer:?}");
                    if let Some(outage) = &report.outage {
                        why.push(format!("{} is out: {}", target.name(), outage.what.as_str()));
                        retry_after = retry_after.max(outage.retry_after);
                    }
                    reports.push(report);
                }
                let outcomes: BTreeMap<Key, KeyOutcome> = merge(keys, &reports).into_iter().collect();
                self.note(round, *layer, &outcomes);
                self.confirm(round, &mut chunks, *layer, &outcomes).await?;
            }
        }
        let open: Vec<&PlanEntry> = chunks
            .entries()
            .filter(|entry| !settled(entry, &layers))
            .collect();
        if !open.is_empty() {
            why.push(format!("{} keys are not purged yet", open.len()));
            return Err(Stop::PutOff {
                why: why.join("; "),
                retry_after,
            });
        }
        self.note_refusals(round, &chunks);
        Ok(Purged {
            keys: chunks.entries().map(|entry| entry.entry.clone()).collect(),
            chunks: chunks.into_chunks(),
            seen,
            routes_affected,
        })
    }

    /// Calls a target unless its breaker is open, and keeps the breaker.
    async fn call(
        &self,
        target: &AnyTarget,
        keys: &[Key],
        round: &Round<'_>,
    ) -> Result<PurgeReport, LedgerError> {
        let now = self.clock.now().unix_timestamp();
        let (version, stored) = self.ledger.breaker(target.name()).await?;
        let held: purge::BreakerState = stored
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let mut version = version;
        let state = match held.permit(now, &self.settings.breaker) {
            Permit::Wait { until } => {
                return Ok(PurgeReport::failed(keys, format!("breaker open until {until}")));
            }
            Permit::Call => held.clone(),
            Permit::Trial(trial) => {
                if self.keep(target, version, &trial).await? == Written::Moved {
                    return Ok(PurgeReport::failed(keys, "another consumer tries the target"));
                }
                version += 1;
                trial
            }
        };
        let deadline = round.deadline.earlier(self.settings.margin / 2);
        let report = target.purge(keys, deadline).await;
        tracing::info!(
            document_key = round.document_key,
            target = target.name(),
            keys = keys.len(),
            calls = report.calls,
            outage = report.outage.as_ref().map_or("", |outage| outage.what.as_str()),
            "purged"
        );
        let now = self.clock.now().unix_timestamp();
        let (next, transition) = match &report.outage {
            Some(outage) => breaker::on_outage(&state, now, &self.settings.breaker, outage.retry_after),
            None if report.calls == 0 => (state.clone(), Transition::None),
            None => breaker::on_success(&state),
        };
        if next != state && self.keep(target, version, &next).await? == Written::Done {
            match transition {
                Transition::Opened => {
                    self.metrics.count("TargetOutage", 1);
                    tracing::error!(target = target.name(), "the target is out; its breaker is open");
                }
                Transition::Closed => tracing::info!(target = target.name(), "the target works again"),
                Transition::None => {}
            }
        }
        Ok(if held.blames_keys() {
            report.blaming_suspects()
        } else {
            report
        })
    }

    async fn keep(
        &self,
        target: &AnyTarget,
        version: u64,
        state: &purge::BreakerState,
    ) -> Result<Written, LedgerError> {
        let text = serde_json::to_string(state).map_err(|error| LedgerError::Corrupt(error.to_string()))?;
        self.ledger.set_breaker(target.name(), version, &text).await
    }

    /// Stores what a layer came to, chunk by chunk.
    async fn confirm(
        &self,
        round: &Round<'_>,
        chunks: &mut Chunks,
        layer: Layer,
        outcomes: &BTreeMap<Key, KeyOutcome>,
    ) -> Result<(), Stop> {
        for place in chunks.record(layer, outcomes) {
            let (chunk, entries) = &mut chunks.list[place];
            let next = PlanChunk {
                version: chunk.version + 1,
                entries: PackedEntries::pack(entries),
                ..chunk.clone()
            };
            if self.ledger.confirm(round.document_key, &next).await? == Written::Moved {
                return Err(Stop::Again);
            }
            fault_point!("consumer.purge-confirmed.{layer:?}");
            *chunk = next;
        }
        Ok(())
    }

    fn note(&self, round: &mut Round<'_>, layer: Layer, outcomes: &BTreeMap<Key, KeyOutcome>) {
        let confirmed = outcomes.iter().filter(|(_, outcome)| outcome.is_confirmed());
        let mut count = 0;
        for (key, _) in confirmed {
            round.history.name_key(key);
            count += 1;
        }
        self.metrics.count("KeysPurged", u64::from(count));
        let outcome = round.history.layers.entry(layer).or_default();
        outcome.confirmed += count;
        outcome.at = Some(rfc3339(self.clock.now()));
    }

    /// What was settled as refused: in the history, as a metric with an alarm, and in the log.
    fn note_refusals(&self, round: &mut Round<'_>, chunks: &Chunks) {
        for entry in chunks.entries() {
            for (layer, progress) in &entry.layers {
                if let Progress::Refused { reason, .. } = progress {
                    let named = match &entry.entry.key {
                        Key::Slug { slug } => slug.clone(),
                        Key::Object { graphql_type, id } => format!("{graphql_type}:{id}"),
                    };
                    self.metrics.count("KeysRefused", 1);
                    tracing::error!(
                        document_key = round.document_key,
                        ?layer,
                        key = named,
                        reason,
                        "key refused"
                    );
                    let outcome = round.history.layers.entry(*layer).or_default();
                    outcome.refused.push(format!("{named}: {reason}"));
                }
            }
        }
    }
}

/// Settled in every layer that has a target; a layer that lost its target since owes nothing.
fn settled(entry: &PlanEntry, layers: &[Layer]) -> bool {
    entry
        .layers
        .iter()
        .all(|(layer, progress)| progress.is_settled() || !layers.contains(layer))
}
