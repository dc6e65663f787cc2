//! What shows in no list of changes: lost deletes, restored documents, plans left over (laws 8 and 13).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod both;

use std::{sync::Arc, time::Duration};

use both::{Both, pass, world};
use ledger::{
    item::Seen,
    plan::{Layer, PlanChunk},
    store::{Documents, Mark, memory::MemoryLedger},
};
use platform::{Deadline, Metrics};
use reconcile::run::Reconcile;
use routing::RoutesConfig;

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

/// Found by the simulation: an event covered by a newer one, of a restored document that the index did not show yet, is a duplicate
/// for whoever enters it again.
#[tokio::test(start_paused = true)]
async fn law_13_a_revision_applied_before_the_source_showed_it_is_looked_at_again() {
    let both = Both::new(|_| {});
    both.publish("page", "page-1", Some("/a"), &[]).await;
    let second = both.events_of("page-1")[0].second;
    pass(60).await;
    both.publish("page", "page-1", Some("/b"), &[]).await;
    both.try_run(true).await.unwrap();
    both.world.lake.set_second(Some(second));
    let restored = both.write("page", "page-1", Some("/a"), &[]);
    both.world.lake.set_second(None);
    let item = both.world.deliver(&restored).await;
    let covered = Mark {
        reason: "applied".to_owned(),
        applied_at: "then".to_owned(),
        routes_affected: None,
        expires_at: i64::MAX,
    };
    both.world.ledger.mark(&item, &covered).await.unwrap();
    pass(10).await;
    let sweep = both.try_run(true).await.unwrap().sweep.unwrap();
    assert_eq!((sweep.entered, sweep.woken), (0, 1), "{sweep:?}");
    both.world.drain(20).await;
    assert_eq!(both.slugs_of("page-1").await, ["/a"]);
    let sweep = both.try_run(true).await.unwrap().sweep.unwrap();
    assert_eq!((sweep.entered, sweep.woken), (0, 0), "{sweep:?}");
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
    let chunks: Vec<PlanChunk> = ledger::plan::merge_into_chunks(plan.entries(), &state.chunks).unwrap();
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
async fn law_13_a_sweep_costs_one_read_for_each_page_of_what_is_known() {
    let both = Both::new(|settings| settings.sweep_items = 2);
    for number in 0..5 {
        let slug = format!("/{number}");
        both.publish("page", &format!("page-{number}"), Some(&slug), &[])
            .await;
    }
    both.try_run(true).await.unwrap();
    both.reads();
    let counted = both.reconcile.metrics.sum("SanityReads");
    let sweep = both.try_run(true).await.unwrap().sweep.unwrap();
    assert_eq!((sweep.compared, sweep.complete), (5, true));
    let reads = both.reads();
    assert_eq!(reads, 1 + 3, "what changed, and three pages of two routes");
    assert_eq!(both.reconcile.metrics.sum("SanityReads") - counted, reads as f64);
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
