//! Law 10: purging once more, for renders that read before a purge and store after it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod world;

use std::time::Duration;

use ledger::{
    item::{Kind, OutboxItem},
    plan::Layer,
};
use world::{GRAPHQL, STOREFRONT, World};

fn repeating() -> World {
    World::with(|settings| settings.repeat_outer_layers = true)
}

/// The repeats ordered so far, oldest first.
fn repeats(world: &World) -> Vec<OutboxItem> {
    let mut items = world.ledger.all_items();
    items.retain(|item| item.kind == Kind::Repeat);
    items.sort_by_key(|item| item.accepted_at);
    items
}

async fn edit(world: &World) -> OutboxItem {
    world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await
}

#[tokio::test(start_paused = true)]
async fn an_old_edit_purges_the_outer_layers_once_more_and_the_innermost_once() {
    let world = repeating();
    let item = edit(&world).await;
    tokio::time::advance(Duration::from_secs(46)).await;
    world.wake(&item).await.unwrap();
    assert_eq!(
        (world.slugs(GRAPHQL).len(), world.slugs(STOREFRONT).len()),
        (1, 1)
    );
    let [repeat] = &repeats(&world)[..] else {
        panic!("one repeat")
    };
    assert_eq!(repeat.from_layer, Some(STOREFRONT));
    assert!(repeat.message_group_id.is_some(), "the Pipe forwards it");
    world.drain(2).await;
    assert_eq!(world.slugs(GRAPHQL), Vec::<String>::new());
    assert_eq!(world.slugs(STOREFRONT), ["/home"]);
    assert_eq!(repeats(&world).len(), 1, "it ends with the outermost layer");
    world.assert_applied(&[&item]);
}

#[tokio::test(start_paused = true)]
async fn a_young_edit_is_repeated_on_every_layer_and_then_on_the_outer_ones() {
    let world = repeating();
    let item = edit(&world).await;
    world.wake(&item).await.unwrap();
    world.drain(4).await;
    let from: Vec<Option<Layer>> = repeats(&world).iter().map(|item| item.from_layer).collect();
    assert_eq!(from, [None, Some(STOREFRONT)]);
    assert_eq!(
        (world.slugs(GRAPHQL).len(), world.slugs(STOREFRONT).len()),
        (2, 3)
    );
}

#[tokio::test(start_paused = true)]
async fn a_component_without_pages_needs_no_repeat() {
    let world = repeating();
    let banner = world
        .deliver(&world.lake.write("banner", "banner", None, &[]))
        .await;
    tokio::time::advance(Duration::from_secs(46)).await;
    world.wake(&banner).await.unwrap();
    assert_eq!(repeats(&world), []);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_that_an_edit_overtakes_is_done_with_it() {
    let world = repeating();
    let first = edit(&world).await;
    tokio::time::advance(Duration::from_secs(46)).await;
    world.wake(&first).await.unwrap();
    let [repeat] = &repeats(&world)[..] else {
        panic!("one repeat")
    };
    let second = edit(&world).await;
    tokio::time::advance(Duration::from_secs(46)).await;
    world.slugs(STOREFRONT);
    world.wake_all(&[repeat, &second]).await.unwrap();
    assert_eq!(world.slugs(STOREFRONT), ["/home"], "once for both");
    world.drain(2).await;
    world.assert_applied(&[&first, &second, repeat]);
    assert_eq!(repeats(&world).len(), 2, "the second edit's own follows");
}
