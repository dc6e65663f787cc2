//! What a wake purges, and how it bears with targets and a source that fail (laws 10 and 11).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod world;

use std::time::Duration;

use consumer::{document::Woken, source::SourceError};
use ledger::{
    item::{Kind, State},
    plan::Key,
};
use world::{GRAPHQL, STOREFRONT, World, past_the_delay, slug, target::Mood};

#[tokio::test(start_paused = true)]
async fn patronage_bubs_next_226_an_edit_is_purged_inside_out_and_applied() {
    let world = World::new();
    let item = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    let answer = world.wake(&item).await.unwrap();
    assert_eq!((answer.woken, answer.unknown), (Woken::Done, vec![]));
    assert_eq!(world.asked.layers(), [GRAPHQL, STOREFRONT]);
    let object = Key::Object {
        graphql_type: "Page".to_owned(),
        id: "home".to_owned(),
    };
    assert_eq!(world.asked.take(GRAPHQL), [object, slug("/home")]);
    assert_eq!(world.slugs(STOREFRONT), ["/home"]);
    world.assert_applied(&[&item]);
    let history = world.ledger.history(&item.pk);
    assert_eq!(history[0].slugs, ["/home"]);
    assert_eq!(history[0].events, std::slice::from_ref(&item.event_id));
    assert_eq!(
        world.wake(&item).await.unwrap().woken,
        Woken::Idle,
        "a second delivery does nothing"
    );
    assert!(world.asked.layers().is_empty());
}

#[tokio::test(start_paused = true)]
async fn law_10_a_young_purge_is_repeated_once_on_every_layer() {
    let world = World::new();
    let item = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    tokio::time::advance(Duration::from_secs(5)).await;
    world.wake(&item).await.unwrap();
    let repeat = world
        .ledger
        .all_items()
        .into_iter()
        .find(|item| item.kind == Kind::Repeat)
        .unwrap();
    assert!(repeat.message_group_id.is_some(), "the Pipe forwards it");
    let first: Vec<Key> = world.asked.take(GRAPHQL);
    world.slugs(STOREFRONT);
    world.wake(&repeat).await.unwrap();
    assert_eq!(world.asked.take(GRAPHQL), first);
    assert_eq!(world.slugs(STOREFRONT), ["/home"]);
    world.drain(1).await;
    let repeats = world
        .ledger
        .all_items()
        .iter()
        .filter(|item| item.kind == Kind::Repeat)
        .count();
    assert_eq!(repeats, 1, "once");
}

#[tokio::test(start_paused = true)]
async fn law_11_an_outage_is_put_off_raised_once_and_drains_by_itself() {
    let world = World::new();
    world.stellate.set(Mood::Out);
    let mut items = Vec::new();
    for number in 0..8 {
        let page = world.lake.write(
            "page",
            &format!("page-{number}"),
            Some(&format!("/{number}")),
            &[],
        );
        items.push(world.deliver(&page).await);
    }
    past_the_delay().await;
    for item in &items {
        assert!(matches!(world.wake(item).await.unwrap().woken, Woken::PutOff(_)));
    }
    let calls = world.asked.layers();
    assert_eq!(
        calls, [GRAPHQL; 5],
        "the breaker opened after five, and Next was not called before Stellate"
    );
    assert_eq!(world.sum("TargetOutage"), 1.0);
    for item in &items {
        assert_eq!(world.item(item).attempts, 0);
        assert_eq!(world.item(item).state, State::Pending);
    }
    world.stellate.set(Mood::Works);
    world.drain(40).await;
    world.assert_applied(&items.iter().collect::<Vec<_>>());
    assert_eq!(world.sum("TargetOutage"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn law_10_a_retry_repeats_only_what_failed() {
    let world = World::new();
    world.storefront.set(Mood::Out);
    let item = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&item).await.unwrap();
    assert_eq!(world.asked.layers(), [GRAPHQL, STOREFRONT]);
    world.asked.clear();
    world.storefront.set(Mood::Works);
    world.wake(&item).await.unwrap();
    assert_eq!(
        world.asked.layers(),
        [STOREFRONT],
        "what Stellate confirmed is not sent again"
    );
    world.assert_applied(&[&item]);
}

#[tokio::test(start_paused = true)]
async fn law_10_a_confirmation_does_not_hold_for_a_newer_revision() {
    let world = World::new();
    world.storefront.set(Mood::Out);
    let first = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    world.wake(&first).await.unwrap();
    world.storefront.set(Mood::Works);
    let second = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    past_the_delay().await;
    world.asked.clear();
    world.wake(&second).await.unwrap();
    assert_eq!(world.asked.layers(), [GRAPHQL, STOREFRONT]);
    world.assert_applied(&[&first, &second]);
}

#[tokio::test(start_paused = true)]
async fn law_10_a_refused_key_is_settled_after_three_tries_and_poisons_nothing() {
    let world = World::new();
    world.storefront.set(Mood::Refuses(vec![slug("/bad")]));
    let bad = world
        .deliver(&world.lake.write("page", "bad", Some("/bad"), &[]))
        .await;
    let good = world
        .deliver(&world.lake.write("page", "good", Some("/good"), &[]))
        .await;
    past_the_delay().await;
    for _ in 0..3 {
        world.wake(&bad).await.unwrap();
    }
    world.wake(&good).await.unwrap();
    world.assert_applied(&[&bad, &good]);
    assert_eq!(world.sum("KeysRefused"), 1.0);
    let history = world.ledger.history(&bad.pk);
    assert_eq!(history[0].layers[&STOREFRONT].refused, ["/bad: HTTP 400"]);
}

#[tokio::test(start_paused = true)]
async fn law_11_a_source_that_is_down_is_worth_waiting_for() {
    let world = World::new();
    let item = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    let retry_after = Some(Duration::from_secs(300));
    world.lake.set_fault(Some(SourceError {
        what: "HTTP 429".to_owned(),
        retry_after,
    }));
    past_the_delay().await;
    assert!(matches!(world.wake(&item).await.unwrap().woken, Woken::PutOff(_)));
    let wished = world.item(&item).next_attempt.unwrap();
    assert_eq!(wished, world::START + 45 + 300, "retry-after is honoured");
    world.lake.set_fault(None);
    world.drain(3).await;
    world.assert_applied(&[&item]);
}
