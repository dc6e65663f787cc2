//! A consumer that waits for its turn before every step.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use platform::Deadline;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::affected::affected;
use crate::cascade::{Changed, cascade};
use crate::config::RoutesConfig;
use crate::model::{DocumentRef, Entry, RouteChange, RouteName};
use crate::reading::Reading;
use crate::store::actions::Action;
use crate::store::apply::{Transact, Verdict, apply};
use crate::store::memory::Tables;
use crate::store::{Dependants, Outcome, Pointer, RouteStore, StoreError};

/// A page in the content lake. Its revision is all it holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Page {
    pub(super) second: i64,
    pub(super) routes: BTreeMap<String, String>,
    pub(super) dependencies: Vec<String>,
}

impl Page {
    fn row(&self, id: &str) -> Value {
        let routes = self
            .routes
            .iter()
            .map(|(name, slug)| json!({"route": name, "slug": slug}));
        json!({
            "_id": id, "_type": "page", "_rev": format!("{self:?}"),
            "_updatedAt": OffsetDateTime::from_unix_timestamp(self.second).unwrap().format(&Rfc3339).unwrap(),
            "routes": routes.collect::<Vec<_>>(), "dependencies": self.dependencies,
        })
    }
}

/// Who handles which document's change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Consumer {
    pub(super) document: &'static str,
    /// It is woken by this edit, counted from 1.
    pub(super) after: usize,
    /// Its rows are from before it reads the routes, as a lagging index shows them.
    pub(super) lagging: bool,
}

/// What all consumers share.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) tables: Tables,
    pub(super) lake: BTreeMap<String, Page>,
    /// The head's version, by document.
    pub(super) heads: BTreeMap<&'static str, u64>,
    pub(super) edits_made: usize,
    /// Whose turn it is.
    pub(super) turn: Option<usize>,
    wakers: Vec<Waker>,
    /// All that each task has been told, hashed.
    pub(super) told: BTreeMap<usize, u64>,
}

impl World {
    pub(super) fn holding(tables: Tables, lake: BTreeMap<String, Page>) -> Self {
        Self {
            tables,
            lake,
            ..Self::default()
        }
    }

    /// What is known of the present state: whether any two schedules that led here can be continued alike.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.tables, &self.lake, &self.heads, self.edits_made, &self.told).hash(&mut hasher);
        hasher.finish()
    }

    /// Gives the next step to `task`.
    pub(super) fn give_turn(&mut self, task: usize) {
        self.turn = Some(task);
        self.wakers.drain(..).for_each(Waker::wake);
    }
}

/// One task's view of the world.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) world: Arc<Mutex<World>>,
    pub(super) task: usize,
    pub(super) transaction_size: usize,
}

pub(super) fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Step {
    /// Waits for a turn, takes the step, and remembers what it told.
    pub(super) async fn take<T: Hash>(&self, step: impl FnOnce(&mut World) -> T) -> T {
        poll_fn(|context| {
            let mut world = lock(&self.world);
            if world.turn == Some(self.task) {
                world.turn = None;
                return Poll::Ready(());
            }
            world.wakers.push(context.waker().clone());
            Poll::Pending
        })
        .await;
        let mut world = lock(&self.world);
        let result = step(&mut world);
        let mut hasher = DefaultHasher::new();
        (world.told.get(&self.task), &result).hash(&mut hasher);
        world.told.insert(self.task, hasher.finish());
        result
    }

    /// Handles the change of `consumer.document`, as a consumer does: again when a route or the head has moved.
    pub(super) async fn consume(self, config: Arc<RoutesConfig>, consumer: Consumer) {
        let deadline = Deadline::after(Duration::from_secs(3600));
        let document = DocumentRef::new("production", consumer.document);
        loop {
            let head = self
                .take(|world| world.heads.get(consumer.document).copied())
                .await;
            let mut lake = BTreeMap::new();
            if consumer.lagging {
                lake = self.take(|world| world.lake.clone()).await;
            }
            let only = std::slice::from_ref(&document);
            let mut held = affected(&self, only, 100, &deadline).await.unwrap();
            if !consumer.lagging {
                lake = self.take(|world| world.lake.clone()).await;
            }
            let mut reading = Reading::new(&config, &held, "production");
            while let Some(query) = reading.next_query() {
                let rows = query.ids.iter().filter_map(|id| Some(lake.get(id)?.row(id)));
                reading.answer(&query, &rows.collect());
            }
            let rows = reading.into_rows();
            held.complete(&self, &config, &rows, &deadline).await.unwrap();
            let changed = Changed {
                document: document.clone(),
                document_type: None,
                slugs: vec![],
            };
            let mut moved = false;
            for change in cascade(&config, &changed, &held, &rows).changes {
                if self.apply(&change, &deadline).await == Ok(Outcome::Conflict) {
                    moved = true;
                    break;
                }
            }
            let advance = |world: &mut World| {
                let unmoved = world.heads.get(consumer.document).copied() == head;
                if unmoved {
                    *world.heads.entry(consumer.document).or_default() += 1;
                }
                unmoved
            };
            if !moved && self.take(advance).await {
                return;
            }
        }
    }

    /// Makes the edits, one a step.
    pub(super) async fn edit(self, edits: Vec<(&'static str, Option<Page>)>) {
        for (id, page) in edits {
            self.take(|world| {
                world.edits_made += 1;
                match page {
                    Some(page) => world.lake.insert(id.to_owned(), page),
                    None => world.lake.remove(id),
                };
            })
            .await;
        }
    }
}

impl Transact for Step {
    async fn transact(&self, actions: &[Action], _deadline: &Deadline) -> Result<Verdict, StoreError> {
        let outcome = self.take(|world| world.tables.transact(actions)).await;
        Ok(outcome.map_or_else(Verdict::Found, |_| Verdict::Done))
    }
}

impl RouteStore for Step {
    async fn routes_of(
        &self,
        document: &DocumentRef,
        _deadline: &Deadline,
    ) -> Result<Vec<Entry>, StoreError> {
        Ok(self.take(|world| world.tables.routes_of(document)).await)
    }

    async fn dependants_of(
        &self,
        document: &DocumentRef,
        limit: usize,
        _deadline: &Deadline,
    ) -> Result<Dependants, StoreError> {
        Ok(self
            .take(|world| world.tables.dependants_of(document, limit))
            .await)
    }

    async fn entries(
        &self,
        names: &BTreeSet<RouteName>,
        _deadline: &Deadline,
    ) -> Result<Vec<Entry>, StoreError> {
        let read = |world: &mut World| -> Vec<Entry> {
            names
                .iter()
                .filter_map(|name| world.tables.routes.get(name).cloned())
                .collect()
        };
        Ok(self.take(read).await)
    }

    async fn pages_at(
        &self,
        _dataset: &str,
        _slug: &str,
        _deadline: &Deadline,
    ) -> Result<Vec<Pointer>, StoreError> {
        Ok(vec![])
    }

    async fn apply(&self, change: &RouteChange, deadline: &Deadline) -> Result<Outcome, StoreError> {
        apply(self, change, self.transaction_size, deadline).await
    }
}
