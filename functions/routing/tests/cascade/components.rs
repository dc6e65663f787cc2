//! Changes that reach pages through their dependencies.

use crate::world::{World, purged};

/// 50 pages with banner `b1` and 50 without.
async fn hundred_pages() -> World {
    let mut world = World::new();
    for n in 0..50 {
        world.page(&format!("with{n:02}"), &format!("/with/{n:02}"), &["b1"]);
        world.page(&format!("without{n:02}"), &format!("/without/{n:02}"), &["b2"]);
        world.handle_page(&format!("with{n:02}")).await;
        world.handle_page(&format!("without{n:02}")).await;
    }
    world
}

#[tokio::test]
async fn law_9_a_component_refreshes_its_pages_and_only_those() {
    let mut world = hundred_pages().await;
    world.banner("b1");
    let before = world.store.requests();
    let cascade = world.handle_banner("b1").await;
    let after = world.store.requests();
    let lines = purged(&cascade);
    assert_eq!(lines.len(), 1 + 50 + 50, "banner, pages, slugs");
    assert_eq!(lines[0], "Banner:b1");
    assert!(
        lines.contains(&"/with/07 < Banner:b1 Page:with07".to_owned()),
        "{lines:?}"
    );
    assert!(!lines.iter().any(|line| line.contains("without")));
    assert_eq!(cascade.routes.len(), 50);
    // Own routes and edges, then all the pages' routes at once; nothing about the pages is new, so nothing is written.
    assert_eq!(after.queries - before.queries, 2);
    assert_eq!(after.batch_reads - before.batch_reads, 1);
    assert_eq!(after.items_written, before.items_written);
}

#[tokio::test]
async fn law_8_the_pages_of_a_deleted_component_are_purged() {
    let mut world = hundred_pages().await;
    world.delete("b1");
    let lines = purged(&world.handle_banner("b1").await);
    assert_eq!(lines.len(), 101);
    assert!(
        lines.contains(&"/with/49 < Banner:b1 Page:with49".to_owned()),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_component_without_graphql_type_has_no_object_to_wait_for() {
    let mut world = World::new();
    world.page("p1", "/a", &["m1"]);
    world.handle_page("p1").await;
    world.publish("m1", "menu", &[], &[]);
    assert_eq!(
        purged(&world.handle("m1", "menu", &[]).await),
        ["Page:p1", "/a < Page:p1"]
    );
    // Nor has one that routes.toml does not list.
    world.page("p1", "/a", &["x1"]);
    world.handle_page("p1").await;
    assert_eq!(
        purged(&world.handle("x1", "unheard of", &[]).await),
        ["Page:p1", "/a < Page:p1"]
    );
}

#[tokio::test]
async fn a_page_that_begins_or_ends_to_depend_is_followed() {
    let mut world = World::new();
    world.page("p1", "/a", &[]);
    world.handle_page("p1").await;
    world.banner("b1");
    assert_eq!(purged(&world.handle_banner("b1").await), ["Banner:b1"]);
    world.page("p1", "/a", &["b1"]);
    world.handle_page("p1").await;
    let lines = purged(&world.handle_banner("b1").await);
    assert_eq!(lines, ["Banner:b1", "Page:p1", "/a < Banner:b1 Page:p1"]);
    world.page("p1", "/a", &[]);
    // Not handled yet: the edge that is about to vanish still counts.
    assert_eq!(purged(&world.compute("b1", "banner", &[]).await), lines);
    world.handle_page("p1").await;
    assert_eq!(purged(&world.handle_banner("b1").await), ["Banner:b1"]);
}

#[tokio::test]
async fn a_dependants_new_slug_is_written_and_both_are_purged() {
    // A child's path is made of its parent's, and the parent was renamed.
    let mut world = World::new();
    world.page("parent", "/old", &[]);
    world.page("child", "/old/child", &["parent"]);
    world.handle_page("parent").await;
    world.handle_page("child").await;
    let mut child = world.shown("child");
    child["routes"][0]["slug"] = "/new/child".into();
    world.show("child", child);
    world.page("parent", "/new", &[]);
    let cascade = world.handle_page("parent").await;
    assert_eq!(
        purged(&cascade),
        [
            "Page:child",
            "Page:parent",
            "/new < Page:parent",
            "/new/child < Page:child Page:parent",
            "/old < Page:parent",
            "/old/child < Page:child Page:parent",
        ]
    );
    assert_eq!(world.at("/new/child").await, ["child"]);
    assert!(world.at("/old/child").await.is_empty());
}

#[tokio::test]
async fn a_dependant_gains_and_loses_pages() {
    // A list of languages decides which pages exist.
    let mut world = World::new();
    world.publish("p1", "page", &[("en", "/a"), ("it", "/it/a")], &["languages"]);
    world.handle_page("p1").await;
    let mut row = world.shown("p1");
    row["routes"][1] = serde_json::json!({"route": "de", "slug": "/de/a"});
    world.show("p1", row);
    let cascade = world.handle("languages", "list", &[]).await;
    assert_eq!(
        purged(&cascade),
        ["Page:p1", "/a < Page:p1", "/de/a < Page:p1", "/it/a < Page:p1"]
    );
    assert_eq!(cascade.changes.len(), 2);
    assert_eq!(world.at("/de/a").await, ["p1"]);
    assert!(world.at("/it/a").await.is_empty());
}

#[tokio::test]
async fn cycles_and_self_references_end() {
    let mut world = World::new();
    world.page("p1", "/a", &["p1", "p2"]);
    world.page("p2", "/b", &["p1"]);
    world.handle_page("p1").await;
    world.handle_page("p2").await;
    let lines = ["Page:p1", "Page:p2", "/a < Page:p1", "/b < Page:p1 Page:p2"];
    assert_eq!(purged(&world.handle_page("p1").await), lines);
    let lines = ["Page:p1", "Page:p2", "/a < Page:p1 Page:p2", "/b < Page:p2"];
    assert_eq!(purged(&world.handle_page("p2").await), lines);
}

#[tokio::test]
async fn two_pages_at_one_slug_wait_for_the_objects_of_both() {
    let mut world = World::new();
    for id in ["p1", "p2"] {
        world.page(id, "/a", &["b1"]);
        world.handle_page(id).await;
    }
    let lines = purged(&world.handle_banner("b1").await);
    assert_eq!(
        lines,
        [
            "Banner:b1",
            "Page:p1",
            "Page:p2",
            "/a < Banner:b1 Page:p1 Page:p2"
        ]
    );
}
