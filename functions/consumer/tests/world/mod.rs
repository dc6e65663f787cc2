//! A small world around the consumer: a source whose index can lag, targets that keep what they were asked and can be told to
//! fail, the ledger and the routes in memory, and a clock that the tests move.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod clock;
pub mod source;
pub mod target;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

pub use clock::SharedClock;
use consumer::{
    document::{Answer, Consumer, Failure},
    settings::Settings,
    source::Observer,
};
use ledger::{
    identity::MessageGroup,
    item::{OutboxItem, State, Status},
    message::Message,
    plan::{Key, Layer},
    record::{Decision, NewEvent, Settings as LedgerSettings},
    store::{Breakers, Documents, Outbox, Recorder, memory::MemoryLedger},
};
use platform::{Clock, Deadline, Metrics};
use purge::{AnyTarget, Targets};
use routing::{
    config::RoutesConfig,
    store::{RouteStore, memory::MemoryStore},
};
use sanity::{delivery::Delivery, signature::SignedAt};
use source::Lake;
use target::{Asked, FakeTarget, Held};

pub const GRAPHQL: Layer = Layer::GraphqlCdn;
pub const STOREFRONT: Layer = Layer::Storefront;
pub const START: i64 = 1_900_000_000;

pub type TestConsumer<L, R> = Consumer<L, R, Lake, SharedClock>;

pub struct World<L = MemoryLedger, R = MemoryStore> {
    pub consumer: Arc<TestConsumer<L, R>>,
    pub ledger: Arc<L>,
    pub routes: Arc<R>,
    pub lake: Arc<Lake>,
    pub stellate: Arc<FakeTarget>,
    pub storefront: Arc<FakeTarget>,
    pub clock: SharedClock,
    pub asked: Arc<Asked>,
}

pub fn slug(slug: &str) -> Key {
    Key::Slug {
        slug: slug.to_owned(),
    }
}

/// Past the age at which a purge is repeated.
pub async fn past_the_delay() {
    tokio::time::advance(Duration::from_secs(45)).await;
}

pub fn ledger_settings() -> LedgerSettings {
    LedgerSettings {
        stage: "test".to_owned(),
        project: "project".to_owned(),
        datasets: vec!["production".to_owned()],
        message_group: MessageGroup::Document,
        ready_shards: 1,
        grace_seconds: 1500,
        retention_days: 30,
    }
}

impl World {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    /// A world whose settings are changed. Outer layers are purged once only, so that a test may count, unless it asks for
    /// repeats.
    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::made(change, RoutesConfig::embedded().unwrap())
    }

    /// A world whose `routes.toml` is the shipped one with this replaced.
    pub fn routed(replaced: &[(&str, &str)]) -> Self {
        let mut routes = include_str!("../../../routing/routes.toml").to_owned();
        for (from, to) in replaced {
            assert!(routes.contains(from), "{from}");
            routes = routes.replacen(from, to, 1);
        }
        Self::made(|_| {}, RoutesConfig::parse(&routes).unwrap())
    }

    /// With this policy for late events of every type.
    pub fn with_late(policy: &str) -> Self {
        Self::routed(&[("\nlate = \"recompute\"", &format!("\nlate = {policy:?}"))])
    }

    fn made(change: impl FnOnce(&mut Settings), config: RoutesConfig) -> Self {
        let (ledger, routes) = (Arc::new(MemoryLedger::new()), Arc::new(MemoryStore::default()));
        Self::build(ledger, routes, SharedClock::of_tokio(), change, config)
    }

    /// Wakes a batch, each message in a group of its own; every one has to end well.
    pub async fn wake_batch(&self, items: &[OutboxItem]) {
        let records: Vec<_> = items
            .iter()
            .map(|item| {
                let wake = Message::new(&item.event_id, &item.pk, &item.sk);
                serde_json::json!({
                    "messageId": item.event_id, "body": serde_json::to_string(&wake).unwrap(),
                    "attributes": {"MessageGroupId": item.pk}, "messageAttributes": {},
                })
            })
            .collect();
        let event = serde_json::from_value(serde_json::json!({ "Records": records })).unwrap();
        let deadline = Deadline::after(Duration::from_secs(60));
        let answer = consumer::handler::handle(self.consumer.clone(), event, deadline).await;
        assert!(answer.unwrap().batch_item_failures.is_empty());
    }

    pub fn item(&self, item: &OutboxItem) -> OutboxItem {
        let held = self
            .ledger
            .all_items()
            .into_iter()
            .find(|held| held.sk == item.sk && held.pk == item.pk);
        held.expect("the item")
    }

    pub fn assert_applied(&self, items: &[&OutboxItem]) {
        for item in items {
            let held = self.item(item);
            assert_eq!(
                (held.state, held.status),
                (State::Applied, Some(Status::Sent)),
                "{held:?}"
            );
        }
    }
}

impl<L, R> World<L, R>
where
    L: Documents + Breakers + Recorder + Outbox,
    R: RouteStore,
{
    /// A world on these stores, with a clock that moves by hand.
    pub fn on(ledger: Arc<L>, routes: Arc<R>) -> Self {
        let config = RoutesConfig::embedded().unwrap();
        Self::build(ledger, routes, SharedClock::standing(), |_| {}, config)
    }

    fn build(
        ledger: Arc<L>,
        routes: Arc<R>,
        clock: SharedClock,
        change: impl FnOnce(&mut Settings),
        config: RoutesConfig,
    ) -> Self {
        let asked = Arc::new(Asked::default());
        let lake = Arc::new(Lake::new(clock.clone()));
        let stellate = Arc::new(FakeTarget::new("stellate", Layer::GraphqlCdn, asked.clone()));
        let storefront = Arc::new(FakeTarget::new("storefront", Layer::Storefront, asked.clone()));
        let mut settings = Settings {
            repeat_outer_layers: false,
            ..Settings::new(ledger_settings())
        };
        change(&mut settings);
        let consumer = Arc::new(Consumer {
            ledger: ledger.clone(),
            routes: routes.clone(),
            source: lake.clone(),
            observer: Observer::new(lake.clone()),
            targets: Targets::new(vec![
                AnyTarget::new(Held(stellate.clone())),
                AnyTarget::new(Held(storefront.clone())),
            ]),
            config,
            settings,
            clock: clock.clone(),
            metrics: Metrics::new("test", "consumer"),
        });
        Self {
            consumer,
            ledger,
            routes,
            lake,
            stellate,
            storefront,
            clock,
            asked,
        }
    }

    /// The webhook of what the lake made: recorded as Sanity would deliver it.
    pub async fn deliver(&self, change: &source::Change) -> OutboxItem {
        let headers = BTreeMap::new();
        let body = change.body.to_string().into_bytes();
        let delivery = Delivery::read(&body, &headers, SignedAt(1_890_000_000_000));
        let event = NewEvent::from_delivery(
            delivery,
            body,
            "current",
            Decision::Pending,
            self.clock.now(),
            &ledger_settings(),
            None,
        );
        self.ledger
            .record(&event, Deadline::after(Duration::from_secs(5)))
            .await
            .unwrap();
        event.item
    }

    /// Wakes the consumer as a message of this item does.
    pub async fn wake(&self, item: &OutboxItem) -> Result<Answer, Failure> {
        self.wake_all(&[item]).await
    }

    pub async fn wake_all(&self, items: &[&OutboxItem]) -> Result<Answer, Failure> {
        let named: Vec<String> = items.iter().map(|item| item.sk.clone()).collect();
        let deadline = Deadline::after(Duration::from_secs(60));
        self.consumer.wake(&items[0].pk, &named, deadline).await
    }

    /// Lets everything that is READY be woken, as queue and relay would, until nothing is left or `rounds` are over.
    pub async fn drain(&self, rounds: usize) {
        for _ in 0..rounds {
            let due = self.ledger.due("READY#0", i64::MAX, None).await.unwrap().keys;
            let Some((pk, sk, _)) = due.first().cloned() else {
                return;
            };
            let next = due.iter().map(|(_, _, next)| *next).min().unwrap();
            let wait = (next - self.clock.now().unix_timestamp()).max(0);
            self.clock.skip(Duration::from_secs(wait.unsigned_abs()));
            let deadline = Deadline::after(Duration::from_secs(60));
            let _ = self.consumer.wake(&pk, &[sk], deadline).await;
        }
        panic!(
            "still READY: {:?}",
            self.ledger.due("READY#0", i64::MAX, None).await.unwrap().keys
        );
    }

    /// The slugs a layer was asked to purge, in order, since the last call.
    pub fn slugs(&self, layer: Layer) -> Vec<String> {
        let keys = self.asked.take(layer);
        keys.into_iter()
            .filter_map(|key| match key {
                Key::Slug { slug } => Some(slug),
                Key::Object { .. } => None,
            })
            .collect()
    }

    pub fn sum(&self, metric: &str) -> f64 {
        self.consumer.metrics.sum(metric)
    }
}

/// Counts, for names that must differ.
pub fn serial() -> usize {
    static SERIAL: AtomicUsize = AtomicUsize::new(0);
    SERIAL.fetch_add(1, Ordering::Relaxed)
}
