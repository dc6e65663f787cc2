//! What a lagging index, a late writer or a bad row must not do.

use routing::model::RouteChange;
use routing::row::RowError;
use routing::store::{Outcome, RouteStore};
use serde_json::json;

use crate::world::{World, deadline, purged};

/// A page with banner `b1` at `/new`, and the row that showed it at `/old`.
async fn renamed_page() -> (World, serde_json::Value) {
    let mut world = World::new();
    world.page("p1", "/old", &["b1"]);
    world.handle_page("p1").await;
    let old = world.shown("p1");
    world.page("p1", "/new", &["b1"]);
    world.handle_page("p1").await;
    (world, old)
}

#[tokio::test]
async fn law_9_a_dependant_is_never_written_from_an_older_document() {
    let (mut world, old) = renamed_page().await;
    world.show("p1", old);
    let cascade = world.handle_banner("b1").await;
    assert!(cascade.changes.is_empty());
    assert_eq!(cascade.kept, 1);
    assert_eq!(world.at("/new").await, ["p1"]);
    // What either revision shows is purged all the same.
    assert_eq!(
        purged(&cascade),
        [
            "Banner:b1",
            "Page:p1",
            "/new < Banner:b1 Page:p1",
            "/old < Banner:b1 Page:p1"
        ]
    );
}

#[tokio::test]
async fn law_9_two_revisions_of_one_second_are_in_no_order() {
    let (mut world, _) = renamed_page().await;
    let second = world.second();
    world.publish_at(second, "p1", "page", &[("default", "/tied")], &["b1"]);
    assert!(world.handle_banner("b1").await.changes.is_empty());
    world.publish_at(second + 1, "p1", "page", &[("default", "/later")], &["b1"]);
    assert_eq!(world.handle_banner("b1").await.changes.len(), 1);
    assert_eq!(world.at("/later").await, ["p1"]);
}

#[tokio::test]
async fn law_9_the_changed_document_itself_follows_what_was_fenced() {
    let (mut world, old) = renamed_page().await;
    world.show("p1", old);
    assert_eq!(world.handle_page("p1").await.changes.len(), 1);
    assert_eq!(world.at("/old").await, ["p1"]);
}

#[tokio::test]
async fn law_9_a_dependant_that_does_not_show_keeps_its_route() {
    // Deleted, or not indexed yet: its own event knows.
    let (mut world, _) = renamed_page().await;
    world.delete("p1");
    let cascade = world.handle_banner("b1").await;
    assert!(cascade.changes.is_empty());
    assert_eq!(cascade.kept, 1);
    assert_eq!(
        purged(&cascade),
        ["Banner:b1", "Page:p1", "/new < Banner:b1 Page:p1"]
    );
    assert_eq!(world.at("/new").await, ["p1"]);
}

#[tokio::test]
async fn law_9_a_page_without_the_route_removes_it_only_from_a_later_document() {
    let (mut world, _) = renamed_page().await;
    let second = world.second();
    world.publish_at(second - 100, "p1", "page", &[], &["b1"]);
    assert!(world.handle_banner("b1").await.changes.is_empty());
    world.publish_at(second + 1, "p1", "page", &[], &["b1"]);
    assert_eq!(world.handle_banner("b1").await.changes.len(), 1);
    assert!(world.at("/new").await.is_empty());
}

#[tokio::test]
async fn law_9_a_removed_page_is_not_written_from_an_older_document() {
    let (mut world, old) = renamed_page().await;
    world.publish("p1", "page", &[("en", "/en")], &["b1"]);
    world.handle_page("p1").await;
    // The index shows the page as it was before `default` was removed and `en` was there.
    world.show("p1", old);
    let cascade = world.handle_banner("b1").await;
    assert!(cascade.changes.is_empty(), "{:?}", cascade.changes);
    assert!(world.at("/old").await.is_empty());
    assert_eq!(world.at("/en").await, ["p1"]);
}

#[tokio::test]
async fn law_9_a_late_writer_meets_the_version() {
    let (mut world, _) = renamed_page().await;
    world.page("p1", "/late", &["b1"]);
    let late = world.compute("p1", "page", &[]).await;
    world.page("p1", "/newest", &["b1"]);
    world.handle_page("p1").await;
    let outcome = world.store.apply(&late.changes[0], &deadline()).await;
    assert_eq!(outcome, Ok(Outcome::Conflict));
    assert_eq!(world.at("/newest").await, ["p1"]);
}

#[tokio::test]
async fn a_page_that_exists_without_its_edge_is_read_before_it_is_written() {
    // `it` was written without banner b1; then a write of `en` alone was made before its consumer died.
    let mut world = World::new();
    world.publish("p1", "page", &[("en", "/a"), ("it", "/it/a")], &[]);
    world.handle_page("p1").await;
    world.publish("p1", "page", &[("en", "/a"), ("it", "/it/a")], &["b1"]);
    let interrupted = world.compute("p1", "page", &[]).await;
    let outcome = world.store.apply(&interrupted.changes[0], &deadline()).await;
    assert_eq!(outcome, Ok(Outcome::Applied));
    assert_eq!(world.dependants("b1").await, ["p1"]);
    let cascade = world.handle_banner("b1").await;
    assert_eq!(
        purged(&cascade),
        [
            "Banner:b1",
            "Page:p1",
            "/a < Banner:b1 Page:p1",
            "/it/a < Banner:b1 Page:p1"
        ]
    );
    assert_eq!(
        world.dependants("b1").await,
        ["p1", "p1"],
        "the other page's edge is there now"
    );
}

#[tokio::test]
async fn an_edge_too_many_is_not_believed() {
    let mut world = World::new();
    world.page("p1", "/a", &["b1"]);
    let mut cascade = world.compute("p1", "page", &[]).await;
    let RouteChange::Write(write) = &mut cascade.changes[0] else {
        panic!("a write")
    };
    // As a change of several transactions leaves it when it is interrupted.
    write.add_edges.push("b2".into());
    let outcome = world.store.apply(&cascade.changes[0], &deadline()).await;
    assert_eq!(outcome, Ok(Outcome::Applied));
    assert_eq!(world.dependants("b2").await, ["p1"]);
    assert_eq!(purged(&world.handle_banner("b2").await), ["Banner:b2"]);
    assert_eq!(purged(&world.handle_banner("b1").await).len(), 3);
}

#[tokio::test]
async fn a_bad_row_of_a_dependant_harms_nobody_else() {
    let mut world = World::new();
    for (id, slug) in [("p1", "/a"), ("p2", "/b")] {
        world.page(id, slug, &["b1"]);
        world.handle_page(id).await;
    }
    world.page("p2", "/b2", &["b1"]);
    let mut bad = world.shown("p1");
    bad["routes"] = json!("not a list");
    world.show("p1", bad);
    let cascade = world.handle_banner("b1").await;
    assert_eq!(cascade.problems.len(), 1);
    assert!(!cascade.problems[0].own);
    assert_eq!(cascade.problems[0].document.document_id, "p1");
    assert_eq!(world.at("/b2").await, ["p2"]);
    assert_eq!(world.at("/a").await, ["p1"]);
    assert!(purged(&cascade).contains(&"/a < Banner:b1 Page:p1".to_owned()));
}

#[tokio::test]
async fn a_bad_row_of_its_own_changes_nothing_and_is_said() {
    let mut world = World::new();
    world.page("p1", "/a", &[]);
    world.handle_page("p1").await;
    // Pages for a type that routes.toml does not know as routed: half the configuration was changed.
    world.publish("p1", "menu", &[("default", "/b")], &[]);
    let cascade = world.handle("p1", "menu", &["b"]).await;
    assert!(cascade.changes.is_empty());
    assert!(cascade.problems[0].own);
    assert_eq!(cascade.problems[0].error, RowError::NotRouted("menu".into()));
    assert_eq!(purged(&cascade), ["Page:p1", "/a < Page:p1", "/b < Page:p1"]);
    assert_eq!(world.at("/a").await, ["p1"]);
}
