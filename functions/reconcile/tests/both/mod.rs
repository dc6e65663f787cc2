//! The consumer's small world, with reconcile beside it.

#![allow(dead_code, reason = "each test binary uses a part of it")]

#[path = "../../../consumer/tests/world/mod.rs"]
pub mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use consumer::source::Source;
use ledger::{
    item::{Kind, OutboxItem},
    store::memory::MemoryLedger,
};
use platform::{Deadline, Metrics};
use reconcile::{
    run::{Reconcile, ReconcileError, Summary},
    settings::Settings,
    source::{Lake, Place, Shown, SourceError},
};
use routing::{
    RoutesConfig,
    config::{Asks, RoutingQuery},
    model::DocumentRef,
    store::RouteStore,
};
use world::{SharedClock, World, ledger_settings, source::Change};

/// The world's lake, as reconcile asks it.
#[derive(Debug)]
pub struct View {
    pub lake: Arc<world::source::Lake>,
    pub ids: Mutex<BTreeSet<String>>,
    pub reads: AtomicUsize,
    pub down: Mutex<bool>,
}

impl View {
    async fn all(
        &self,
        dataset: &str,
        ids: Vec<String>,
        deadline: Deadline,
    ) -> Result<Vec<Shown>, SourceError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if *self.down.lock().unwrap() {
            return Err(SourceError {
                what: "down".to_owned(),
                retry_after: None,
            });
        }
        let query = RoutingQuery {
            asks: Asks::Rows,
            groq: String::new(),
            ids,
            params: serde_json::Map::new(),
        };
        let rows = self.lake.rows(dataset, &query, deadline).await.unwrap();
        let seen = self.lake.observe(dataset, &query.ids, deadline).await.unwrap();
        let text = |row: &serde_json::Value, name: &str| row[name].as_str().unwrap().to_owned();
        let mut all: Vec<Shown> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| Shown {
                place: Place {
                    at: text(row, "_updatedAt"),
                    id: text(row, "_id"),
                },
                document_type: text(row, "_type"),
                seen: seen[&text(row, "_id")].clone(),
                slug: row["routes"][0]["slug"].as_str().map(str::to_owned),
            })
            .collect();
        all.sort_by(|one, other| one.place.cmp(&other.place));
        Ok(all)
    }

    fn known(&self) -> Vec<String> {
        self.ids.lock().unwrap().iter().cloned().collect()
    }
}

impl Lake for View {
    async fn changed(
        &self,
        dataset: &str,
        after: &Place,
        limit: usize,
        deadline: Deadline,
    ) -> Result<Vec<Shown>, SourceError> {
        let mut all = self.all(dataset, self.known(), deadline).await?;
        all.retain(|shown| shown.place > *after);
        all.truncate(limit);
        Ok(all)
    }

    async fn newest(&self, dataset: &str, deadline: Deadline) -> Result<Option<String>, SourceError> {
        let all = self.all(dataset, self.known(), deadline).await?;
        Ok(all.last().map(|shown| shown.place.at.clone()))
    }

    async fn shown(
        &self,
        dataset: &str,
        ids: &[String],
        deadline: Deadline,
    ) -> Result<BTreeMap<String, Shown>, SourceError> {
        let all = self.all(dataset, ids.to_vec(), deadline).await?;
        Ok(all
            .into_iter()
            .map(|shown| (shown.place.id.clone(), shown))
            .collect())
    }
}

pub type Tested = Reconcile<MemoryLedger, routing::store::memory::MemoryStore, View, SharedClock>;

pub struct Both {
    pub world: World,
    pub reconcile: Tested,
}

impl Both {
    pub fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let world = World::new();
        let mut settings = Settings::new(ledger_settings());
        settings.margin = Duration::ZERO;
        change(&mut settings);
        let reconcile = Reconcile {
            ledger: world.ledger.clone(),
            routes: world.routes.clone(),
            source: Arc::new(View {
                lake: world.lake.clone(),
                ids: Mutex::default(),
                reads: AtomicUsize::new(0),
                down: Mutex::new(false),
            }),
            config: RoutesConfig::embedded().unwrap(),
            settings,
            clock: world.clock.clone(),
            metrics: Metrics::new("test", "reconcile"),
        };
        Self { world, reconcile }
    }

    pub fn write(&self, kind: &str, id: &str, slug: Option<&str>, dependencies: &[&str]) -> Change {
        self.reconcile.source.ids.lock().unwrap().insert(id.to_owned());
        self.world.lake.write(kind, id, slug, dependencies)
    }

    /// An edit whose webhook arrives and is handled.
    pub async fn publish(&self, kind: &str, id: &str, slug: Option<&str>, dependencies: &[&str]) -> Change {
        let change = self.write(kind, id, slug, dependencies);
        self.world.deliver(&change).await;
        self.world.drain(20).await;
        change
    }

    pub async fn run(&self) -> Summary {
        self.try_run(false).await.unwrap()
    }

    pub async fn try_run(&self, sweep: bool) -> Result<Summary, ReconcileError> {
        let deadline = Deadline::after(Duration::from_secs(300));
        self.reconcile.run(sweep, deadline).await
    }

    pub fn reads(&self) -> usize {
        self.reconcile.source.reads.swap(0, Ordering::Relaxed)
    }

    pub async fn slugs_of(&self, id: &str) -> Vec<String> {
        let deadline = Deadline::after(Duration::from_secs(5));
        let document = DocumentRef::new("production", id);
        let entries = self.world.routes.routes_of(&document, &deadline).await.unwrap();
        entries
            .iter()
            .filter_map(|entry| Some(entry.live()?.slug.clone()))
            .collect()
    }

    pub fn events_of(&self, id: &str) -> Vec<OutboxItem> {
        let all = self.world.ledger.all_items();
        all.into_iter()
            .filter(|item| item.document_id.as_deref() == Some(id) && item.kind == Kind::Event)
            .collect()
    }
}

pub async fn pass(minutes: u64) {
    tokio::time::advance(Duration::from_secs(minutes * 60)).await;
}
