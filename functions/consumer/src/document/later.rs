//! What has to wake later: rechecks (law 7) and repeats (law 10).

use ledger::{
    fence::Passed,
    head::Head,
    item::{Class, Kind, Origin, OutboxItem, State, Status},
    plan::{Entry, Layer, PackedEntries},
    record::{milliseconds, rfc3339},
    store::{Breakers, Documents},
};
use platform::Clock;
use routing::store::RouteStore;

use super::{Consumer, Round, fence::Fenced, purging::Purged};
use crate::source::Source;

impl<L, R, S, C> Consumer<L, R, S, C>
where
    L: Documents + Breakers,
    R: RouteStore,
    S: Source,
    C: Clock,
{
    /// What has to wake later: a recheck after a look that was not sure, a repeat after a purge that a render under way may
    /// have crossed.
    pub(super) fn wakes(
        &self,
        round: &Round<'_>,
        fenced: &Fenced,
        purged: &Purged,
        head: &Head,
    ) -> Vec<OutboxItem> {
        let handled = fenced.handled();
        let newest = handled.iter().copied().max_by_key(|item| item.accepted_at);
        let Some(newest) = newest.or_else(|| round.any_item()) else {
            return vec![];
        };
        let now = self.clock.now();
        let (waited, passed) = match fenced {
            Fenced::Open(open) => (open.waited, open.passed),
            Fenced::Nothing | Fenced::Looked(_) | Fenced::Unchanged => (false, Passed::Sure),
        };
        let age = milliseconds(now) - newest.accepted_at;
        let young = !handled.is_empty()
            && age < i64::try_from(self.settings.repeat_young.as_millis()).unwrap_or(i64::MAX);
        let wake = |kind: Kind, letter: char| OutboxItem {
            sk: format!(
                "{}#{letter}{}",
                ledger::identity::sort_key(newest.second, &newest.event_id),
                head.version
            ),
            kind,
            status: Some(Status::Ready),
            state: State::Pending,
            reason: None,
            state_key: None,
            attempts: 0,
            resends: 0,
            defers: 0,
            deliveries: 0,
            slugs: vec![],
            accepted_at: milliseconds(now),
            received_at: rfc3339(now),
            source: Origin::Consumer,
            last_error: None,
            last_attempt: None,
            applied_at: None,
            routes_affected: None,
            generation: None,
            from_layer: None,
            entries: Some(PackedEntries::pack(&purged.keys)),
            seen: purged.seen.clone(),
            expires_at: None,
            ..(*newest).clone()
        };
        let settings = &self.settings.ledger;
        let mut wakes = Vec::new();
        if passed != Passed::Sure || self.is_unsure(round, fenced, purged) {
            let at = now.unix_timestamp() + self.settings.recheck_seconds;
            wakes.push(wake(Kind::Recheck, 'c').made_ready(settings, at, false));
        }
        let again = if (young || waited) && !purged.keys.is_empty() {
            Some((None, purged.keys.clone()))
        } else {
            self.outside(round, purged)
        };
        if let Some((from_layer, keys)) = again {
            let repeat = OutboxItem {
                from_layer,
                entries: Some(PackedEntries::pack(&keys)),
                ..wake(Kind::Repeat, 'r')
            };
            let at = now.unix_timestamp() + settings.grace_seconds;
            wakes.push(repeat.made_ready(settings, at, true));
        }
        wakes
    }

    /// What to purge once more outside the innermost layer that this wake purged.
    ///
    /// A render that read the inner cache just before it was purged stores the old page after the outer purge, however old the
    /// edit is (found by the simulation). By the repeat such renders have ended, and the inner cache is fresh. Each repeat leaves
    /// one layer more alone, so they end with the outermost.
    fn outside(&self, round: &Round<'_>, purged: &Purged) -> Option<(Option<Layer>, Vec<Entry>)> {
        if !self.settings.repeat_outer_layers {
            return None;
        }
        let layers = self.targets.layers();
        let is_repeat =
            purged.routes_affected.is_none() && round.state.chunks.is_empty() && round.agenda.late.is_empty();
        let purged_from = if is_repeat {
            round.agenda.wakes.iter().map(|wake| wake.from_layer).min()?
        } else {
            None
        };
        let next = match purged_from {
            Some(from) => layers.into_iter().find(|layer| *layer > from),
            None => layers.into_iter().nth(1),
        }?;
        let knows = |entry: &&Entry| entry.key.layers().contains(&next);
        let keys: Vec<Entry> = purged.keys.iter().filter(knows).cloned().collect();
        (!keys.is_empty()).then_some((Some(next), keys))
    }

    /// Whether the source may have shown too little (law 7).
    ///
    /// What is late or covered has no fence of its own. Where its time was set back (a restored document), it may be the newest
    /// change nevertheless, and the index not show it yet. And where no fence preceded, a replica may have shown less than was
    /// seen before.
    fn is_unsure(&self, round: &Round<'_>, fenced: &Fenced, purged: &Purged) -> bool {
        if purged.routes_affected.is_none() && round.agenda.late.is_empty() {
            return false;
        }
        let before = round.head().seen.as_ref();
        let (handled, agenda) = (fenced.handled(), &round.agenda);
        let went_back = match (before, &purged.seen) {
            (Some(before), Some(seen)) => before != seen && seen.second <= before.second,
            (None, None) => false,
            _ => round.head().version > 0,
        };
        if handled.is_empty() && went_back {
            return true;
        }
        let trust = i64::try_from(self.settings.fence.trust.as_millis()).unwrap_or(i64::MAX);
        // When reconcile entered an edit says nothing of when it was made.
        let told = handled.iter().filter(|item| item.source != Origin::Reconcile);
        let newest = told.map(|item| item.accepted_at).max();
        let is_shown = |item: &OutboxItem| {
            let revision = item.revision_or_event();
            let stays = !handled.is_empty() || before.is_some_and(|seen| seen.revision == revision);
            match (&purged.seen, item.class) {
                (Some(seen), Class::Write) => stays && seen.revision == revision,
                (None, Class::Delete) => before.is_some_and(|seen| seen.revision == revision),
                _ => false,
            }
        };
        // Another change is known to have been made on top of it.
        let is_followed = |item: &OutboxItem| {
            let on_top =
                |it: &OutboxItem| it.previous_revision.is_some() && it.previous_revision == item.revision;
            item.class == Class::Write && round.state.items.iter().any(on_top)
        };
        let is_chained = handled.iter().any(|item| item.previous_revision.is_some());
        let covered = agenda.covered.iter().filter(|_| !fenced.frontier().is_empty());
        agenda.late.iter().chain(covered).any(|item| {
            round.begun - item.accepted_at < trust
                && (is_chained || newest.is_none_or(|newest| item.accepted_at > newest))
                && !is_shown(item)
                && !is_followed(item)
        })
    }
}
