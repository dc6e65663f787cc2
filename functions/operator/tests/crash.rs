//! The operator is killed at every fault point it passes; asking again makes up for it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod both;

use std::collections::BTreeSet;

use both::{Both, rebuild, reprocess};
use ledger::{item::State, plan::Layer, store::Documents};
use platform::fault::{Watched, watched};
use serde_json::{Value, json};

/// Asks once, killed at point number `dies_at`, and once more if it was.
async fn ask(both: &Both, event: Value, dies_at: Option<usize>) -> Vec<String> {
    let Watched { reached, end } = watched(both.try_ask(event.clone()), dies_at).await;
    assert_eq!(end.is_none(), dies_at.is_some());
    if end.is_none() {
        both.ask(event).await;
    }
    reached
}

async fn rebuilt(dies_at: Option<usize>) -> (Vec<String>, BTreeSet<String>) {
    let both = Both::new();
    both.change_untold().await;
    for number in 0..3 {
        let (id, slug) = (format!("page-{number}"), format!("/{number}"));
        both.write("page", &id, Some(&slug), &["banner"]);
    }
    let points = ask(&both, rebuild(), dies_at).await;
    both.world.drain(40).await;
    let purged = |why: &'static str| {
        let slugs = both.world.slugs(Layer::Storefront);
        both.world.asked.clear();
        slugs.into_iter().map(move |slug| format!("{why} {slug}"))
    };
    let mut end: BTreeSet<String> = purged("purged").collect();
    // The edges are there.
    let banner = both.write("banner", "banner", None, &[]);
    both.world.deliver(&banner).await;
    both.world.drain(40).await;
    end.extend(purged("the banner purges"));
    for id in ["moved", "gone", "same", "page-0", "page-1", "page-2"] {
        let slugs = both.slugs_of(id).await;
        end.extend(slugs.into_iter().map(|slug| format!("{id} at {slug}")));
    }
    (points, end)
}

#[tokio::test(start_paused = true)]
async fn law_8_a_rebuild_killed_at_any_step_and_asked_again_ends_as_one_that_was_not() {
    let (points, whole) = rebuilt(None).await;
    assert!(whole.contains("purged /old") && whole.contains("moved at /new"));
    assert!(whole.contains("the banner purges /2"));
    for (place, point) in points.iter().enumerate() {
        let (_, end) = rebuilt(Some(place)).await;
        assert_eq!(end, whole, "killed at {point}");
    }
    for point in ["asked", "route-built", "advanced"] {
        assert!(points.contains(&format!("operator.{point}")), "{points:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn law_14_a_reprocess_whose_answer_was_lost_is_handled_and_asking_again_purges_no_more() {
    let both = Both::new();
    let event = both.publish("page", "page-1", Some("/a"), &[]).await;
    assert_eq!(
        ask(&both, reprocess(&event.event_id), Some(0)).await,
        ["operator.asked"]
    );
    both.world.drain(40).await;
    // Two generations are wanted, one wake handles both.
    assert_eq!(both.world.slugs(Layer::Storefront), ["/a"]);
    let state = both.world.ledger.read(&event.pk, &event.sk).await.unwrap();
    assert_eq!(state.head.generation, 2);
}

#[tokio::test(start_paused = true)]
async fn law_14_a_settled_event_whose_answer_was_lost_is_settled() {
    let both = Both::new();
    let change = both.write("page", "page-1", Some("/a"), &[]);
    let event = both.world.deliver(&change).await;
    both.fail(&event).await;
    let failed = json!({
        "verb": "settle", "event_id": event.event_id, "requester": "somebody", "reason": "seen to", "dry_run": false,
    });
    let killed = watched(both.try_ask(failed.clone()), Some(0)).await;
    assert_eq!(killed.reached, ["operator.settled"]);
    let held = both.world.item(&event);
    assert_eq!(held.state, State::Ignored);
    assert!(
        both.try_ask(failed).await.is_err(),
        "nothing is left to be settled"
    );
}
