//! The webhook is down, and reconcile makes up for it (law 13). The real consumer handles what is entered.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

#[path = "../../consumer/tests/world/mod.rs"]
mod world;

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
    item::{Kind, Origin, OutboxItem, Seen, State},
    plan::{Layer, PlanChunk},
    store::{Documents, memory::MemoryLedger},
};
use platform::{Deadline, Metrics};
use reconcile::{
    run::{Reconcile, ReconcileError, Summary},
    settings::Settings,
    source::{Lake, Place, Shown, SourceError},
};
use routing::{RoutesConfig, config::RoutingQuery, model::DocumentRef, store::RouteStore};
use world::{SharedClock, World, ledger_settings, source::Change};

/// The world's lake, as reconcile asks it.
#[derive(Debug)]
struct View {
    lake: Arc<world::source::Lake>,
    ids: Mutex<BTreeSet<String>>,
    reads: AtomicUsize,
    down: Mutex<bool>,
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

type Tested = Reconcile<MemoryLedger, routing::store::memory::MemoryStore, View, SharedClock>;

struct Both {
    world: World,
    reconcile: Tested,
}

impl Both {
    fn new(change: impl FnOnce(&mut Settings)) -> Self {
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

    fn write(&self, kind: &str, id: &str, slug: Option<&str>, dependencies: &[&str]) -> Change {
        self.reconcile.source.ids.lock().unwrap().insert(id.to_owned());
        self.world.lake.write(kind, id, slug, dependencies)
    }

    /// An edit whose webhook arrives and is handled.
    async fn publish(&self, kind: &str, id: &str, slug: Option<&str>, dependencies: &[&str]) -> Change {
        let change = self.write(kind, id, slug, dependencies);
        self.world.deliver(&change).await;
        self.world.drain(20).await;
        change
    }

    async fn run(&self) -> Summary {
        self.try_run(false).await.unwrap()
    }

    async fn try_run(&self, sweep: bool) -> Result<Summary, ReconcileError> {
        let deadline = Deadline::after(Duration::from_secs(300));
        self.reconcile.run(sweep, deadline).await
    }

    fn reads(&self) -> usize {
        self.reconcile.source.reads.swap(0, Ordering::Relaxed)
    }

    async fn slugs_of(&self, id: &str) -> Vec<String> {
        let deadline = Deadline::after(Duration::from_secs(5));
        let document = DocumentRef::new("production", id);
        let entries = self.world.routes.routes_of(&document, &deadline).await.unwrap();
        entries
            .iter()
            .filter_map(|entry| Some(entry.live()?.slug.clone()))
            .collect()
    }

    fn events_of(&self, id: &str) -> Vec<OutboxItem> {
        let all = self.world.ledger.all_items();
        all.into_iter()
            .filter(|item| item.document_id.as_deref() == Some(id) && item.kind == Kind::Event)
            .collect()
    }
}

async fn pass(minutes: u64) {
    tokio::time::advance(Duration::from_secs(minutes * 60)).await;
}

#[tokio::test(start_paused = true)]
async fn law_13_forty_five_minutes_without_a_webhook_lose_nothing() {
    let both = Both::new(|_| {});
    both.publish("page", "renamed", Some("/old"), &["banner", "gone-banner"])
        .await;
    both.publish("page", "edited", Some("/edited"), &[]).await;
    both.publish("page", "deleted", Some("/deleted"), &[]).await;
    both.publish("banner", "banner", None, &[]).await;
    both.publish("banner", "gone-banner", None, &[]).await;
    both.try_run(true).await.unwrap();
    both.world.drain(20).await;
    both.world.asked.clear();

    // Down: nothing of this is delivered.
    both.write("page", "renamed", Some("/new"), &["banner", "gone-banner"]);
    pass(10).await;
    both.write("page", "edited", Some("/edited"), &[]);
    both.write("page", "created", Some("/created"), &[]);
    pass(20).await;
    both.write("banner", "banner", None, &[]);
    both.world.lake.delete("deleted");
    both.world.lake.delete("gone-banner");
    pass(15).await;

    let summary = both.run().await;
    assert_eq!(summary.changes[0].entered, 4, "{summary:?}");
    both.world.drain(60).await;
    let slugs: BTreeSet<String> = both.world.slugs(Layer::Storefront).into_iter().collect();
    for slug in ["/old", "/new", "/edited", "/created"] {
        assert!(slugs.contains(slug), "{slug} was not purged: {slugs:?}");
    }
    assert_eq!(both.slugs_of("renamed").await, ["/new"]);
    assert_eq!(both.slugs_of("created").await, ["/created"]);

    // Deletes show in no list of changes; the sweep finds them.
    both.world.asked.clear();
    pass(24 * 60).await;
    let sweep = both.run().await.sweep.unwrap();
    assert_eq!((sweep.vanished, sweep.complete), (2, true), "{sweep:?}");
    both.world.drain(60).await;
    let slugs: BTreeSet<String> = both.world.slugs(Layer::Storefront).into_iter().collect();
    assert!(slugs.contains("/deleted"), "{slugs:?}");
    assert!(
        slugs.contains("/new"),
        "made of the banner that vanished: {slugs:?}"
    );
    assert!(both.slugs_of("deleted").await.is_empty());
    let deleted = both
        .events_of("deleted")
        .into_iter()
        .find(|it| it.operation.as_deref() == Some("delete"))
        .unwrap();
    assert_eq!(
        (deleted.state, deleted.source),
        (State::Applied, Origin::Reconcile)
    );

    // And then there is peace: the next sweep finds nothing to do.
    let sweep = both.try_run(true).await.unwrap().sweep.unwrap();
    assert_eq!(
        (sweep.entered, sweep.vanished, sweep.woken),
        (0, 0, 0),
        "{sweep:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn law_13_a_reconciled_delete_carries_the_last_applied_revision() {
    let both = Both::new(|_| {});
    let change = both.publish("page", "page-1", Some("/a"), &[]).await;
    both.world.lake.delete("page-1");
    pass(10).await;
    both.try_run(true).await.unwrap();
    let items = both.events_of("page-1");
    let deleted = items
        .iter()
        .find(|it| it.operation.as_deref() == Some("delete"))
        .unwrap();
    assert_eq!(deleted.revision, Some(change.revision));
}

#[tokio::test(start_paused = true)]
async fn law_13_the_same_delete_lost_twice_is_found_twice() {
    let both = Both::new(|_| {});
    for slug in ["/first", "/second"] {
        both.publish("page", "page-1", Some(slug), &[]).await;
        both.world.lake.delete("page-1");
        pass(10).await;
        let sweep = both.try_run(true).await.unwrap().sweep.unwrap();
        assert_eq!(sweep.vanished, 1, "{slug}");
        both.world.asked.clear();
        both.world.drain(20).await;
        assert!(both.world.slugs(Layer::Storefront).contains(&slug.to_owned()));
        assert!(both.slugs_of("page-1").await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn law_13_a_document_restored_with_an_older_time_is_found() {
    let both = Both::new(|_| {});
    let first = both.publish("page", "page-1", Some("/a"), &[]).await;
    let second = {
        let items = both.events_of("page-1");
        assert_eq!(items[0].revision, Some(first.revision));
        items[0].second
    };
    pass(60).await;
    both.publish("page", "page-1", Some("/b"), &[]).await;
    both.try_run(true).await.unwrap();
    // Deleted, which is told, then restored as it was, which is not.
    let gone = both.world.lake.delete("page-1");
    both.world.deliver(&gone).await;
    both.world.drain(20).await;
    assert!(both.slugs_of("page-1").await.is_empty());
    both.world.lake.set_second(Some(second));
    both.write("page", "page-1", Some("/a"), &[]);
    both.world.lake.set_second(None);
    pass(24 * 60).await;
    let sweep = both.run().await.sweep.unwrap();
    assert_eq!(sweep.entered, 1, "{sweep:?}");
    both.world.drain(20).await;
    assert_eq!(both.slugs_of("page-1").await, ["/a"]);
    let sweep = both.try_run(true).await.unwrap().sweep.unwrap();
    assert_eq!((sweep.entered, sweep.woken), (0, 0), "{sweep:?}");
}

#[tokio::test(start_paused = true)]
async fn law_13_a_run_costs_one_read_when_nothing_changed() {
    let both = Both::new(|_| {});
    both.publish("page", "page-1", Some("/a"), &[]).await;
    both.try_run(true).await.unwrap();
    both.reads();
    for _ in 0..3 {
        pass(15).await;
        let summary = both.run().await;
        assert_eq!((summary.changes[0].entered, summary.sweep), (0, None));
        assert_eq!(both.reads(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn law_13_what_the_webhook_brought_is_not_entered_again() {
    let both = Both::new(|_| {});
    both.run().await;
    let change = both.write("page", "page-1", Some("/a"), &[]);
    both.world.deliver(&change).await;
    pass(2).await;
    assert_eq!(both.run().await.changes[0].entered, 0, "still pending");
    both.world.drain(20).await;
    pass(2).await;
    assert_eq!(both.run().await.changes[0].entered, 0, "applied");
    assert_eq!(both.world.ledger.event_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn law_13_a_young_change_is_left_to_its_webhook_and_found_by_the_overlap() {
    let both = Both::new(|_| {});
    both.run().await;
    both.write("page", "page-1", Some("/a"), &[]);
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(both.run().await.changes[0].entered, 0);
    pass(15).await;
    both.write("page", "page-2", Some("/b"), &[]);
    pass(15).await;
    assert_eq!(both.run().await.changes[0].entered, 2);
}

#[tokio::test(start_paused = true)]
async fn law_13_the_watermark_moves_only_after_success_and_a_bounded_run_is_resumed() {
    let both = Both::new(|settings| {
        settings.page_size = 3;
        settings.pages_a_run = 2;
    });
    both.run().await;
    for number in 0..10 {
        // All in one second: only the id orders them.
        both.world.lake.set_second(Some(world::START + 10));
        both.write(
            "page",
            &format!("page-{number}"),
            Some(&format!("/{number}")),
            &[],
        );
    }
    pass(10).await;
    *both.reconcile.source.down.lock().unwrap() = true;
    assert!(matches!(
        both.try_run(false).await,
        Err(ReconcileError::Source(_))
    ));
    *both.reconcile.source.down.lock().unwrap() = false;
    let entered: Vec<(u64, bool)> = [both.run().await, both.run().await]
        .iter()
        .map(|summary| (summary.changes[0].entered, summary.changes[0].complete))
        .collect();
    assert_eq!(entered, [(6, false), (4, true)]);
    assert_eq!(both.run().await.changes[0].entered, 0);
    assert_eq!(both.world.ledger.event_count(), 10);
}

#[tokio::test(start_paused = true)]
async fn law_13_drafts_versions_and_ignored_types_are_left_out() {
    let both = Both::new(|_| {});
    both.run().await;
    both.write("page", "drafts.page-1", Some("/a"), &[]);
    both.write("page", "versions.spring.page-1", Some("/a"), &[]);
    both.write("sanity.fileAsset", "file-1", None, &[]);
    pass(10).await;
    let changes = both.run().await.changes.remove(0);
    assert_eq!((changes.seen, changes.entered), (3, 0));
    assert_eq!(both.world.ledger.event_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn law_8_a_webhook_after_reconcile_still_brings_the_slug_before_a_rename() {
    let both = Both::new(|_| {});
    both.publish("page", "page-1", Some("/s0"), &[]).await;
    both.run().await;
    // s0 → s1 → s2; the first webhook is lost, the second is late.
    both.write("page", "page-1", Some("/s1"), &[]);
    pass(1).await;
    let late = both.write("page", "page-1", Some("/s2"), &[]);
    pass(15).await;
    assert_eq!(both.run().await.changes[0].entered, 1);
    both.world.drain(20).await;
    both.world.asked.clear();
    both.world.deliver(&late).await;
    both.world.drain(20).await;
    let slugs = both.world.slugs(Layer::Storefront);
    assert!(
        slugs.contains(&"/s1".to_owned()),
        "only the webhook knew of it: {slugs:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn law_8_the_sweep_wakes_a_document_whose_plan_is_left_over() {
    let both = Both::new(|_| {});
    both.publish("page", "page-1", Some("/a"), &[]).await;
    let item = both.events_of("page-1").remove(0);
    let state = both.world.ledger.read(&item.pk, &item.sk).await.unwrap();
    let mut plan = ledger::plan::Plan::default();
    let key = ledger::plan::Key::Slug {
        slug: "/forgotten".to_owned(),
    };
    let entry = ledger::plan::Entry { key, behind: vec![] };
    plan.owe(&[entry], &Layer::ALL[..2], "token");
    let chunks: Vec<PlanChunk> = ledger::plan::merge_into_chunks(plan.entries(), &state.chunks);
    both.world
        .ledger
        .put_plan(&item.pk, state.head.version, &chunks)
        .await
        .unwrap();
    pass(10).await;
    let sweep = both.try_run(true).await.unwrap().sweep.unwrap();
    assert_eq!(sweep.woken, 1, "{sweep:?}");
    let again = both.try_run(true).await.unwrap().sweep.unwrap();
    assert_eq!(again.woken, 0, "it will be woken already");
    both.world.asked.clear();
    both.world.drain(20).await;
    assert!(
        both.world
            .slugs(Layer::Storefront)
            .contains(&"/forgotten".to_owned())
    );
    assert!(
        both.world
            .ledger
            .read(&item.pk, &item.sk)
            .await
            .unwrap()
            .chunks
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn law_13_a_sweep_is_resumed_where_it_stopped() {
    let both = Both::new(|settings| settings.sweep_items = 2);
    for number in 0..5 {
        both.publish(
            "page",
            &format!("page-{number}"),
            Some(&format!("/{number}")),
            &[],
        )
        .await;
    }
    both.run().await;
    for number in 0..5 {
        both.world.lake.delete(&format!("page-{number}"));
    }
    pass(24 * 60).await;
    // The source goes away in the middle.
    let deadline = Deadline::after(Duration::from_secs(300));
    *both.reconcile.source.down.lock().unwrap() = true;
    assert!(both.reconcile.run(true, deadline).await.is_err());
    *both.reconcile.source.down.lock().unwrap() = false;
    let sweep = both.run().await.sweep.unwrap();
    assert_eq!((sweep.vanished, sweep.complete), (5, true));
    assert_eq!(both.run().await.sweep, None, "not due again before a day is over");
}

#[tokio::test(start_paused = true)]
async fn law_13_what_only_rebuild_knew_is_compared_with_its_route() {
    let both = Both::new(|_| {});
    both.publish("page", "page-1", Some("/a"), &[]).await;
    // As if built, with no event ever: another ledger.
    let fresh = Reconcile {
        ledger: Arc::new(MemoryLedger::new()),
        routes: both.world.routes.clone(),
        source: both.reconcile.source.clone(),
        config: RoutesConfig::embedded().unwrap(),
        settings: both.reconcile.settings.clone(),
        clock: both.world.clock.clone(),
        metrics: Metrics::new("test", "reconcile"),
    };
    let run = || fresh.run(true, Deadline::after(Duration::from_secs(300)));
    let sweep = run().await.unwrap().sweep.unwrap();
    assert_eq!((sweep.compared, sweep.entered, sweep.vanished), (1, 0, 0));
    both.world.lake.delete("page-1");
    let sweep = run().await.unwrap().sweep.unwrap();
    assert_eq!(sweep.vanished, 1);
    let item = fresh.ledger.all_items().remove(0);
    let seen = Seen {
        revision: item.revision.unwrap(),
        second: item.second,
    };
    assert!(seen.second >= world::START);
}
