//! The sweep: every document known as a route or a dependency, compared with the source.
//!
//! A lost delete shows in no list of changes; it shows here. A sweep goes on over as many runs as it takes.

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt, TryStreamExt};
use ledger::{
    identity,
    item::{Class, Kind, Origin, OutboxItem, Seen, State, Status},
    observed::Observation,
    record::Decision,
    store::{
        DocumentState, Documents, Recorder, Written,
        jobs::{Bookmarks, Wakes},
    },
    wake::Sleeper,
};
use platform::{Clock, Deadline, fault_point};
use routing::store::walk::{Known, KnownAs, RouteWalk};
use serde::{Deserialize, Serialize};

use crate::{
    enter::{decision, is_unpublished, knows, present},
    run::{Reconcile, ReconcileError},
    source::{Lake, Shown},
};

const JOB: &str = "sweep";
/// Documents compared at the same time.
const AT_ONCE: usize = 8;
/// Where a read begins that wants the head, what is open, and no more.
const NO_SECOND: i64 = 999_999_999_999;

/// Where the sweep stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Bookmark {
    /// When the last sweep began, epoch seconds.
    began: i64,
    /// Where it goes on; none: it came to its end.
    next: Option<String>,
    under_way: bool,
}

/// What one run did of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sweep {
    /// Documents compared.
    pub compared: u64,
    /// Documents that are there and were entered.
    pub entered: u64,
    /// Documents that vanished and were entered as deleted.
    pub vanished: u64,
    /// Documents woken because their plan was left over, their route although they are gone, or a revision applied unseen.
    pub woken: u64,
    /// False: the next run goes on.
    pub complete: bool,
}

/// What a comparison came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Found {
    entered: bool,
    vanished: bool,
    woken: bool,
}

/// What a comparison asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Todo {
    Nothing,
    /// It is there, as nobody said.
    Enter,
    /// It is gone. None: of a revision that nobody knows.
    Delete(Option<Seen>),
    /// Its state here disagrees with itself: look again.
    LookAgain,
}

/// Compares. `first` is the first watermark of the dataset: a document that no event and no route tells of, and that is older,
/// has not changed since this stack began.
fn compare(known_as: &KnownAs, state: &DocumentState, shown: Option<&Shown>, first: i64) -> Todo {
    let head = &state.head;
    let deleting = state
        .items
        .iter()
        .any(|item| item.kind == Kind::Event && item.class == Class::Delete && item.is_open());
    match (shown, known_as) {
        (Some(shown), _) if knows(head, &state.items, Class::Write, &shown.seen) => {
            if was_applied_unseen(state, &shown.seen) {
                Todo::LookAgain
            } else {
                Todo::Nothing
            }
        }
        (Some(_), _) if head.version > 0 => Todo::Enter,
        (Some(shown), KnownAs::Page { source_revision, .. }) => {
            if *source_revision == shown.seen.revision {
                Todo::Nothing
            } else {
                Todo::Enter
            }
        }
        (Some(shown), _) if shown.seen.second >= first => Todo::Enter,
        (Some(_), _) => Todo::Nothing,
        (None, _) if deleting => Todo::Nothing,
        (None, _) if head.seen.is_some() => Todo::Delete(head.seen.clone()),
        (None, KnownAs::Page { .. }) if head.version > 0 => Todo::LookAgain,
        (
            None,
            KnownAs::Page {
                source_second,
                source_revision,
                ..
            },
        ) => Todo::Delete(Some(Seen {
            revision: source_revision.clone(),
            second: *source_second,
        })),
        (None, KnownAs::Dependency) if head.version == 0 => Todo::Delete(None),
        (None, _) => Todo::Nothing,
    }
}

/// Whether what the source shows was told and applied, and nothing is open, although no read of the source had shown it then: an
/// event of a document restored with an older time can be covered by a newer one before the index shows it.
fn was_applied_unseen(state: &DocumentState, shown: &Seen) -> bool {
    let seen = state.head.seen.as_ref().map(|seen| seen.revision.as_str());
    let mut events = state.items.iter().filter(|item| item.kind == Kind::Event);
    state.head.version > 0
        && seen != Some(shown.revision.as_str())
        && events.all(|item| {
            let tells = item.revision.as_deref() == Some(shown.revision.as_str());
            item.state == State::Applied || !tells && !item.is_open()
        })
}

impl<L, R, S, C> Reconcile<L, R, S, C>
where
    L: Documents + Recorder + Bookmarks + Wakes,
    R: RouteWalk,
    S: Lake,
    C: Clock,
{
    /// Goes on with a sweep, or begins one that is due. None: nothing to do.
    pub(crate) async fn sweep(&self, now: bool, deadline: Deadline) -> Result<Option<Sweep>, ReconcileError> {
        let (mut version, text) = self.ledger.bookmark(JOB).await?;
        let mut mark: Bookmark = match text {
            Some(text) => {
                serde_json::from_str(&text).map_err(|_| ReconcileError::Bookmark(JOB.to_owned()))?
            }
            None => Bookmark::default(),
        };
        let second = self.clock.now().unix_timestamp();
        if !mark.under_way {
            if !now && mark.began + self.settings.sweep_every_seconds > second {
                return Ok(None);
            }
            mark = Bookmark {
                began: second,
                next: None,
                under_way: true,
            };
        }
        let mut done = Sweep::default();
        while !deadline.is_near(self.settings.margin) {
            let page = self
                .routes
                .known(mark.next.as_deref(), self.settings.sweep_items, &deadline)
                .await?;
            self.compare_all(page.documents, &mut done, deadline).await?;
            fault_point!("reconcile.page-swept");
            mark.under_way = page.next.is_some();
            mark.next = page.next;
            let text = serde_json::to_string(&mark).map_err(|_| ReconcileError::Bookmark(JOB.to_owned()))?;
            if self.ledger.set_bookmark(JOB, version, &text).await? == Written::Moved {
                tracing::info!("another run of reconcile sweeps");
                break;
            }
            fault_point!("reconcile.sweep-noted");
            version += 1;
            if !mark.under_way {
                done.complete = true;
                self.metrics.count("SweepsCompleted", 1);
                break;
            }
        }
        Ok(Some(done))
    }

    async fn compare_all(
        &self,
        documents: Vec<Known>,
        done: &mut Sweep,
        deadline: Deadline,
    ) -> Result<(), ReconcileError> {
        // As a page first: that says more than being part of one.
        let mut by_dataset: BTreeMap<String, BTreeMap<String, KnownAs>> = BTreeMap::new();
        for Known { document, known_as } in documents {
            let served = self.settings.ledger.datasets.contains(&document.dataset);
            if !served || is_unpublished(&document.document_id) {
                continue;
            }
            let place = by_dataset.entry(document.dataset).or_default();
            let place = place
                .entry(document.document_id)
                .or_insert_with(|| known_as.clone());
            if !matches!(place, KnownAs::Page { .. }) && matches!(known_as, KnownAs::Page { .. }) {
                *place = known_as;
            }
        }
        for (dataset, documents) in by_dataset {
            let first = self.watermark(&dataset).await?.1.map_or(i64::MAX, |it| it.first);
            let ids: Vec<String> = documents.keys().cloned().collect();
            for ids in ids.chunks(self.settings.page_size) {
                self.metrics.count("SanityReads", 1);
                let shown = self.source.shown(&dataset, ids, deadline).await?;
                let found: Vec<Found> = stream::iter(ids)
                    .filter_map(|id| std::future::ready(documents.get(id).map(|known_as| (id, known_as))))
                    .map(|(id, known_as)| {
                        self.compare_one(&dataset, id, known_as, shown.get(id), first, deadline)
                    })
                    .buffered(AT_ONCE)
                    .try_collect()
                    .await?;
                let count = |what: fn(&Found) -> bool| found.iter().filter(|it| what(it)).count() as u64;
                done.compared += found.len() as u64;
                done.entered += count(|it| it.entered);
                done.vanished += count(|it| it.vanished);
                done.woken += count(|it| it.woken);
            }
        }
        Ok(())
    }

    async fn compare_one(
        &self,
        dataset: &str,
        id: &str,
        known_as: &KnownAs,
        shown: Option<&Shown>,
        first: i64,
        deadline: Deadline,
    ) -> Result<Found, ReconcileError> {
        let project = &self.settings.ledger.project;
        let key = identity::document_key(project, dataset, id);
        let second = shown.map_or(NO_SECOND, |shown| shown.seen.second);
        let state = self.ledger.read(&key, &identity::sort_key(second, "")).await?;
        let document_type = match (shown, known_as) {
            (Some(shown), _) => Some(shown.document_type.as_str()),
            (None, KnownAs::Page { document_type, .. }) => Some(document_type.as_str()),
            _ => state
                .items
                .iter()
                .rev()
                .find_map(|item| item.document_type.as_deref()),
        };
        let mut found = Found::default();
        let young = self.clock.now().unix_timestamp() - self.settings.young();
        match compare(known_as, &state, shown, first) {
            Todo::Enter => {
                let shown = shown.filter(|shown| shown.seen.second <= young);
                if let Some(shown) = shown
                    && let Some(decision) = decision(&self.config, &shown.document_type)
                {
                    found.entered = self.record(&present(dataset, shown), decision, deadline).await?;
                }
            }
            Todo::Delete(seen) => {
                let observation = Observation {
                    dataset: dataset.to_owned(),
                    document_id: id.to_owned(),
                    document_type: document_type.map(str::to_owned),
                    class: Class::Delete,
                    seen,
                    slugs: vec![],
                };
                found.vanished = self.record(&observation, Decision::Pending, deadline).await?;
                if !found.vanished {
                    // Told before, and yet the head believes in the document: what was applied then did not see it gone.
                    found.woken = self
                        .wake(&state, Kind::Recheck, dataset, id, document_type)
                        .await?;
                }
            }
            Todo::LookAgain => {
                found.woken = self
                    .wake(&state, Kind::Recheck, dataset, id, document_type)
                    .await?;
            }
            Todo::Nothing => {}
        }
        if !found.entered && !found.vanished && !found.woken && !state.chunks.is_empty() {
            found.woken = self
                .wake(&state, Kind::Repeat, dataset, id, document_type)
                .await?;
        }
        if found.woken {
            self.metrics.count("PlansWoken", 1);
        }
        Ok(found)
    }

    /// Wakes a document, unless it will be woken anyway.
    async fn wake(
        &self,
        state: &DocumentState,
        kind: Kind,
        dataset: &str,
        id: &str,
        document_type: Option<&str>,
    ) -> Result<bool, ReconcileError> {
        if state.items.iter().any(|item| item.status == Some(Status::Ready)) {
            return Ok(false);
        }
        let now = self.clock.now();
        let newest = state.items.iter().rev().find(|item| item.kind == Kind::Event);
        let sleeper = newest.map_or_else(
            || Sleeper::named(&self.settings.ledger.project, dataset, id, document_type),
            Sleeper::of,
        );
        let suffix = format!("s{}", now.unix_timestamp());
        let wake = OutboxItem {
            seen: state.head.seen.clone(),
            ..sleeper.wake(kind, &suffix, Origin::Reconcile, now, &self.settings.ledger)
        };
        let woken = self.ledger.wake(&wake).await? == Written::Done;
        fault_point!("reconcile.woken");
        Ok(woken)
    }
}
