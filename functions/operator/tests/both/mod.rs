//! The consumer's small world, with the operator beside it.

#![allow(dead_code, reason = "each test binary uses a part of it")]

#[path = "../../../consumer/tests/world/mod.rs"]
pub mod world;

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use consumer::source::Source;
use ledger::{
    item::OutboxItem,
    store::{
        Written,
        jobs::Letters,
        memory::MemoryLedger,
        operator::{Happened, Inspection},
    },
};
use operator::{
    Operator,
    answer::OperatorError,
    source::{Dataset, Named, SourceError},
};
use platform::{Deadline, Metrics};
use routing::{
    config::{Asks, RoutingQuery},
    model::DocumentRef,
    store::{RouteStore, memory::MemoryStore},
};
use serde_json::{Value, json};
use world::{SharedClock, World, ledger_settings};

/// The world's lake, as rebuild asks it.
#[derive(Debug)]
pub struct View {
    pub lake: Arc<world::source::Lake>,
    pub ids: Mutex<BTreeSet<String>>,
    pub reads: AtomicUsize,
    pub slow: Mutex<Duration>,
}

impl Dataset for View {
    async fn page(
        &self,
        dataset: &str,
        document_type: Option<&str>,
        after: &str,
        limit: usize,
        deadline: Deadline,
    ) -> Result<Vec<Named>, SourceError> {
        let slow = *self.slow.lock().unwrap();
        tokio::time::sleep(slow).await;
        let ids: Vec<String> = self.ids.lock().unwrap().iter().cloned().collect();
        let query = RoutingQuery {
            asks: Asks::Rows,
            groq: String::new(),
            ids,
            params: serde_json::Map::new(),
        };
        let rows = Dataset::rows(self, dataset, &query, deadline).await?;
        let named = rows.as_array().unwrap().iter().map(|row| Named {
            id: row["_id"].as_str().unwrap().to_owned(),
            document_type: row["_type"].as_str().unwrap().to_owned(),
        });
        Ok(named
            .filter(|it| it.id.as_str() > after)
            .filter(|it| document_type.is_none_or(|wanted| it.document_type == wanted))
            .take(limit)
            .collect())
    }

    async fn rows(
        &self,
        dataset: &str,
        query: &RoutingQuery,
        deadline: Deadline,
    ) -> Result<Value, SourceError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(self.lake.rows(dataset, query, deadline).await.unwrap())
    }
}

pub struct Both {
    pub world: World,
    pub operator: Operator<MemoryLedger, MemoryStore, View, SharedClock>,
}

impl Both {
    pub fn new() -> Self {
        Self::of(World::new())
    }

    /// The operator beside this world's consumer, with the same `routes.toml`.
    pub fn of(world: World) -> Self {
        let operator = Operator {
            ledger: world.ledger.clone(),
            routes: world.routes.clone(),
            source: Arc::new(View {
                lake: world.lake.clone(),
                ids: Mutex::default(),
                reads: AtomicUsize::new(0),
                slow: Mutex::default(),
            }),
            config: world.consumer.config.clone(),
            settings: ledger_settings(),
            clock: world.clock.clone(),
            metrics: Metrics::new("test", "operator"),
        };
        Self { world, operator }
    }

    pub fn write(&self, kind: &str, id: &str, slug: Option<&str>, made_of: &[&str]) -> world::source::Change {
        self.operator.source.ids.lock().unwrap().insert(id.to_owned());
        self.world.lake.write(kind, id, slug, made_of)
    }

    pub async fn publish(&self, kind: &str, id: &str, slug: Option<&str>, made_of: &[&str]) -> OutboxItem {
        let change = self.write(kind, id, slug, made_of);
        let item = self.world.deliver(&change).await;
        self.world.drain(20).await;
        self.world.asked.clear();
        item
    }

    /// A page that moved, one that ended and one that stays, the first two without a webhook.
    pub async fn change_untold(&self) {
        for (id, slug) in [("moved", "/old"), ("gone", "/gone"), ("same", "/same")] {
            self.publish("page", id, Some(slug), &[]).await;
        }
        self.write("page", "moved", Some("/new"), &[]);
        self.world.lake.delete("gone");
    }

    /// The queue gave an item up.
    pub async fn fail(&self, item: &OutboxItem) {
        let written = self.world.ledger.fail(item, "it crashed").await.unwrap();
        assert_eq!(written, Written::Done);
    }

    pub async fn ask(&self, event: Value) -> Value {
        self.try_ask(event).await.unwrap()
    }

    pub async fn try_ask(&self, event: Value) -> Result<Value, OperatorError> {
        self.operator
            .handle(&event, Deadline::after(Duration::from_secs(300)))
            .await
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

    pub async fn history(&self, item: &OutboxItem) -> Vec<Happened> {
        self.world.ledger.happened(&item.pk, 500).await.unwrap()
    }
}

pub fn reprocess(event_id: &str) -> Value {
    json!({"verb": "reprocess", "event_id": event_id, "requester": "somebody", "reason": "a test", "dry_run": false})
}

pub fn rebuild() -> Value {
    json!({"verb": "rebuild", "requester": "somebody", "reason": "a test", "dry_run": false})
}
