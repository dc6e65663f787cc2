//! Law 7: what the fence costs, and what it is for.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod world;

use std::time::Duration;

use consumer::document::Woken;
use ledger::fence::{FenceTimes, Passed};
use world::World;

/// The queue's delay.
const DELAY: Duration = Duration::from_secs(45);

#[tokio::test(start_paused = true)]
async fn law_7_a_batch_waits_once_and_not_once_a_document() {
    let took = |documents: usize| async move {
        let world = World::new();
        world.lake.set_lag(DELAY + Duration::from_secs(5));
        let mut items = Vec::new();
        for n in 0..documents {
            let (id, slug) = (format!("p{n}"), format!("/p{n}"));
            items.push(
                world
                    .deliver(&world.lake.write("page", &id, Some(&slug), &[]))
                    .await,
            );
        }
        tokio::time::advance(DELAY).await;
        let began = tokio::time::Instant::now();
        world.wake_batch(&items).await;
        world.assert_applied(&items.iter().collect::<Vec<_>>());
        // One routing query a document; the rest are looks of the fence.
        (
            world.lake.reads() - documents,
            began.elapsed(),
            world.sum("FenceWait"),
        )
    };
    let (looks, elapsed, waited) = took(1).await;
    let (looks_of_ten, elapsed_of_ten, waited_of_ten) = took(10).await;
    assert!((5..=7).contains(&looks), "a look a second: {looks}");
    assert_eq!(looks_of_ten, looks, "documents are asked for together");
    assert!(
        elapsed_of_ten < elapsed + Duration::from_millis(500),
        "{elapsed_of_ten:?}"
    );
    // The wait is measured, for each document.
    let about = |waited: f64, seconds: f64| (waited / 1000.0 - seconds).abs() < 0.2 * seconds;
    assert!(about(waited, 5.0), "{waited} ms");
    assert!(about(waited_of_ten, 50.0), "{waited_of_ten} ms");
}

#[tokio::test(start_paused = true)]
async fn law_7_an_open_fence_costs_one_look_and_its_wait_is_nothing() {
    let world = World::new();
    let item = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    tokio::time::advance(DELAY).await;
    world.wake(&item).await.unwrap();
    assert_eq!(world.lake.reads(), 2, "the fence, and the routing query");
    assert!(world.sum("FenceWait") < 100.0);
    let history = world.ledger.history(&item.pk);
    assert_eq!(
        (history[0].fence, history[0].fence_waited < 100),
        (Some(Passed::Sure), true)
    );
}

/// Publishes a page twice, the second time with this lag, and wakes it once after the delay. What a visitor then saw at each
/// purge, and the revision published.
async fn visits(lag: Duration, fence: Option<FenceTimes>) -> (Vec<Option<String>>, String, Woken) {
    let world = World::with(|settings| settings.fence = fence.unwrap_or_default());
    let old = world
        .deliver(&world.lake.write("page", "home", Some("/home"), &[]))
        .await;
    tokio::time::advance(DELAY).await;
    world.wake(&old).await.unwrap();
    world.drain(20).await;
    world.lake.set_lag(lag);
    let change = world.lake.write("page", "home", Some("/home"), &[]);
    let new = world.deliver(&change).await;
    world.storefront.visit(world.lake.clone(), "home");
    tokio::time::advance(DELAY).await;
    let answer = world.wake(&new).await.unwrap();
    if fence.is_none() {
        world.drain(20).await;
        world.assert_applied(&[&new]);
    }
    (world.storefront.visits(), change.revision, answer.woken)
}

#[tokio::test(start_paused = true)]
async fn law_7_without_the_fence_stale_content_is_purged_into_and_with_it_never() {
    for seconds in [0, 30, 44, 46, 50, 60, 90, 150, 250] {
        let (seen, published, _) = visits(Duration::from_secs(seconds), None).await;
        assert!(!seen.is_empty(), "lag {seconds} s");
        for revision in seen {
            assert_eq!(revision.as_deref(), Some(published.as_str()), "lag {seconds} s");
        }
    }
    // Waiting for seconds instead of the revision: the delay of the queue, and whatever is shown then is believed.
    let none = FenceTimes {
        tie: Duration::ZERO,
        trust: Duration::ZERO,
    };
    let (seen, published, woken) = visits(Duration::from_secs(60), Some(none)).await;
    assert_eq!(woken, Woken::Done);
    assert_ne!(seen[0].as_deref(), Some(published.as_str()));
}
