//! Events that came too late, by what [`ledger::late`] makes of each.

use ledger::{
    item::{OutboxItem, Seen},
    late::{self, LateFate},
    plan::{Entry, Key, Plan},
    record::rfc3339,
    store::{Breakers, Documents, LedgerError, Written},
};
use platform::{Clock, fault_point};
use routing::store::RouteStore;

use super::{
    Consumer, Failure, Round, Stop,
    cascade::{Cascaded, token},
    fence::{self, Fenced},
};
use crate::source::Source;

const WAITS: &str = "older than an applied delete: the source may still have to show it";

/// The round's late events. All but those that wait stay on the agenda, where their slugs join the plan.
#[derive(Debug, Default)]
pub(super) struct Late {
    fates: Vec<(OutboxItem, LateFate)>,
}

impl Late {
    fn of(&self, item: &OutboxItem) -> Option<LateFate> {
        let mut fates = self.fates.iter();
        fates.find_map(|(it, fate)| (it.sk == item.sk).then_some(*fate))
    }

    /// Why a late event is marked applied; none where it is not.
    pub(super) fn reason(&self, item: &OutboxItem) -> Option<&'static str> {
        match self.of(item)? {
            LateFate::Recompute => Some("late"),
            LateFate::Compensate => Some("late_compensated"),
            LateFate::SlugsOnly => Some("late_ignored"),
            LateFate::Review(_) | LateFate::Wait => None,
        }
    }

    /// The events to be set aside, each with the reason.
    pub(super) fn to_review(&self) -> impl Iterator<Item = (&OutboxItem, &'static str)> {
        self.fates.iter().filter_map(|(item, fate)| match fate {
            LateFate::Review(reason) => Some((item, *reason)),
            _ => None,
        })
    }

    fn waiting(&self) -> impl Iterator<Item = &OutboxItem> {
        self.fates
            .iter()
            .filter(|(_, fate)| *fate == LateFate::Wait)
            .map(|(item, _)| item)
    }

    /// Whether every slug that the document ever had is to be purged.
    pub(super) fn compensates(&self) -> bool {
        self.fates.iter().any(|(_, fate)| *fate == LateFate::Compensate)
    }

    /// Whether nothing but slugs is asked for.
    fn is_slugs_only(&self) -> bool {
        self.fates
            .iter()
            .all(|(_, fate)| !matches!(fate, LateFate::Recompute | LateFate::Compensate))
    }
}

impl<L, R, S, C> Consumer<L, R, S, C>
where
    L: Documents + Breakers,
    R: RouteStore,
    S: Source,
    C: Clock,
{
    /// Decides about the late events of the agenda; those that wait leave it.
    pub(super) fn judge_late(&self, round: &mut Round<'_>, fenced: &Fenced) {
        // Who asks for a reprocess has looked at it: the source decides.
        let asked_for = round.agenda.wanted_generation(round.head()).is_some();
        let shown = fenced.shown();
        let fate = |item: &OutboxItem| {
            if asked_for {
                return LateFate::Recompute;
            }
            let policy = self.config.late_policy(item.document_type.as_deref());
            let trust = self.settings.fence.trust;
            late::decide(item, round.head(), shown, round.begun, policy, trust)
        };
        let fates: Vec<(OutboxItem, LateFate)> = round
            .agenda
            .late
            .iter()
            .map(|item| (item.clone(), fate(item)))
            .collect();
        round.late = Late { fates };
        let waiting: Vec<String> = round.late.waiting().map(|item| item.sk.clone()).collect();
        round.agenda.late.retain(|item| !waiting.contains(&item.sk));
    }

    /// Every slug that the document ever had, where a late event is compensated.
    pub(super) fn compensation(&self, round: &mut Round<'_>, behind: &[Key]) -> Vec<Entry> {
        if !round.late.compensates() {
            return vec![];
        }
        let slugs = &round.state.head.slugs;
        if slugs.is_cut() {
            self.metrics.count("CascadeBoundHit", 1);
            round.history.bound_hit = true;
            tracing::error!(
                document_key = round.document_key,
                "the document had more slugs than its head holds: the oldest are not purged again"
            );
        }
        let entry = |slug: &String| Entry {
            key: Key::Slug { slug: slug.clone() },
            behind: behind.to_vec(),
        };
        slugs.as_slice().iter().map(entry).collect()
    }

    /// Whether all that is left to do is to purge the slugs of late events.
    pub(super) fn is_slugs_only(&self, round: &Round<'_>, fenced: &Fenced, plan: &Plan) -> bool {
        !round.agenda.late.is_empty()
            && round.late.is_slugs_only()
            && fenced.handled().is_empty()
            && self.repeats_at_most(round)
            && plan.is_settled()
    }

    /// Stores the plan of slugs alone: no cascade, so no read of routes or of the routing query.
    pub(super) async fn plan_slugs(
        &self,
        round: &mut Round<'_>,
        seen: Option<Seen>,
        mut plan: Plan,
    ) -> Result<Cascaded, Stop> {
        let mut entries = fence::entries_of(&round.agenda.wakes)?;
        for item in &round.agenda.late {
            let paths = item
                .slugs
                .iter()
                .flat_map(|slug| self.config.event_paths(item.document_type.as_deref(), slug));
            entries.extend(paths.map(|slug| Entry {
                key: Key::Slug { slug },
                behind: vec![],
            }));
        }
        let token = token(round, &[], &[]);
        plan.owe(&entries, &self.targets.layers(), &token);
        let chunks = self.store_plan(round, &plan).await?;
        Ok(Cascaded {
            chunks,
            seen,
            routes_affected: None,
        })
    }

    /// Sets aside what a person has to look at. After the head: a crash before it finds the event late once more.
    pub(super) async fn set_aside(&self, round: &Round<'_>) -> Result<(), LedgerError> {
        let now = rfc3339(self.clock.now());
        for (item, reason) in round.late.to_review() {
            if self.ledger.set_aside(item, reason, &now).await? == Written::Done {
                fault_point!("consumer.set-aside");
                self.metrics.count("EventsInReview", 1);
                tracing::error!(event_id = item.event_id, reason, "set aside: in review");
            }
        }
        Ok(())
    }

    /// Puts off the named events whose order is impossible unless the source still shows otherwise.
    pub(super) async fn put_off_the_waiting(&self, round: &Round<'_>) -> Result<(), Failure> {
        for item in round.late.waiting().filter(|item| round.named.contains(&item.sk)) {
            self.put_off_item(item, WAITS, None).await?;
        }
        Ok(())
    }

    /// Whether there is nothing to do but to wait.
    pub(super) fn only_waits(&self, round: &Round<'_>, fenced: &Fenced, plan: &Plan) -> bool {
        let agenda = &round.agenda;
        round.late.waiting().next().is_some()
            && agenda.late.is_empty()
            && agenda.wakes.is_empty()
            && fenced.handled().is_empty()
            && agenda.wanted_generation(round.head()).is_none()
            && plan.is_settled()
    }
}
