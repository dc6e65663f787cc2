//! Routes and edges from the whole dataset.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod both;

use std::{collections::BTreeSet, time::Duration};

use both::{Both, rebuild, world};
use ledger::plan::Layer;
use platform::Deadline;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn rebuild_builds_routes_and_edges_and_then_writes_nothing() {
    let both = Both::new();
    both.write("page", "page-1", Some("/a"), &["banner-1"]);
    both.write("page", "page-2", Some("/b"), &[]);
    both.write("banner", "banner-1", None, &[]);
    let answer = both.ask(rebuild()).await;
    assert_eq!(answer["done"], json!(true));
    assert_eq!(
        (&answer["progress"]["documents"], &answer["progress"]["written"]),
        (&json!(3), &json!(2)),
        "{answer}"
    );
    assert_eq!(both.slugs_of("page-1").await, ["/a"]);
    let again = both.ask(rebuild()).await;
    assert_eq!(
        (&again["progress"]["written"], &again["progress"]["handed_over"]),
        (&json!(0), &json!(0))
    );
    assert!(both.world.ledger.all_items().is_empty(), "no events, no purges");
    // The edges are there: the banner's first edit refreshes the page.
    both.publish("banner", "banner-1", None, &[]).await;
    let traced = both.ask(json!({"verb": "trace", "slug": "/a"})).await;
    assert_eq!(traced["purged"][0]["because_of"], "banner-1");
}

#[tokio::test(start_paused = true)]
async fn rebuild_follows_references_as_the_consumer_does() {
    let references = ("discover = \"query\"", "discover = \"references\"");
    let both = Both::of(world::World::routed(&[references]));
    both.write("page", "page-1", Some("/a"), &["section-1"]);
    both.write("section", "section-1", None, &["banner-1"]);
    both.write("banner", "banner-1", None, &[]);
    let answer = both.ask(rebuild()).await;
    assert_eq!(answer["progress"]["written"], json!(1), "{answer}");
    both.publish("banner", "banner-1", None, &[]).await;
    let traced = both.ask(json!({"verb": "trace", "slug": "/a"})).await;
    assert_eq!(traced["purged"][0]["because_of"], "banner-1");
    let again = both.ask(rebuild()).await;
    assert_eq!(
        again["progress"]["written"],
        json!(0),
        "both find the same: {again}"
    );
}

#[tokio::test(start_paused = true)]
async fn law_8_rebuild_hands_over_what_moves_or_ends_so_that_it_is_purged() {
    let both = Both::new();
    both.change_untold().await;
    let answer = both.ask(rebuild()).await;
    assert_eq!(answer["progress"]["handed_over"], json!(2), "{answer}");
    assert_eq!(
        both.slugs_of("moved").await,
        ["/old"],
        "not before its purge is planned"
    );
    both.world.drain(20).await;
    let purged: BTreeSet<String> = both.world.slugs(Layer::Storefront).into_iter().collect();
    assert_eq!(purged, ["/gone", "/new", "/old"].map(str::to_owned).into());
    assert_eq!(both.slugs_of("moved").await, ["/new"]);
    assert!(both.slugs_of("gone").await.is_empty());
    let answer = both.ask(rebuild()).await;
    assert_eq!(answer["progress"]["handed_over"], json!(0), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn law_9_rebuild_never_writes_over_a_newer_revision() {
    let both = Both::new();
    both.publish("page", "page-1", Some("/a"), &[]).await;
    tokio::time::advance(Duration::from_secs(60)).await;
    both.publish("page", "page-1", Some("/b"), &[]).await;
    // The index rebuild reads lags behind: it shows the document as it was.
    both.world.lake.set_second(Some(world::START));
    both.write("page", "page-1", Some("/a"), &[]);
    both.world.lake.set_second(None);
    let answer = both.ask(rebuild()).await;
    assert_eq!(
        (
            &answer["progress"]["left"],
            &answer["progress"]["written"],
            &answer["progress"]["handed_over"]
        ),
        (&json!(1), &json!(0), &json!(0)),
        "{answer}"
    );
    assert_eq!(both.slugs_of("page-1").await, ["/b"]);
}

#[tokio::test(start_paused = true)]
async fn rebuild_resumes_where_it_stopped() {
    let both = Both::new();
    for number in 0..450 {
        both.write(
            "page",
            &format!("page-{number:03}"),
            Some(&format!("/{number}")),
            &[],
        );
    }
    *both.operator.source.slow.lock().unwrap() = Duration::from_secs(100);
    let ask = || async {
        let deadline = Deadline::after(Duration::from_secs(110));
        both.operator.handle(&rebuild(), deadline).await.unwrap()
    };
    let first = ask().await;
    assert_eq!(
        (&first["done"], &first["progress"]["written"]),
        (&json!(false), &json!(200))
    );
    let second = ask().await;
    assert_eq!(
        (&second["done"], &second["progress"]["written"]),
        (&json!(false), &json!(400))
    );
    ask().await;
    let last = ask().await;
    assert_eq!(
        (&last["done"], &last["progress"]["written"]),
        (&json!(true), &json!(450)),
        "{last}"
    );
}

#[tokio::test(start_paused = true)]
async fn rebuild_of_a_type_or_of_ids_touches_no_other() {
    let both = Both::new();
    both.write("page", "page-1", Some("/a"), &[]);
    both.write("article", "article-1", Some("/b"), &[]);
    both.write("page", "page-2", Some("/c"), &[]);
    let mut ids = rebuild();
    ids["ids"] = json!(["page-2", "never-was"]);
    assert_eq!(both.ask(ids).await["progress"]["written"], json!(1));
    let mut of_type = rebuild();
    of_type["type"] = json!("article");
    assert_eq!(both.ask(of_type).await["progress"]["written"], json!(1));
    assert!(both.slugs_of("page-1").await.is_empty());
    let mut component = rebuild();
    component["type"] = json!("banner");
    let error = both.try_ask(component).await.unwrap_err();
    assert!(error.to_string().contains("[routed]"), "{error}");
}
