//! Cascades that need a source and a store: what is read, how far, and what a source at fault leaves.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod world;

use std::time::Duration;

use consumer::{document::Woken, source::SourceError};
use ledger::{
    item::{OutboxItem, State},
    plan::Layer,
    store::Documents,
};
use platform::{Clock, Deadline};
use routing::{DocumentRef, Entry, RouteStore};
use serde_json::json;
use world::{STOREFRONT, World};

const REFERENCES: (&str, &str) = ("discover = \"query\"", "discover = \"references\"");

async fn publish(world: &World, kind: &str, id: &str, slug: Option<&str>, made_of: &[&str]) -> OutboxItem {
    let item = world.deliver(&world.lake.write(kind, id, slug, made_of)).await;
    tokio::time::advance(Duration::from_secs(45)).await;
    item
}

/// Publishes and handles.
async fn handle(world: &World, kind: &str, id: &str, slug: Option<&str>, made_of: &[&str]) -> OutboxItem {
    let item = publish(world, kind, id, slug, made_of).await;
    world.wake(&item).await.unwrap();
    item
}

#[tokio::test(start_paused = true)]
async fn law_9_a_component_three_references_away_refreshes_the_page() {
    let world = World::routed(&[REFERENCES]);
    handle(&world, "menu", "m1", None, &[]).await;
    handle(&world, "banner", "b1", None, &["m1"]).await;
    handle(&world, "section", "s1", None, &["b1", "drafts.m1", "s1"]).await;
    handle(&world, "page", "p1", Some("/p1"), &["s1", "p1", "nowhere"]).await;
    handle(&world, "page", "p2", Some("/p2"), &[]).await;
    world.asked.clear();
    handle(&world, "menu", "m1", None, &[]).await;
    assert_eq!(world.slugs(STOREFRONT), ["/p1"]);
    assert_eq!(world.sum("CascadeBoundHit"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn law_9_a_bound_that_is_hit_is_on_the_event_in_the_history_and_counted() {
    let world = World::routed(&[REFERENCES, ("depth = 4", "depth = 1")]);
    handle(&world, "banner", "b1", None, &["m1"]).await;
    let item = handle(&world, "page", "p1", Some("/p1"), &["b1"]).await;
    assert_eq!(world.item(&item).reason.as_deref(), Some("applied_bound_hit"));
    assert!(world.ledger.history(&item.pk)[0].bound_hit);
    assert_eq!(world.sum("CascadeBoundHit"), 1.0);
    assert_eq!(
        world.slugs(STOREFRONT),
        ["/p1"],
        "what lies within the bound is refreshed"
    );
}

#[tokio::test(start_paused = true)]
async fn law_9_a_page_refreshes_the_pages_it_depends_on() {
    let world = World::new();
    handle(&world, "category", "c1", Some("/c1"), &[]).await;
    handle(&world, "product", "p1", Some("/p1"), &["c1"]).await;
    handle(&world, "product", "p2", Some("/p2"), &["c1"]).await;
    world.asked.clear();
    let item = handle(&world, "product", "p1", Some("/p1"), &["c1"]).await;
    assert_eq!(world.slugs(STOREFRONT), ["/c1", "/p1"]);
    assert_eq!(world.item(&item).routes_affected, Some(2));
}

/// A source that fails at its `n`th read, then recovers.
async fn failing_at(read: usize) -> (World, OutboxItem) {
    let world = World::routed(&[REFERENCES]);
    handle(&world, "banner", "b1", None, &[]).await;
    handle(&world, "section", "s1", None, &["b1"]).await;
    handle(&world, "page", "p1", Some("/old"), &[]).await;
    world.drain(20).await;
    world.asked.clear();
    let item = publish(&world, "page", "p1", Some("/new"), &["s1"]).await;
    let error = SourceError {
        what: "HTTP 503".to_owned(),
        retry_after: Some(Duration::from_secs(90)),
    };
    world.lake.fail_after(read, error);
    (world, item)
}

#[tokio::test(start_paused = true)]
async fn law_9_a_source_that_fails_half_way_through_leaves_nothing_half_done() {
    // The fence, the page's row and document, its section, the section's banner, the rows of both.
    for read in 0..5 {
        let (world, item) = failing_at(read).await;
        let answer = world.wake(&item).await.unwrap();
        assert!(
            matches!(answer.woken, Woken::PutOff(_)),
            "read {read}: {answer:?}"
        );
        assert!(world.asked.layers().is_empty(), "read {read}: nothing is purged");
        let held = world.item(&item);
        assert_eq!(held.state, State::Pending, "read {read}");
        let due = world.clock.now().unix_timestamp() + 90;
        assert_eq!(
            held.next_attempt,
            Some(due),
            "read {read}: retry-after is honoured"
        );
        let state = world.ledger.read(&item.pk, &item.sk).await.unwrap();
        assert!(state.chunks.is_empty(), "read {read}: no plan");
        world.lake.set_fault(None);
        world.drain(20).await;
        world.assert_applied(&[&item]);
        assert_eq!(world.slugs(STOREFRONT)[..2], ["/new", "/old"], "read {read}");
    }
    let (world, item) = failing_at(5).await;
    assert_eq!(
        world.wake(&item).await.unwrap().woken,
        Woken::Done,
        "there is no further read"
    );
}

#[tokio::test(start_paused = true)]
async fn law_9_an_answer_that_cannot_be_used_or_lacks_the_document_changes_nothing() {
    let (mut world, mut item) = (World::new(), None);
    for answer in [
        json!([]),
        json!("not a list"),
        json!([{"_type": "page"}]),
        json!([{"_id": "p1", "_type": "page", "_rev": "rev-2", "_updatedAt": "soon", "routes": []}]),
    ] {
        world = World::new();
        handle(&world, "page", "p1", Some("/old"), &[]).await;
        world.drain(20).await;
        world.asked.clear();
        let renamed = publish(&world, "page", "p1", Some("/new"), &[]).await;
        world.lake.set_answer(Some(answer.clone()));
        let woken = world.wake(&renamed).await.unwrap().woken;
        assert!(matches!(woken, Woken::PutOff(_)), "{answer}: {woken:?}");
        assert!(world.asked.layers().is_empty(), "{answer}: nothing is purged");
        assert_eq!(
            slugs(&world, "p1").await,
            ["/old"],
            "{answer}: nothing is written"
        );
        item = Some(renamed);
    }
    world.lake.set_answer(None);
    world.drain(20).await;
    world.assert_applied(&[&item.unwrap()]);
    assert_eq!(slugs(&world, "p1").await, ["/new"]);
}

/// The slugs that the table holds of a document.
async fn slugs(world: &World, id: &str) -> Vec<String> {
    let document = DocumentRef::new("production", id);
    let deadline = Deadline::after(Duration::from_secs(5));
    let entries = world.routes.routes_of(&document, &deadline).await.unwrap();
    let live = entries.iter().filter_map(Entry::live);
    live.map(|route| route.slug.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn law_9_two_pages_swap_their_slugs_in_one_batch() {
    let world = World::new();
    handle(&world, "page", "p1", Some("/a"), &[]).await;
    handle(&world, "page", "p2", Some("/b"), &[]).await;
    world.drain(20).await;
    world.asked.clear();
    let one = world
        .deliver(&world.lake.write("page", "p1", Some("/b"), &[]))
        .await;
    let two = publish(&world, "page", "p2", Some("/a"), &[]).await;
    world.wake_batch(&[one.clone(), two.clone()]).await;
    world.assert_applied(&[&one, &two]);
    assert_eq!(
        (slugs(&world, "p1").await, slugs(&world, "p2").await),
        (vec!["/b".into()], vec!["/a".into()])
    );
    let mut purged = world.slugs(STOREFRONT);
    purged.sort();
    assert_eq!(purged, ["/a", "/a", "/b", "/b"]);
}

#[tokio::test(start_paused = true)]
async fn law_9_a_page_unpublished_and_published_under_another_id_in_one_batch() {
    let world = World::new();
    handle(&world, "banner", "b1", None, &[]).await;
    handle(&world, "page", "old", Some("/a"), &["b1"]).await;
    world.drain(20).await;
    world.asked.clear();
    let gone = world.deliver(&world.lake.delete("old")).await;
    let new = publish(&world, "page", "new", Some("/a"), &["b1"]).await;
    world.wake_batch(&[gone.clone(), new.clone()]).await;
    world.assert_applied(&[&gone, &new]);
    assert_eq!(
        (slugs(&world, "old").await, slugs(&world, "new").await),
        (vec![], vec!["/a".to_owned()])
    );
    world.drain(20).await;
    world.asked.clear();
    handle(&world, "banner", "b1", None, &[]).await;
    assert_eq!(
        world.asked.take(Layer::GraphqlCdn).len(),
        3,
        "banner, new page, slug; not the old page"
    );
}

#[tokio::test(start_paused = true)]
async fn law_8_a_component_that_others_use_is_deleted() {
    let world = World::new();
    handle(&world, "banner", "b1", None, &[]).await;
    handle(&world, "page", "p1", Some("/a"), &["b1"]).await;
    handle(&world, "page", "p2", Some("/b"), &["b1"]).await;
    world.drain(20).await;
    world.asked.clear();
    let gone = world.deliver(&world.lake.delete("b1")).await;
    tokio::time::advance(Duration::from_secs(45)).await;
    world.wake(&gone).await.unwrap();
    assert_eq!(world.slugs(STOREFRONT), ["/a", "/b"]);
    world.assert_applied(&[&gone]);
}

#[tokio::test(start_paused = true)]
async fn law_11_a_cascade_that_does_not_fit_the_invocation_is_put_off_in_time_and_whole() {
    let world = World::routed(&[("chunk_size = 100", "chunk_size = 1")]);
    handle(&world, "banner", "b1", None, &[]).await;
    for n in 0..8 {
        handle(&world, "page", &format!("p{n}"), Some(&format!("/{n}")), &["b1"]).await;
    }
    world.drain(40).await;
    world.asked.clear();
    let item = publish(&world, "banner", "b1", None, &[]).await;
    world.lake.set_slow(Duration::from_secs(9));
    let began = tokio::time::Instant::now();
    let answer = world.wake(&item).await.unwrap();
    assert!(matches!(answer.woken, Woken::PutOff(_)), "{answer:?}");
    assert!(
        began.elapsed() <= Duration::from_secs(50),
        "{:?}",
        began.elapsed()
    );
    assert!(world.asked.layers().is_empty());
    let state = world.ledger.read(&item.pk, &item.sk).await.unwrap();
    assert!(state.chunks.is_empty(), "no plan of half a cascade");
    world.lake.set_slow(Duration::from_secs(1));
    world.drain(20).await;
    assert_eq!(world.slugs(STOREFRONT).len(), 8);
    world.assert_applied(&[&item]);
}
