//! Taking effect (law 12): the head and what is to wake later in one conditional write, then the marks.

use std::time::Duration;

use futures::{StreamExt, stream};
use ledger::{
    fence::Passed,
    head::{Handled, Head},
    item::{Class, Kind, OutboxItem},
    record::{milliseconds, rfc3339},
    store::{Advance, Breakers, Documents, LedgerError, Mark, Written},
};
use platform::{Clock, fault_point};
use routing::store::RouteStore;

use super::{Consumer, Failure, Round, Stop, fence::Fenced, purging::Purged};
use crate::source::Source;

const SECONDS_A_DAY: i64 = 86_400;
/// Marks written at the same time.
const MARKS_AT_ONCE: usize = 8;

impl<L, R, S, C> Consumer<L, R, S, C>
where
    L: Documents + Breakers,
    R: RouteStore,
    S: Source,
    C: Clock,
{
    pub(super) async fn finish(
        &self,
        round: &mut Round<'_>,
        fenced: &Fenced,
        purged: Purged,
    ) -> Result<(), Stop> {
        let marks = self.marks(round, fenced, &purged);
        let head = next_head(round, fenced, &purged, &marks);
        let wakes = self.wakes(round, fenced, &purged, &head);
        let head = with_open_second(head, round, &marks, &wakes);
        round.history.name_events(
            fenced.handled(),
            marks
                .iter()
                .map(|(item, _)| item)
                .chain(round.late.to_review().map(|(item, _)| item))
                .filter(|item| !fenced.frontier().iter().any(|it| it.sk == item.sk)),
        );
        round.history.routes_affected = purged.routes_affected.unwrap_or(0);
        round.history.expires_at =
            Some(self.clock.now().unix_timestamp() + self.settings.ledger.retention_days * SECONDS_A_DAY);
        let advance = Advance {
            document_key: round.document_key.to_owned(),
            from_version: round.head().version,
            head,
            wakes,
            chunks: purged.chunks,
            history: round.history.clone(),
        };
        if self.ledger.advance(&advance).await? == Written::Moved {
            return Err(Stop::Again);
        }
        fault_point!("consumer.head-moved");
        self.mark_all(marks).await?;
        self.set_aside(round).await?;
        Ok(())
    }

    /// Marks what an earlier wake left unmarked, and settles what is covered already.
    pub(super) async fn mark_what_is_owed(&self, round: &Round<'_>) -> Result<(), Failure> {
        let agenda = &round.agenda;
        let repeats = agenda
            .repeats
            .iter()
            .map(|item| (item.clone(), self.mark(item, "repeat", None)));
        let reprocessed = agenda
            .reprocess
            .iter()
            .filter(|item| {
                item.generation
                    .is_none_or(|wanted| wanted <= round.head().generation)
            })
            .map(|item| (item.clone(), self.mark(item, "reprocessed", None)));
        self.mark_all(repeats.chain(reprocessed).collect()).await?;
        Ok(())
    }

    /// Settles rechecks that found what they had found before.
    pub(super) async fn settle_rechecks(&self, round: &Round<'_>) -> Result<(), Failure> {
        let wakes = &round.agenda.wakes;
        self.mark_all(
            wakes
                .iter()
                .map(|wake| (wake.clone(), self.mark(wake, "unchanged", None)))
                .collect(),
        )
        .await?;
        self.mark_what_is_owed(round).await
    }

    /// What the head will cover, with each item's mark: only what the first read showed.
    fn marks(&self, round: &Round<'_>, fenced: &Fenced, purged: &Purged) -> Vec<(OutboxItem, Mark)> {
        let agenda = &round.agenda;
        let superseded = |item: &OutboxItem| match fenced {
            Fenced::Open(open) if open.passed == Passed::Trusted => match (&open.shown, item.class) {
                (Some(shown), Class::Write) => shown.revision != item.revision_or_event(),
                (None, Class::Delete) => false,
                _ => true,
            },
            _ => false,
        };
        let mut marks = Vec::new();
        for item in fenced.handled() {
            let reason = if superseded(item) {
                self.metrics.count("EventsSuperseded", 1);
                "superseded"
            } else if round.history.bound_hit {
                "applied_bound_hit"
            } else if follows_a_gap(round, item) {
                self.metrics.count("Gaps", 1);
                tracing::warn!(
                    event_id = item.event_id,
                    "the revision before this one was never received"
                );
                "applied_after_gap"
            } else {
                "applied"
            };
            let waited = milliseconds(self.clock.now()) - item.accepted_at;
            self.metrics.milliseconds(
                "ReceiptToApplied",
                Duration::from_millis(u64::try_from(waited).unwrap_or(0)),
            );
            marks.push((item.clone(), self.mark(item, reason, purged.routes_affected)));
        }
        if !fenced.frontier().is_empty() {
            marks.extend(
                agenda
                    .covered
                    .iter()
                    .map(|it| (it.clone(), self.mark(it, "covered", None))),
            );
        }
        self.metrics.count("EventsLate", agenda.late.len() as u64);
        marks.extend(
            agenda
                .late
                .iter()
                .filter_map(|it| Some((it, round.late.reason(it)?)))
                .map(|(it, reason)| (it.clone(), self.mark(it, reason, purged.routes_affected))),
        );
        marks.extend(
            agenda
                .repeats
                .iter()
                .map(|it| (it.clone(), self.mark(it, "repeat", None))),
        );
        marks.extend(
            agenda
                .reprocess
                .iter()
                .map(|it| (it.clone(), self.mark(it, "reprocessed", purged.routes_affected))),
        );
        marks.extend(
            agenda
                .wakes
                .iter()
                .map(|it| (it.clone(), self.mark(it, "woken", purged.routes_affected))),
        );
        marks
    }

    fn mark(&self, item: &OutboxItem, reason: &str, routes_affected: Option<u32>) -> Mark {
        let now = self.clock.now();
        // The evidence lives until acceptance and retention; its item no longer, unless it was applied that late.
        let with_evidence = item.accepted_at / 1000 + self.settings.ledger.retention_days * SECONDS_A_DAY;
        Mark {
            reason: reason.to_owned(),
            applied_at: rfc3339(now),
            routes_affected,
            expires_at: with_evidence.max(now.unix_timestamp() + SECONDS_A_DAY),
        }
    }

    async fn mark_all(&self, marks: Vec<(OutboxItem, Mark)>) -> Result<(), LedgerError> {
        let mut written = stream::iter(marks)
            .map(|(item, mark)| async move {
                let written = self.ledger.mark(&item, &mark).await;
                fault_point!("consumer.marked");
                (item.kind, written)
            })
            .buffer_unordered(MARKS_AT_ONCE);
        let mut applied = 0;
        let mut failed = None;
        while let Some((kind, outcome)) = written.next().await {
            match outcome {
                Ok(Written::Done) if kind == Kind::Event => applied += 1,
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
        }
        self.metrics.count("EventsApplied", applied);
        failed.map_or(Ok(()), Err)
    }
}

/// Whether the event names a revision before its own that the ledger never saw: a webhook was lost. Nothing is missing for it,
/// because the cascade asked the source; it is worth knowing all the same.
fn follows_a_gap(round: &Round<'_>, item: &OutboxItem) -> bool {
    let Some(before) = item.previous_revision.as_deref() else {
        return false;
    };
    let head = round.head();
    let seen = head.seen.as_ref().is_some_and(|seen| seen.revision == before)
        || head.handled.iter().any(|handled| handled.revision == before)
        || round
            .state
            .items
            .iter()
            .any(|held| held.revision.as_deref() == Some(before));
    head.version > 0 && !seen
}

fn next_head(round: &Round<'_>, fenced: &Fenced, purged: &Purged, marks: &[(OutboxItem, Mark)]) -> Head {
    let head = round.head();
    let mut next = Head {
        generation: round.agenda.wanted_generation(head).unwrap_or(head.generation),
        marks_owed: marks.iter().map(|(item, _)| item.sk.clone()).collect(),
        // What no cascade has read is not known to the routes.
        seen: match purged.routes_affected {
            Some(_) => purged.seen.clone(),
            None => head.seen.clone(),
        },
        version: head.version + 1,
        ..head.clone()
    };
    let document_id = round.any_item().and_then(|item| item.document_id.as_deref());
    for slug in purged
        .keys
        .iter()
        .filter_map(|entry| entry.own_slug(document_id?))
    {
        next.slugs.remember(slug);
    }
    if let [first, ..] = fenced.frontier() {
        if next.second != Some(first.second) {
            next.handled.clear();
        }
        next.second = Some(first.second);
        next.handled.extend(fenced.frontier().iter().map(Handled::of));
    }
    next
}

/// The lowest second that may still hold something open once the marks are written.
fn with_open_second(
    head: Head,
    round: &Round<'_>,
    marks: &[(OutboxItem, Mark)],
    wakes: &[OutboxItem],
) -> Head {
    let left = round
        .state
        .items
        .iter()
        .filter(|item| item.is_open() && !marks.iter().any(|(marked, _)| marked.sk == item.sk))
        .chain(wakes)
        .map(|item| item.second)
        .min();
    let marked = marks.iter().map(|(item, _)| item.second).min();
    // Items below the read's range are found by their own messages; the head's own second is always read again.
    let open_second = [left, head.second, marked.filter(|_| head.second.is_none())]
        .into_iter()
        .flatten()
        .min();
    Head { open_second, ..head }
}
