//! From an open fence to a stored plan and written routes (laws 8 and 9): edges and routes → routing query, itself checked
//! against the frontier → plan → writes.

use ledger::{
    identity,
    item::{OutboxItem, Seen},
    plan::{Entry, Key, Plan, PlanEntry, merge_into_chunks},
    record::{milliseconds, rfc3339},
    store::{Breakers, Documents, LedgerError, Written},
};
use platform::{Clock, fault_point};
use routing::{
    affected::{Affected, affected},
    cascade::{Cascade, Changed, cascade},
    model::DocumentRef,
    reading::Reading,
    row::Rows,
    store::{NextStep, Outcome, RouteStore, StoreError},
};
use std::time::Duration;

use super::{
    Consumer, Failure, ROUNDS, Round, Stop,
    fence::{Fenced, entries_of},
    purging::Chunks,
};
use crate::source::Source;

/// Pause before the routing query is asked again because it showed an older document than the fence did.
const REREAD: Duration = Duration::from_millis(500);

/// A plan that is stored, and the writes it had to precede.
pub(super) struct Cascaded {
    /// The plan, as stored.
    pub(super) chunks: Chunks,
    /// What the routing query showed of the document.
    pub(super) seen: Option<Seen>,
    /// Routes touched; none where no cascade ran.
    pub(super) routes_affected: Option<u32>,
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error.next_step() {
            NextStep::Defer => Self::PutOff {
                why: error.to_string(),
                retry_after: None,
            },
            NextStep::Fail => Self::Failed(Failure::Routes(error.to_string())),
        }
    }
}

/// Names the work a confirmation holds for: the version read, the frontier, the late events, the generation wanted, the wakes,
/// and every revision that the routing query showed. What a late event's policy purges is purged after the event came.
pub(super) fn token(round: &Round<'_>, handled: &[&OutboxItem], shown: &[String]) -> String {
    let version = round.head().version.to_string();
    let generation = round
        .agenda
        .wanted_generation(round.head())
        .unwrap_or(0)
        .to_string();
    let mut parts = vec!["token", &version, &generation];
    parts.extend(handled.iter().map(|item| item.event_id.as_str()));
    parts.push("late");
    parts.extend(round.agenda.late.iter().map(|item| item.event_id.as_str()));
    parts.push("wakes");
    parts.extend(round.agenda.wakes.iter().map(|wake| wake.sk.as_str()));
    parts.push("shown");
    parts.extend(shown.iter().map(String::as_str));
    identity::event_id(&parts).chars().skip(4).take(16).collect()
}

impl<L, R, S, C> Consumer<L, R, S, C>
where
    L: Documents + Breakers,
    R: RouteStore,
    S: Source,
    C: Clock,
{
    pub(super) async fn cascade(
        &self,
        round: &mut Round<'_>,
        fenced: &Fenced,
        plan: Plan,
    ) -> Result<Cascaded, Stop> {
        let changed = self.changed(round, fenced)?;
        let carried = entries_of(&round.agenda.wakes)?;
        let handled = fenced.handled();
        for _ in 0..ROUNDS {
            if round.deadline.is_near(self.settings.margin) {
                return Err(Stop::PutOff {
                    why: "no time left".to_owned(),
                    retry_after: None,
                });
            }
            let (held, rows, seen) = match self.look_again(round, fenced, &changed).await? {
                Some(looked) => looked,
                None => {
                    tokio::time::sleep(REREAD).await;
                    continue;
                }
            };
            let cascade = cascade(&self.config, &changed, &held, &rows);
            self.note_bounds(round, &changed.document, &cascade)?;
            let shown: Vec<String> = held
                .documents(&changed.document.dataset)
                .into_iter()
                .map(|id| {
                    let revision = rows
                        .get(&id)
                        .ok()
                        .flatten()
                        .map_or("", |row| row.revision.as_str());
                    format!("{id}={revision}")
                })
                .collect();
            let token = token(round, &handled, &shown);
            let mut wanted: Vec<Entry> = cascade
                .purge
                .iter()
                .map(|entry| Entry {
                    key: entry.key.clone(),
                    behind: entry.behind.clone(),
                })
                .collect();
            wanted.extend(carried.iter().cloned());
            let own_objects: Vec<Key> = wanted
                .iter()
                .filter(|entry| entry.key.is_object_of(&changed.document.document_id))
                .map(|entry| entry.key.clone())
                .collect();
            wanted.extend(self.compensation(round, &own_objects));
            let mut plan = plan.clone();
            plan.owe(&wanted, &self.targets.layers(), &token);
            let chunks = self.store_plan(round, &plan).await?;
            if self.write_routes(round, &cascade).await? {
                let routes_affected = Some(u32::try_from(cascade.routes.len()).unwrap_or(u32::MAX));
                return Ok(Cascaded {
                    chunks,
                    seen,
                    routes_affected,
                });
            }
            // The plan that was stored stays: it is read again with the head.
            return Err(Stop::Again);
        }
        Err(Stop::PutOff {
            why: "the routing query shows an older document than the fence did".to_owned(),
            retry_after: None,
        })
    }

    fn changed(&self, round: &Round<'_>, fenced: &Fenced) -> Result<Changed, Stop> {
        let nameless = || Failure::Unusable("an open item names no document".to_owned());
        let item = round.any_item().ok_or_else(nameless)?;
        let document_id = item.document_id.clone().ok_or_else(nameless)?;
        let agenda = &round.agenda;
        let mut naming: Vec<&OutboxItem> = fenced.handled();
        naming.extend(agenda.late.iter().chain(&agenda.repeats).chain(&agenda.reprocess));
        if !fenced.frontier().is_empty() {
            naming.extend(&agenda.covered);
        }
        let mut slugs: Vec<String> = naming
            .iter()
            .flat_map(|item| item.slugs.iter().cloned())
            .collect();
        slugs.sort();
        slugs.dedup();
        // After a delete nothing else may know the type.
        let document_type = naming
            .iter()
            .max_by_key(|item| item.accepted_at)
            .copied()
            .unwrap_or(item)
            .document_type
            .clone()
            .or_else(|| item.document_type.clone());
        let document = DocumentRef::new(item.dataset.clone(), document_id);
        Ok(Changed {
            document,
            document_type,
            slugs,
        })
    }

    /// Reads routes, edges and the routing query; none when the query shows the document older than the fence allows.
    async fn look_again(
        &self,
        round: &Round<'_>,
        fenced: &Fenced,
        changed: &Changed,
    ) -> Result<Option<(Affected, Rows, Option<Seen>)>, Stop> {
        let deadline = self.working_time(round);
        let limits = self.config.limits();
        let only = std::slice::from_ref(&changed.document);
        let mut held = affected(&*self.routes, only, limits.maximum_width, &deadline).await?;
        fault_point!("consumer.routes-read");
        let dataset = &changed.document.dataset;
        let begun = milliseconds(self.clock.now());
        let mut reading = Reading::new(&self.config, &held, dataset);
        while let Some(query) = reading.next_query() {
            let answer = self.source.rows(dataset, &query, deadline).await?;
            reading.answer(&query, &answer);
            fault_point!("consumer.rows-read");
        }
        let rows = reading.into_rows();
        let own = rows
            .get(&changed.document.document_id)
            .map_err(|error| Stop::PutOff {
                why: format!("the routing query's row cannot be used: {error}"),
                retry_after: None,
            })?;
        let seen = own.map(|row| Seen {
            revision: row.revision.clone(),
            second: row.second(),
        });
        if !fenced.handled().is_empty() {
            let still = self.judge(round, seen.clone(), begun);
            let handled = |items: &[OutboxItem]| {
                fenced
                    .handled()
                    .iter()
                    .all(|item| items.iter().any(|it| it.sk == item.sk))
            };
            let all: Option<Vec<OutboxItem>> =
                still.map(|open| open.frontier.into_iter().chain(open.unordered).collect());
            if !all.is_some_and(|all| handled(&all)) {
                return Ok(None);
            }
        }
        held.complete(&*self.routes, &self.config, &rows, &deadline)
            .await?;
        Ok(Some((held, rows, seen)))
    }

    fn note_bounds(
        &self,
        round: &mut Round<'_>,
        document: &DocumentRef,
        cascade: &Cascade,
    ) -> Result<(), Stop> {
        for bound in &cascade.bounds {
            self.metrics.count("CascadeBoundHit", 1);
            round.history.bound_hit = true;
            tracing::error!(document_id = document.document_id, %bound, "what lies beyond a bound is not refreshed");
        }
        for problem in &cascade.problems {
            self.metrics.count("RoutingProblems", 1);
            tracing::error!(
                document_id = problem.document.document_id,
                error = %problem.error,
                "the routing query's row cannot be used"
            );
            if problem.own {
                return Err(Stop::PutOff {
                    why: format!("the routing query's row cannot be used: {}", problem.error),
                    retry_after: None,
                });
            }
        }
        Ok(())
    }

    /// Stores the plan, united with what was held, while the head is at the version read.
    pub(super) async fn store_plan(&self, round: &mut Round<'_>, plan: &Plan) -> Result<Chunks, Stop> {
        let entries: Vec<&PlanEntry> = plan.entries().collect();
        let chunks = merge_into_chunks(entries, &round.state.chunks).map_err(LedgerError::from)?;
        let version = round.head().version;
        fault_point!("consumer.plan-made");
        if self.ledger.put_plan(round.document_key, version, &chunks).await? == Written::Moved {
            return Err(Stop::Again);
        }
        fault_point!("consumer.plan-stored");
        round.history.planned_at = Some(rfc3339(self.clock.now()));
        tracing::info!(
            document_key = round.document_key,
            keys = plan.entries().count(),
            "plan stored"
        );
        Ok(Chunks::stored(chunks)?)
    }

    /// Writes what changed; false when a route was not at the version read.
    async fn write_routes(&self, round: &mut Round<'_>, cascade: &Cascade) -> Result<bool, Stop> {
        for change in &cascade.changes {
            if round.deadline.is_near(self.settings.margin) {
                return Err(Stop::PutOff {
                    why: "no time left".to_owned(),
                    retry_after: None,
                });
            }
            match self.routes.apply(change, &round.deadline).await? {
                Outcome::Applied => {
                    round.history.routes_written += 1;
                    self.metrics.count("RoutesWritten", 1);
                }
                Outcome::Unchanged => {}
                Outcome::Conflict => return Ok(false),
            }
            fault_point!("consumer.route-written");
        }
        Ok(true)
    }
}
