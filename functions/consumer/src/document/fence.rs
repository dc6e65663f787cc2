//! Waiting until the source shows what was announced (law 7).

use std::time::Duration;

use ledger::{
    fence::{Passed, passes},
    item::{Kind, OutboxItem, Seen},
    plan::Entry,
    record::{milliseconds, rfc3339},
    store::{Breakers, Documents, LedgerError},
};
use platform::Clock;
use routing::store::RouteStore;
use tokio::time::Instant;

use super::{Consumer, Round, Stop};
use crate::source::Source;

/// What the fence came to.
pub(super) enum Fenced {
    /// The fence is open for these.
    Open(Open),
    /// There was nothing to wait for, and nothing to look at.
    Nothing,
    /// There was nothing to wait for; what the source showed.
    Looked(Option<Seen>),
    /// Only rechecks, and the source shows what it showed then.
    Unchanged,
}

/// An open fence.
pub(super) struct Open {
    /// The frontier, if it passed.
    pub(super) frontier: Vec<OutboxItem>,
    /// The unordered events that passed.
    pub(super) unordered: Vec<OutboxItem>,
    /// How sure.
    pub(super) passed: Passed,
    /// What the source showed.
    pub(super) shown: Option<Seen>,
    /// Whether it had to wait.
    pub(super) waited: bool,
}

impl Fenced {
    /// The events that are handled now.
    pub(super) fn handled(&self) -> Vec<&OutboxItem> {
        match self {
            Self::Open(open) => open.frontier.iter().chain(&open.unordered).collect(),
            Self::Nothing | Self::Looked(_) | Self::Unchanged => vec![],
        }
    }

    pub(super) fn frontier(&self) -> &[OutboxItem] {
        match self {
            Self::Open(open) => &open.frontier,
            Self::Nothing | Self::Looked(_) | Self::Unchanged => &[],
        }
    }

    /// What the source showed.
    pub(super) fn shown(&self) -> Option<&Seen> {
        match self {
            Self::Open(open) => open.shown.as_ref(),
            Self::Looked(shown) => shown.as_ref(),
            Self::Nothing | Self::Unchanged => None,
        }
    }
}

/// During a read of the source that takes longer, the index may have changed: the fence counts as waited (law 10).
const SLOW_READ: Duration = Duration::from_millis(500);

/// The keys that wakes carry.
pub(super) fn entries_of(wakes: &[OutboxItem]) -> Result<Vec<Entry>, LedgerError> {
    let mut entries = Vec::new();
    for packed in wakes.iter().filter_map(|wake| wake.entries.as_ref()) {
        entries.extend(packed.unpack::<Entry>()?);
    }
    Ok(entries)
}

impl<L, R, S, C> Consumer<L, R, S, C>
where
    L: Documents + Breakers,
    R: RouteStore,
    S: Source,
    C: Clock,
{
    pub(super) async fn fence(&self, round: &mut Round<'_>) -> Result<Fenced, Stop> {
        if round.agenda.frontier.is_empty() && round.agenda.unordered.is_empty() {
            return self.look(round).await;
        }
        let start = Instant::now();
        let mut looks = 0;
        loop {
            looks += 1;
            let begun = milliseconds(self.clock.now());
            let shown = self.observe(round).await?;
            let waited = start.elapsed();
            if let Some(mut open) = self.judge(round, shown.clone(), begun) {
                open.waited = looks > 1 || waited > SLOW_READ;
                round.history.fence = Some(open.passed);
                round.history.fence_waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
                round.history.fenced_at = Some(rfc3339(self.clock.now()));
                self.metrics.milliseconds("FenceWait", waited);
                tracing::info!(
                    document_key = round.document_key,
                    passed = ?open.passed,
                    waited_ms = round.history.fence_waited,
                    shown = shown.as_ref().map_or("absent", |seen| seen.revision.as_str()),
                    events = open.frontier.len() + open.unordered.len(),
                    "fence open"
                );
                return Ok(Fenced::Open(open));
            }
            let next = waited + self.settings.fence_poll;
            if next > self.settings.fence_bound
                || round
                    .deadline
                    .is_near(self.settings.margin + self.settings.fence_poll)
            {
                self.metrics.count("FenceDeferred", 1);
                self.metrics.milliseconds("FenceWait", waited);
                let showing = shown.map_or_else(|| "no document".to_owned(), |seen| seen.revision);
                return Err(Stop::PutOff {
                    why: format!("fence shut: the source still shows {showing}"),
                    retry_after: None,
                });
            }
            tokio::time::sleep(self.settings.fence_poll).await;
        }
    }

    /// One look at the source where there is nothing to wait for.
    async fn look(&self, round: &Round<'_>) -> Result<Fenced, Stop> {
        let agenda = &round.agenda;
        let rechecks: Vec<_> = agenda
            .wakes
            .iter()
            .filter(|wake| wake.kind == Kind::Recheck)
            .collect();
        if rechecks.is_empty()
            && agenda.late.is_empty()
            && agenda.wanted_generation(round.head()).is_none()
            && !agenda.wakes.is_empty()
        {
            return Ok(Fenced::Nothing);
        }
        let shown = self.observe(round).await?;
        // Absence proves nothing a second time either, so a recheck that finds it purges again.
        let same = |wake: &&OutboxItem| wake.seen == shown && shown.is_some();
        let only_rechecks = !agenda.wakes.is_empty() && rechecks.len() == agenda.wakes.len();
        if only_rechecks
            && rechecks.iter().all(same)
            && agenda.late.is_empty()
            && agenda.wanted_generation(round.head()).is_none()
            && round.state.plan()?.is_settled()
        {
            return Ok(Fenced::Unchanged);
        }
        Ok(Fenced::Looked(shown))
    }

    /// What the source shows of the round's document.
    pub(super) async fn observe(&self, round: &Round<'_>) -> Result<Option<Seen>, Stop> {
        let Some((dataset, id)) = round
            .any_item()
            .and_then(|item| Some((item.dataset.clone(), item.document_id.clone()?)))
        else {
            return Ok(None);
        };
        Ok(self
            .observer
            .observe(&dataset, &id, self.working_time(round))
            .await?)
    }

    /// Judges one read: the frontier as one, each unordered event for itself. Opens when the frontier passes, or, where there
    /// is none, any unordered event.
    pub(super) fn judge(&self, round: &Round<'_>, shown: Option<Seen>, begun: i64) -> Option<Open> {
        let judge =
            |items: &[OutboxItem]| passes(items, shown.as_ref(), begun, round.head(), &self.settings.fence);
        let frontier = judge(&round.agenda.frontier);
        if !round.agenda.frontier.is_empty() && frontier.is_none() {
            return None;
        }
        let mut unordered = Vec::new();
        let mut passed = frontier;
        for item in &round.agenda.unordered {
            if let Some(how) = judge(std::slice::from_ref(item)) {
                unordered.push(item.clone());
                passed = passed.max(Some(how));
            }
        }
        Some(Open {
            frontier: if frontier.is_some() {
                round.agenda.frontier.clone()
            } else {
                vec![]
            },
            unordered,
            passed: passed?,
            shown,
            waited: false,
        })
    }
}
