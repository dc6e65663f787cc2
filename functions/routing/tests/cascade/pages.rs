//! A page's own changes: publish, rename, unpublish, change of type.

use crate::world::{World, purged};

#[tokio::test]
async fn a_first_publish_writes_the_route_and_purges_object_then_slug() {
    let mut world = World::new();
    world.page("p1", "/a", &["b1"]);
    let cascade = world.handle_page("p1").await;
    assert_eq!(purged(&cascade), ["Page:p1", "/a < Page:p1"]);
    assert_eq!(cascade.routes.len(), 1);
    let routes = world.routes("p1").await;
    assert_eq!(routes.len(), 1);
    assert_eq!((routes[0].slug.as_str(), routes[0].version), ("/a", 1));
    assert_eq!(routes[0].graphql_type, "Page");
    assert_eq!(routes[0].item_hash, routes[0].content_hash());
    assert_eq!(world.dependants("b1").await, ["p1"]);
    assert_eq!(world.at("/a").await, ["p1"]);
}

#[tokio::test]
async fn law_9_handling_again_writes_nothing_and_purges_the_same() {
    let mut world = World::new();
    world.page("p1", "/a", &["b1"]);
    world.page("p2", "/b", &["p1"]);
    let first = world.handle_page("p1").await;
    world.handle_page("p2").await;
    let before = world.store.requests();
    let again = world.handle_page("p1").await;
    assert!(again.changes.is_empty());
    let after = world.store.requests();
    assert_eq!(after.items_written, before.items_written);
    assert_eq!(after.transactions, before.transactions);
    assert!(purged(&again).contains(&"/a < Page:p1".to_owned()));
    assert!(purged(&first).iter().all(|line| purged(&again).contains(line)));
}

#[tokio::test]
async fn law_9_a_new_revision_alone_is_written_once() {
    let mut world = World::new();
    world.page("p1", "/a", &["b1"]);
    world.handle_page("p1").await;
    world.page("p1", "/a", &["b1"]);
    let before = world.store.requests();
    assert_eq!(world.handle_page("p1").await.changes.len(), 1);
    let after = world.store.requests();
    assert_eq!(
        after.items_written - before.items_written,
        2,
        "route and pointer, no edge"
    );
    assert_eq!(world.routes("p1").await[0].version, 2);
}

#[tokio::test]
async fn law_8_a_rename_purges_the_old_and_the_new_slug() {
    let mut world = World::new();
    world.page("p1", "/old", &["b1"]);
    world.handle_page("p1").await;
    world.page("p1", "/new", &["b1"]);
    let cascade = world.handle_page("p1").await;
    assert_eq!(purged(&cascade), ["Page:p1", "/new < Page:p1", "/old < Page:p1"]);
    assert!(world.at("/old").await.is_empty());
    assert_eq!(world.at("/new").await, ["p1"]);
}

#[tokio::test]
async fn law_8_a_slug_that_came_and_went_is_purged_too() {
    // s0 → s1 → s2 in one window: only the events know s1.
    let mut world = World::new();
    world.page("p1", "/s0", &[]);
    world.handle_page("p1").await;
    world.page("p1", "/s1", &[]);
    world.page("p1", "/s2", &[]);
    let cascade = world.handle("p1", "page", &["s0", "s1", "/s1", "s2"]).await;
    let slugs = ["/s0 < Page:p1", "/s1 < Page:p1", "/s2 < Page:p1"];
    assert_eq!(purged(&cascade), [&["Page:p1"][..], &slugs].concat());
}

#[tokio::test]
async fn sanity_io_nextjs_blog_cms_sanity_v3_93_a_deleted_page_is_gone_and_its_slug_purged() {
    let mut world = World::new();
    world.page("p1", "/a", &["b1"]);
    world.handle_page("p1").await;
    world.delete("p1");
    let cascade = world.handle_page("p1").await;
    assert_eq!(purged(&cascade), ["Page:p1", "/a < Page:p1"]);
    assert_eq!(cascade.routes.len(), 1);
    assert!(world.routes("p1").await.is_empty());
    assert!(world.dependants("b1").await.is_empty());
    assert!(world.at("/a").await.is_empty());
    let again = world.handle("p1", "page", &["a"]).await;
    assert!(again.changes.is_empty());
    assert_eq!(
        purged(&again),
        ["Page:p1", "/a < Page:p1"],
        "by what the event knows"
    );
}

#[tokio::test]
async fn a_page_that_was_never_known_leaves_what_its_event_names() {
    let world = World::new();
    let cascade = world.handle("p1", "page", &["a"]).await;
    assert_eq!(purged(&cascade), ["Page:p1", "/a < Page:p1"]);
    assert!(cascade.routes.is_empty());
    assert!(purged(&world.handle("x1", "unheard of", &[]).await).is_empty());
}

#[tokio::test]
async fn a_page_without_slug_is_no_page() {
    let mut world = World::new();
    world.page("p1", "/a", &[]);
    world.handle_page("p1").await;
    world.publish("p1", "page", &[], &[]);
    assert_eq!(
        purged(&world.handle_page("p1").await),
        ["Page:p1", "/a < Page:p1"]
    );
    assert!(world.routes("p1").await.is_empty());
}

#[tokio::test]
async fn several_pages_of_one_document_come_and_go_one_by_one() {
    let mut world = World::new();
    world.publish("p1", "page", &[("en", "/a"), ("it", "/it/a")], &["b1"]);
    world.handle_page("p1").await;
    world.publish("p1", "page", &[("en", "/a"), ("de", "/de/a")], &["b1"]);
    let cascade = world.handle_page("p1").await;
    assert_eq!(
        purged(&cascade),
        ["Page:p1", "/a < Page:p1", "/de/a < Page:p1", "/it/a < Page:p1"]
    );
    let routes: Vec<String> = world
        .routes("p1")
        .await
        .into_iter()
        .map(|route| route.route)
        .collect();
    assert_eq!(routes, ["de", "en"]);
    assert_eq!(world.dependants("b1").await, ["p1", "p1"]);
    assert!(world.at("/it/a").await.is_empty());
}

#[tokio::test]
async fn law_9_two_pages_swap_their_slugs_in_one_batch() {
    for order in [["p1", "p2"], ["p2", "p1"]] {
        let mut world = World::new();
        world.page("p1", "/a", &[]);
        world.page("p2", "/b", &[]);
        world.handle_page("p1").await;
        world.handle_page("p2").await;
        world.page("p1", "/b", &[]);
        world.page("p2", "/a", &[]);
        for id in order {
            let object = format!("Page:{id}");
            let cascade = world.handle_page(id).await;
            assert_eq!(
                purged(&cascade),
                [object.clone(), format!("/a < {object}"), format!("/b < {object}")]
            );
        }
        assert_eq!(world.at("/a").await, ["p2"]);
        assert_eq!(world.at("/b").await, ["p1"]);
    }
}

#[tokio::test]
async fn a_page_published_again_under_another_id_keeps_the_slug() {
    for order in [["old", "new"], ["new", "old"]] {
        let mut world = World::new();
        world.page("old", "/a", &["b1"]);
        world.handle_page("old").await;
        world.delete("old");
        world.page("new", "/a", &["b1"]);
        for id in order {
            assert!(purged(&world.handle_page(id).await).contains(&format!("/a < Page:{id}")));
        }
        assert_eq!(world.at("/a").await, ["new"]);
        assert_eq!(world.dependants("b1").await, ["new"]);
    }
}

#[tokio::test]
async fn a_page_published_again_under_its_id_is_back() {
    let mut world = World::new();
    world.page("p1", "/a", &["b1"]);
    world.handle_page("p1").await;
    world.delete("p1");
    world.handle_page("p1").await;
    world.page("p1", "/a", &["b1"]);
    world.handle_page("p1").await;
    assert_eq!(world.at("/a").await, ["p1"]);
    assert_eq!(
        world.routes("p1").await[0].version,
        3,
        "the removal counts as a version"
    );
}

#[tokio::test]
async fn a_document_that_changes_its_type_is_purged_as_both() {
    let mut world = World::new();
    world.page("p1", "/a", &[]);
    world.handle_page("p1").await;
    world.publish("p1", "product", &[("default", "/a")], &[]);
    let cascade = world.handle("p1", "product", &[]).await;
    assert_eq!(
        purged(&cascade),
        ["Page:p1", "Product:p1", "/a < Page:p1 Product:p1"]
    );
    assert_eq!(world.routes("p1").await[0].graphql_type, "Product");
    // To a type without pages.
    world.publish("p1", "banner", &[], &[]);
    let cascade = world.handle_banner("p1").await;
    assert_eq!(
        purged(&cascade),
        ["Banner:p1", "Product:p1", "/a < Banner:p1 Product:p1"]
    );
    assert!(world.at("/a").await.is_empty());
}
