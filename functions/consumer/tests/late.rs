//! Late events, by their type's policy, and orders that cannot be (law 5).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod world;

use std::{collections::BTreeSet, time::Duration};

use ledger::{
    item::{Kind, Origin, OutboxItem, State, Status},
    late::OLDER_THAN_DELETE,
    plan::Layer,
};
use world::{STOREFRONT, World, past_the_delay, target::Mood};

/// Three renames of a page, of which the second is delivered when the third is applied.
async fn one_late(world: &World) -> OutboxItem {
    let mut changes = Vec::new();
    for slug in ["/s0", "/s1", "/s2"] {
        changes.push(world.lake.write("page", "home", Some(slug), &[]));
        tokio::time::advance(Duration::from_secs(3)).await;
    }
    for change in [&changes[0], &changes[2]] {
        let item = world.deliver(change).await;
        past_the_delay().await;
        world.wake(&item).await.unwrap();
    }
    world.asked.clear();
    let late = world.deliver(&changes[1]).await;
    past_the_delay().await;
    late
}

#[tokio::test(start_paused = true)]
async fn law_5_ignore_purges_the_late_events_slugs_and_reads_no_more_than_one_look() {
    let world = World::with_late("ignore");
    let late = one_late(&world).await;
    let reads = world.lake.reads();
    world.wake(&late).await.unwrap();
    assert_eq!(world.lake.reads() - reads, 1, "a look, and no routing query");
    assert_eq!(world.slugs(STOREFRONT), ["/s0", "/s1"]);
    assert_eq!(world.slugs(Layer::GraphqlCdn), ["/s0", "/s1"]);
    world.assert_applied(&[&late]);
    assert_eq!(world.item(&late).reason.as_deref(), Some("late_ignored"));
}

#[tokio::test(start_paused = true)]
async fn law_5_review_purges_the_slugs_and_waits_for_a_person() {
    let world = World::with_late("review");
    let late = one_late(&world).await;
    world.wake(&late).await.unwrap();
    assert_eq!(world.slugs(STOREFRONT), ["/s0", "/s1"]);
    let held = world.item(&late);
    assert_eq!((held.state, held.status), (State::InReview, None));
    assert_eq!(held.reason.as_deref(), Some("late"));
    assert_eq!(world.sum("EventsInReview"), 1.0, "what the alarm counts");
    world.drain(5).await;
    assert_eq!(world.item(&late).state, State::InReview);
}

#[tokio::test(start_paused = true)]
async fn law_5_recompute_consults_the_source() {
    let world = World::with_late("recompute");
    let late = one_late(&world).await;
    world.wake(&late).await.unwrap();
    assert_eq!(world.slugs(STOREFRONT), ["/s0", "/s1", "/s2"]);
    assert_eq!(world.item(&late).reason.as_deref(), Some("late"));
}

/// A page that was at `/ever`, then at `/s`, which no event says: the hook has no projection, only the source knows the slugs.
async fn once_at_ever(world: &World) {
    for slug in ["/ever", "/s"] {
        let mut change = world.lake.write("page", "home", Some(slug), &["strip"]);
        let body = change.body.as_object_mut().unwrap();
        body.remove("slug");
        body.remove("previousSlug");
        let item = world.deliver(&change).await;
        assert!(item.slugs.is_empty());
        past_the_delay().await;
        world.wake(&item).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn law_5_compensate_purges_every_slug_that_the_document_ever_had_whoever_knew_it() {
    for (policy, expected) in [("recompute", false), ("compensate", true)] {
        let world = World::with_late(policy);
        once_at_ever(&world).await;
        let late = one_late(&world).await;
        world.wake(&late).await.unwrap();
        for layer in [Layer::GraphqlCdn, STOREFRONT] {
            assert_eq!(
                world.slugs(layer).contains(&"/ever".to_owned()),
                expected,
                "{policy}: no route and no event knows it any more"
            );
        }
        world.assert_applied(&[&late]);
    }
}

/// A component has no slugs: those of the pages that it was on are not its own.
#[tokio::test(start_paused = true)]
async fn law_5_compensate_leaves_the_pages_of_others_alone() {
    let world = World::with_late("compensate");
    once_at_ever(&world).await;
    let mut changes = Vec::new();
    for _ in 0..3 {
        changes.push(world.lake.write("banner", "strip", None, &[]));
        tokio::time::advance(Duration::from_secs(3)).await;
    }
    let applied = world.deliver(&changes[0]).await;
    past_the_delay().await;
    world.wake(&applied).await.unwrap();
    let slugs = world.slugs(STOREFRONT);
    assert_eq!(slugs.last().unwrap(), "/s", "the page shows it");
    let moved = world
        .deliver(&world.lake.write("page", "home", Some("/t"), &["strip"]))
        .await;
    let newest = world.deliver(&changes[2]).await;
    past_the_delay().await;
    world.wake_all(&[&moved]).await.unwrap();
    world.wake_all(&[&newest]).await.unwrap();
    world.asked.clear();
    let late = world.deliver(&changes[1]).await;
    past_the_delay().await;
    world.wake(&late).await.unwrap();
    assert_eq!(world.item(&late).reason.as_deref(), Some("late_compensated"));
    assert_eq!(world.slugs(STOREFRONT), ["/t"]);
}

#[tokio::test(start_paused = true)]
async fn law_15_compensation_that_misses_forgotten_slugs_says_so() {
    let world = World::with_late("compensate");
    for number in 0..12 {
        let slug = format!("/{number:01700}");
        let item = world
            .deliver(&world.lake.write("page", "home", Some(&slug), &[]))
            .await;
        past_the_delay().await;
        world.wake(&item).await.unwrap();
    }
    assert_eq!(world.sum("CascadeBoundHit"), 0.0, "nobody misses them yet");
    let late = one_late(&world).await;
    world.wake(&late).await.unwrap();
    assert_eq!(world.sum("CascadeBoundHit"), 1.0, "what the alarm counts");
    world.assert_applied(&[&late]);
}

/// Found by the simulation: what the layer had confirmed when the late event came was not purged again for it.
#[tokio::test(start_paused = true)]
async fn law_10_a_confirmation_made_before_the_late_event_came_does_not_hold_for_it() {
    let world = World::with_late("compensate");
    let mut changes = Vec::new();
    for slug in ["/s0", "/s1", "/s2"] {
        changes.push(world.lake.write("page", "home", Some(slug), &[]));
        tokio::time::advance(Duration::from_secs(3)).await;
    }
    let applied = world.deliver(&changes[1]).await;
    past_the_delay().await;
    world.wake(&applied).await.unwrap();
    let newest = world.deliver(&changes[2]).await;
    world.storefront.set(Mood::Out);
    past_the_delay().await;
    world.wake(&newest).await.unwrap();
    assert!(world.slugs(Layer::GraphqlCdn).contains(&"/s2".to_owned()));
    let late = world.deliver(&changes[0]).await;
    world.storefront.set(Mood::Works);
    past_the_delay().await;
    world.wake_all(&[&newest, &late]).await.unwrap();
    assert_eq!(world.item(&late).reason.as_deref(), Some("late_compensated"));
    let again = BTreeSet::from_iter(world.slugs(Layer::GraphqlCdn));
    assert_eq!(again.len(), 3, "{again:?}");
}

/// A restored document carries an older time. Whatever the policy, what the source shows ends purged.
#[tokio::test(start_paused = true)]
async fn law_13_what_the_source_shows_now_is_never_late_under_any_policy() {
    for policy in ["ignore", "review", "recompute", "compensate"] {
        for lag in [0, 100] {
            let world = World::with_late(policy);
            let first = world
                .deliver(&world.lake.write("page", "home", Some("/old"), &[]))
                .await;
            past_the_delay().await;
            world.wake(&first).await.unwrap();
            world.lake.set_lag(Duration::from_secs(lag));
            world.lake.set_second(Some(world::START - 500));
            let mut restored = world.lake.write("page", "home", Some("/new"), &[]);
            // The hook has no projection: only the source knows the new slug.
            restored.body.as_object_mut().unwrap().remove("slug");
            let restored = world.deliver(&restored).await;
            past_the_delay().await;
            world.asked.clear();
            world.wake(&restored).await.unwrap();
            world.drain(8).await;
            assert!(
                world.slugs(STOREFRONT).contains(&"/new".to_owned()),
                "{policy}, index {lag} s late"
            );
            if lag == 0 {
                world.assert_applied(&[&restored]);
            }
        }
    }
}

/// Found by the simulation: reconcile enters an older edit after the webhook of a restored document, which the index does not show
/// yet. That it was accepted before the edit that covers it does not make it older.
#[tokio::test(start_paused = true)]
async fn law_13_a_restored_document_that_a_reconciled_edit_covers_is_looked_at_again() {
    let world = World::new();
    let lost = world.lake.write("page", "home", Some("/old"), &[]);
    world.lake.set_lag(Duration::from_secs(100));
    world.lake.set_second(Some(world::START - 500));
    let mut restored = world.lake.write("page", "home", Some("/new"), &[]);
    restored.body.as_object_mut().unwrap().remove("slug");
    let restored = world.deliver(&restored).await;
    tokio::time::advance(Duration::from_secs(10)).await;
    let reconciled = OutboxItem {
        source: Origin::Reconcile,
        ..world.deliver(&lost).await
    };
    world.ledger.put_item(reconciled.clone());
    past_the_delay().await;
    world.wake_all(&[&restored, &reconciled]).await.unwrap();
    assert_eq!(world.item(&restored).reason.as_deref(), Some("covered"));
    world.asked.clear();
    world.drain(8).await;
    assert!(world.slugs(STOREFRONT).contains(&"/new".to_owned()));
}

/// Created, changed and deleted; the creation is delivered when the delete is applied.
async fn older_than_a_delete(world: &World) -> OutboxItem {
    let created = world.lake.write("page", "home", Some("/a"), &[]);
    tokio::time::advance(Duration::from_secs(3)).await;
    let changed = world
        .deliver(&world.lake.write("page", "home", Some("/b"), &[]))
        .await;
    let deleted = world.deliver(&world.lake.delete("home")).await;
    past_the_delay().await;
    world.wake_all(&[&changed, &deleted]).await.unwrap();
    world.drain(8).await;
    world.assert_applied(&[&changed, &deleted]);
    world.asked.clear();
    let created = world.deliver(&created).await;
    past_the_delay().await;
    created
}

#[tokio::test(start_paused = true)]
async fn law_5_an_update_older_than_an_applied_delete_is_in_review_once_the_source_had_its_time() {
    let world = World::new();
    let created = older_than_a_delete(&world).await;
    world.wake(&created).await.unwrap();
    let held = world.item(&created);
    assert_eq!((held.state, held.status), (State::Pending, Some(Status::Ready)));
    assert_eq!(
        held.defers, 1,
        "it may be a restored document that the index does not show yet"
    );
    world.drain(20).await;
    let held = world.item(&created);
    assert_eq!((held.state, held.status), (State::InReview, None));
    assert_eq!(held.reason.as_deref(), Some(OLDER_THAN_DELETE));
    assert!(
        world.slugs(STOREFRONT).contains(&"/a".to_owned()),
        "its slug all the same"
    );
    assert_eq!(world.sum("EventsInReview"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn law_13_an_update_older_than_a_delete_is_applied_if_the_source_shows_it_after_all() {
    let world = World::new();
    let page = world
        .deliver(&world.lake.write("page", "home", Some("/a"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&page).await.unwrap();
    let deleted = world.deliver(&world.lake.delete("home")).await;
    past_the_delay().await;
    world.wake(&deleted).await.unwrap();
    world.lake.set_lag(Duration::from_secs(100));
    world.lake.set_second(Some(world::START - 500));
    let restored = world
        .deliver(&world.lake.write("page", "home", Some("/back"), &[]))
        .await;
    past_the_delay().await;
    world.asked.clear();
    world.wake(&restored).await.unwrap();
    world.drain(20).await;
    world.assert_applied(&[&restored]);
    assert!(world.slugs(STOREFRONT).contains(&"/back".to_owned()));
    assert_eq!(world.sum("EventsInReview"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn law_12_what_is_to_be_set_aside_is_not_taken_for_a_repeat_after_a_crash() {
    let world = World::with_late("review");
    let late = one_late(&world).await;
    world.wake(&late).await.unwrap();
    // As it stood had the consumer died between the head and the setting aside.
    world.ledger.put_item(late.clone());
    world.wake(&late).await.unwrap();
    assert_eq!(world.item(&late).state, State::InReview);
    let repeats = world.ledger.all_items();
    assert!(repeats.iter().all(|item| item.kind != Kind::Recheck));
}
