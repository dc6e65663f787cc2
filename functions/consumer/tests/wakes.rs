//! What a wake does, law by law, on the ledger and routes in memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod world;

use std::time::Duration;

use consumer::document::Woken;
use ledger::{item::Kind, plan::Key, store::Documents};
use world::{GRAPHQL, STOREFRONT, World, past_the_delay, target::Mood};

#[tokio::test(start_paused = true)]
async fn sanity_io_sanity_10567_ten_saves_are_one_purge_a_layer_and_all_end_applied() {
    let world = World::new();
    let mut items = Vec::new();
    for _ in 0..10 {
        items.push(
            world
                .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
                .await,
        );
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    past_the_delay().await;
    for item in &items {
        world.wake(item).await.unwrap();
    }
    assert_eq!(world.asked.layers(), [GRAPHQL, STOREFRONT]);
    world.assert_applied(&items.iter().collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn kontent_ai_gatsby_packages_152_the_second_version_before_the_first_ends_right() {
    let world = World::new();
    let first = world.lake.write("page", "home", Some("/old"), &[]);
    tokio::time::advance(Duration::from_secs(3)).await;
    let second = world.lake.write("page", "home", Some("/new"), &[]);
    let second = world.deliver(&second).await;
    past_the_delay().await;
    world.wake(&second).await.unwrap();
    assert_eq!(
        world.slugs(STOREFRONT),
        ["/new", "/old"],
        "the old slug by the event"
    );
    let first = world.deliver(&first).await;
    past_the_delay().await;
    world.wake(&first).await.unwrap();
    assert_eq!(world.item(&first).reason.as_deref(), Some("late"));
    assert!(
        world.slugs(STOREFRONT).contains(&"/old".to_owned()),
        "its slugs join the plan"
    );
    world.assert_applied(&[&first, &second]);
    assert_eq!(world.sum("EventsLate"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn law_5_two_revisions_of_one_second_are_one_frontier_in_either_order() {
    for reversed in [false, true] {
        let world = World::new();
        world.lake.set_second(Some(world::START));
        let mut changes = [
            world.lake.write("page", "home", Some("/a"), &[]),
            world.lake.write("page", "home", Some("/b"), &[]),
        ];
        if reversed {
            changes.reverse();
        }
        let one = world.deliver(&changes[0]).await;
        let two = world.deliver(&changes[1]).await;
        past_the_delay().await;
        world.wake(&one).await.unwrap();
        world.assert_applied(&[&one, &two]);
        assert_eq!(world.slugs(STOREFRONT), ["/a", "/b"]);
        let kinds: Vec<Kind> = world.ledger.all_items().iter().map(|item| item.kind).collect();
        assert!(
            kinds.contains(&Kind::Recheck),
            "tied, so it is looked at again: {kinds:?}"
        );
        world.drain(5).await;
    }
}

#[tokio::test(start_paused = true)]
async fn law_5_a_delete_of_the_revision_just_written_wins() {
    let world = World::new();
    let written = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&written).await.unwrap();
    world.asked.clear();
    let deleted = world.deliver(&world.lake.delete("home")).await;
    past_the_delay().await;
    world.wake(&deleted).await.unwrap();
    assert_eq!(world.slugs(STOREFRONT), ["/home"]);
    world.assert_applied(&[&written, &deleted]);
    let recheck = world
        .ledger
        .all_items()
        .iter()
        .any(|item| item.kind == Kind::Recheck);
    assert!(!recheck, "the head had seen the very revision that was deleted");
    let created = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&created).await.unwrap();
    assert_eq!(world.slugs(STOREFRONT), ["/home"]);
    world.assert_applied(&[&created]);
}

#[tokio::test(start_paused = true)]
async fn sanity_io_sanity_4657_nothing_is_purged_before_the_source_shows_the_revision() {
    let world = World::new();
    world.lake.set_lag(Duration::from_secs(90));
    let item = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    let began = tokio::time::Instant::now();
    let answer = world.wake(&item).await.unwrap();
    assert!(matches!(answer.woken, Woken::PutOff(_)));
    assert!(
        began.elapsed() <= Duration::from_secs(21),
        "bounded: {:?}",
        began.elapsed()
    );
    assert!(world.asked.layers().is_empty());
    assert_eq!(world.item(&item).defers, 1);
    world.drain(10).await;
    assert_eq!(world.slugs(STOREFRONT)[0], "/home");
    world.assert_applied(&[&item]);
}

#[tokio::test(start_paused = true)]
async fn law_7_a_fence_that_waited_is_followed_by_one_more_purge() {
    let world = World::new();
    world.lake.set_lag(Duration::from_secs(50));
    let item = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&item).await.unwrap();
    assert_eq!(world.slugs(STOREFRONT), ["/home"]);
    world.drain(5).await;
    assert_eq!(world.slugs(STOREFRONT), ["/home"], "the repeat");
}

#[tokio::test(start_paused = true)]
async fn law_9_a_component_refreshes_its_pages_and_no_others() {
    let world = World::new();
    for number in 0..60 {
        let banner: &[&str] = if number < 50 { &["banner"] } else { &[] };
        let page = world.lake.write(
            "page",
            &format!("page-{number}"),
            Some(&format!("/{number}")),
            banner,
        );
        let item = world.deliver(&page).await;
        past_the_delay().await;
        world.wake(&item).await.unwrap();
    }
    world.asked.clear();
    let banner = world
        .deliver(&world.lake.write("banner", "banner", None, &[]))
        .await;
    past_the_delay().await;
    world.wake(&banner).await.unwrap();
    let objects: Vec<Key> = world.asked.take(GRAPHQL);
    assert!(objects.contains(&Key::Object {
        graphql_type: "Banner".to_owned(),
        id: "banner".to_owned()
    }));
    assert_eq!(world.slugs(STOREFRONT).len(), 50);
    assert_eq!(world.item(&banner).routes_affected, Some(50));
}

#[tokio::test(start_paused = true)]
async fn law_5_a_message_whose_own_item_is_not_there_fails() {
    let world = World::new();
    let item = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    let mut stranger = item.clone();
    stranger.sk = ledger::identity::sort_key(world::START, "evt_stranger");
    let answer = world.wake_all(&[&stranger, &item]).await.unwrap();
    assert_eq!(answer.unknown, std::slice::from_ref(&stranger.sk));
    world.assert_applied(&[&item]);
    let mut expired = item.clone();
    expired.sk = ledger::identity::sort_key(world::START - 31 * 86_400, "evt_expired");
    assert!(world.wake(&expired).await.unwrap().unknown.is_empty());
}

#[tokio::test(start_paused = true)]
async fn law_5_two_consumers_on_one_document_end_right() {
    let world = World::new();
    let first = world
        .deliver(&world.lake.write("page", "home", Some("/a"), &[]))
        .await;
    tokio::time::advance(Duration::from_secs(2)).await;
    let second = world
        .deliver(&world.lake.write("page", "home", Some("/b"), &[]))
        .await;
    past_the_delay().await;
    let (one, two) = tokio::join!(world.wake(&first), world.wake(&second));
    assert!(one.is_ok() && two.is_ok());
    world.drain(5).await;
    world.assert_applied(&[&first, &second]);
    let state = world.ledger.read(&first.pk, &first.sk).await.unwrap();
    assert!(state.chunks.is_empty(), "no plan is left");
}

#[tokio::test(start_paused = true)]
async fn law_9_s0_to_s3_in_one_window_purges_all_of_them() {
    let world = World::new();
    let zero = world
        .deliver(&world.lake.write("page", "home", Some("/s0"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&zero).await.unwrap();
    world.asked.clear();
    let one = world
        .deliver(&world.lake.write("page", "home", Some("/s1"), &[]))
        .await;
    tokio::time::advance(Duration::from_secs(2)).await;
    let two = world
        .deliver(&world.lake.write("page", "home", Some("/s2"), &[]))
        .await;
    tokio::time::advance(Duration::from_secs(2)).await;
    let three = world
        .deliver(&world.lake.write("page", "home", Some("/s3"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&one).await.unwrap();
    // Only the covered events know /s1.
    assert_eq!(world.slugs(STOREFRONT), ["/s0", "/s1", "/s2", "/s3"]);
    world.assert_applied(&[&one, &two, &three]);
}

#[tokio::test(start_paused = true)]
async fn aws_powertools_powertools_lambda_python_738_a_purge_that_died_before_its_mark_is_finished_by_the_retry()
 {
    let world = World::new();
    let item = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    world.storefront.set(Mood::PanicsAfter);
    let consumer = world.consumer.clone();
    let (pk, sk) = (item.pk.clone(), item.sk.clone());
    let died = tokio::spawn(async move {
        let deadline = platform::Deadline::after(Duration::from_secs(60));
        consumer.wake(&pk, &[sk], deadline).await.map(|_| ())
    });
    assert!(died.await.is_err());
    let state = world.ledger.read(&item.pk, &item.sk).await.unwrap();
    assert!(!state.plan().unwrap().is_settled(), "the plan outlives the crash");
    world.storefront.set(Mood::Works);
    world.asked.clear();
    world.wake(&item).await.unwrap();
    assert_eq!(world.asked.layers(), [STOREFRONT]);
    world.assert_applied(&[&item]);
}

/// Found by the simulation: `trace 19 backdated`.
#[tokio::test(start_paused = true)]
async fn law_7_a_late_event_that_the_index_does_not_show_yet_is_looked_at_again() {
    let world = World::new();
    let first = world
        .deliver(&world.lake.write("page", "home", Some("/old"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&first).await.unwrap();
    // A restored document carries an older time, and the index is slow.
    world.lake.set_lag(Duration::from_secs(100));
    world.lake.set_second(Some(world::START - 500));
    let restored = world
        .deliver(&world.lake.write("page", "home", Some("/new"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&restored).await.unwrap();
    assert_eq!(world.item(&restored).reason.as_deref(), Some("late"));
    world.asked.clear();
    world.drain(5).await;
    assert_eq!(world.slugs(STOREFRONT), ["/new", "/old"]);
    world.assert_applied(&[&first, &restored]);
}

/// Found by the simulation: `trace 19 backdated`, with both events in one wake.
#[tokio::test(start_paused = true)]
async fn law_7_a_covered_event_that_the_index_does_not_show_yet_is_looked_at_again() {
    let world = World::new();
    let first = world
        .deliver(&world.lake.write("page", "home", Some("/old"), &[]))
        .await;
    tokio::time::advance(Duration::from_secs(2)).await;
    world.lake.set_lag(Duration::from_secs(100));
    world.lake.set_second(Some(world::START - 500));
    let restored = world
        .deliver(&world.lake.write("page", "home", Some("/new"), &[]))
        .await;
    past_the_delay().await;
    world.wake_all(&[&first, &restored]).await.unwrap();
    assert_eq!(world.item(&restored).reason.as_deref(), Some("covered"));
    world.asked.clear();
    world.drain(5).await;
    assert_eq!(world.slugs(STOREFRONT), ["/new", "/old"]);
}

#[tokio::test(start_paused = true)]
async fn law_13_a_burst_and_a_plain_late_event_cost_no_further_look() {
    let world = World::new();
    let mut items = Vec::new();
    for _ in 0..3 {
        items.push(
            world
                .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
                .await,
        );
        tokio::time::advance(Duration::from_secs(2)).await;
    }
    past_the_delay().await;
    world.wake_all(&items.iter().collect::<Vec<_>>()).await.unwrap();
    let kinds: Vec<Kind> = world.ledger.all_items().iter().map(|item| item.kind).collect();
    assert!(!kinds.contains(&Kind::Recheck), "{kinds:?}");
}

#[tokio::test(start_paused = true)]
async fn law_15_a_revision_that_was_never_received_is_a_gap() {
    let world = World::new();
    let first = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&first).await.unwrap();
    let second = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&second).await.unwrap();
    assert_eq!(world.sum("Gaps"), 0.0);
    world.lake.write("page", "home", Some("/home"), &[]);
    past_the_delay().await;
    let fourth = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&fourth).await.unwrap();
    assert_eq!(world.sum("Gaps"), 1.0);
    assert_eq!(world.item(&fourth).reason.as_deref(), Some("applied_after_gap"));
    world.assert_applied(&[&first, &second, &fourth]);
}

#[tokio::test(start_paused = true)]
async fn law_12_a_mark_that_is_missing_is_made_up_for_without_a_purge() {
    let world = World::new();
    let item = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&item).await.unwrap();
    world.asked.clear();
    // As it stood had the consumer died between the head and the mark.
    world.ledger.put_item(item.clone());
    assert_eq!(world.wake(&item).await.unwrap().woken, Woken::Idle);
    assert!(world.asked.layers().is_empty());
    world.assert_applied(&[&item]);
}
