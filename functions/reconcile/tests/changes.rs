//! The webhook is down, and reconcile makes up for it (law 13). The real consumer handles what is entered.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod both;

use std::{collections::BTreeSet, time::Duration};

use both::{Both, pass, world};
use ledger::{
    item::{Origin, State},
    plan::Layer,
};
use reconcile::run::ReconcileError;

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
