//! Reconcile is killed at every fault point it passes, and the next run makes up for it (law 13).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod both;

use std::collections::BTreeSet;

use both::{Both, pass};
use ledger::{item::State, plan::Layer};
use platform::fault::watched;

const DOCUMENTS: [&str; 4] = ["renamed", "edited", "created", "deleted"];

/// A downtime of the webhook, a run that is killed at its point number `dies_at`, and runs until nothing is left to find.
/// The points passed, and where it ended.
async fn play(dies_at: Option<usize>) -> (Vec<String>, BTreeSet<String>) {
    let both = Both::new(|settings| settings.page_size = 2);
    both.publish("page", "renamed", Some("/old"), &["banner"]).await;
    both.publish("page", "edited", Some("/edited"), &[]).await;
    both.publish("page", "deleted", Some("/deleted"), &[]).await;
    both.try_run(true).await.unwrap();
    both.world.drain(20).await;
    both.world.asked.clear();
    both.write("page", "renamed", Some("/new"), &["banner"]);
    pass(20).await;
    both.write("page", "edited", Some("/edited"), &[]);
    pass(20).await;
    both.write("page", "created", Some("/created"), &[]);
    both.world.lake.delete("deleted");
    pass(45).await;

    let killed = watched(both.try_run(true), dies_at).await;
    assert_eq!(killed.end.is_none(), dies_at.is_some());
    let mut end = BTreeSet::new();
    for _ in 0..4 {
        both.run().await;
        pass(15).await;
    }
    for id in ["renamed", "edited", "created"] {
        let events = both.events_of(id).len();
        end.insert(format!("{id}: {events} events before the next sweep"));
    }
    pass(24 * 60).await;
    both.run().await;
    both.world.drain(60).await;
    end.extend(both.world.slugs(Layer::Storefront));
    for id in DOCUMENTS {
        end.extend(
            both.slugs_of(id)
                .await
                .into_iter()
                .map(|slug| format!("{id} at {slug}")),
        );
        for event in both.events_of(id) {
            assert_eq!(event.state, State::Applied, "{id}");
            end.insert(format!(
                "{id} {:?} {:?} {:?}",
                event.class, event.revision, event.source
            ));
        }
    }
    (killed.reached, end)
}

#[tokio::test(start_paused = true)]
async fn law_13_a_run_killed_at_any_step_loses_nothing() {
    let (points, whole) = play(None).await;
    assert!(whole.contains("/old") && whole.contains("/deleted") && whole.contains("created at /created"));
    for (place, point) in points.iter().enumerate() {
        let (_, end) = play(Some(place)).await;
        assert_eq!(end, whole, "killed at {point}");
    }
    let passed: BTreeSet<&str> = points.iter().map(String::as_str).collect();
    for point in [
        "changes-read",
        "entered",
        "watermark-moved",
        "page-swept",
        "sweep-noted",
    ] {
        assert!(
            passed.contains(format!("reconcile.{point}").as_str()),
            "{passed:?}"
        );
    }
}
