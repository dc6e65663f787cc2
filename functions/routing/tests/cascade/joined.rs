//! The pages that a changed page depends on: a product refreshes its category.

use routing::BoundHit;
use routing::config::Asks;

use crate::world::{World, document, purged};

/// A product in category `c1`, both handled.
async fn shop(world: &mut World) {
    world.page("c1", "/c1", &[]);
    world.page("c2", "/c2", &[]);
    world.publish("p1", "product", &[("default", "/p1")], &["c1", "b1"]);
    for id in ["c1", "c2", "p1"] {
        world.handle_page(id).await;
    }
}

#[tokio::test]
async fn the_pages_that_a_page_depends_on_are_refreshed_with_it() {
    let mut world = World::new();
    shop(&mut world).await;
    world.asked.take();
    let lines = purged(&world.handle("p1", "product", &[]).await);
    assert_eq!(
        lines,
        [
            "Page:c1",
            "Product:p1",
            "/c1 < Page:c1 Product:p1",
            "/p1 < Product:p1"
        ]
    );
    assert_eq!(
        world.asked.take(),
        [(Asks::Rows, 3)],
        "asked together: no read more"
    );
    // Both the category that it leaves and the one it joins; the new one costs a read.
    world.publish("p1", "product", &[("default", "/p1")], &["c2"]);
    let lines = purged(&world.handle("p1", "product", &[]).await);
    for slug in ["/c1 < Page:c1 Product:p1", "/c2 < Page:c2 Product:p1"] {
        assert!(lines.contains(&slug.to_owned()), "{lines:?}");
    }
    assert_eq!(world.asked.take(), [(Asks::Rows, 3), (Asks::Rows, 1)]);
    world.delete("p1");
    let lines = purged(&world.handle("p1", "product", &[]).await);
    assert!(
        lines.contains(&"/c2 < Page:c2 Product:p1".to_owned()),
        "{lines:?}"
    );
}

#[tokio::test]
async fn they_are_recomputed_as_dependants_are() {
    // The category's path is made of something that the product decides.
    let mut world = World::new();
    shop(&mut world).await;
    let mut row = world.shown("c1");
    row["routes"][0]["slug"] = "/best".into();
    world.show("c1", row);
    let lines = purged(&world.handle("p1", "product", &[]).await);
    for slug in ["/best < Page:c1 Product:p1", "/c1 < Page:c1 Product:p1"] {
        assert!(lines.contains(&slug.to_owned()), "{lines:?}");
    }
    assert_eq!(world.at("/best").await, ["c1"]);
    assert!(world.at("/c1").await.is_empty());
    // Never from an older document than the one it came from.
    let older = world.shown("c1");
    world.page("c1", "/newest", &[]);
    world.handle_page("c1").await;
    world.show("c1", older);
    assert_eq!(world.handle("p1", "product", &[]).await.kept, 1);
    assert_eq!(world.at("/newest").await, ["c1"]);
}

#[tokio::test]
async fn it_ends_there() {
    let mut world = World::new();
    // p1 → c1 → c2: c2 shows nothing of p1. And a banner has no page whose dependencies could join.
    world.page("c2", "/c2", &["p1"]);
    world.page("c1", "/c1", &["c2", "b1"]);
    world.page("p1", "/p1", &["c1"]);
    for id in ["c2", "c1", "p1"] {
        world.handle_page(id).await;
    }
    world.page("c2", "/c2", &[]);
    world.handle_page("c2").await;
    let lines = purged(&world.handle_page("p1").await);
    assert!(!lines.iter().any(|line| line.contains("c2")), "{lines:?}");
    world.publish("b1", "banner", &[], &["p1"]);
    let lines = purged(&world.handle_banner("b1").await);
    assert_eq!(lines, ["Banner:b1", "Page:c1", "/c1 < Banner:b1 Page:c1"]);
}

#[tokio::test]
async fn law_9_dependants_and_joined_pages_share_one_bound() {
    let mut world = World::new();
    let ids: Vec<String> = (0..61).map(|n| format!("c{n:02}")).collect();
    for id in &ids {
        world.page(id, &format!("/{id}"), &[]);
        world.handle_page(id).await;
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    world.page("p1", "/p1", &ids[..60]);
    assert_eq!(world.handle_page("p1").await.bounds, []);
    world.page("p2", "/p2", &["p1"]);
    world.handle_page("p2").await;
    let cascade = world.handle_page("p1").await;
    let (document, maximum) = (document("p1"), 60);
    assert_eq!(cascade.bounds, [BoundHit::Width { document, maximum }]);
    assert_eq!(
        cascade.routes.len(),
        61,
        "its own, a dependant, and 59 that it depends on"
    );
}

#[tokio::test]
async fn it_can_be_switched_off() {
    let mut world = World::with("[dependencies]\nrefresh_pages = false\n");
    shop(&mut world).await;
    let lines = purged(&world.handle("p1", "product", &[]).await);
    assert_eq!(lines, ["Product:p1", "/p1 < Product:p1"]);
}

#[tokio::test]
async fn a_joined_page_whose_row_cannot_be_used_is_purged_as_held() {
    let mut world = World::new();
    shop(&mut world).await;
    let mut bad = world.shown("c1");
    bad["routes"] = "no list".into();
    world.show("c1", bad);
    let cascade = world.handle("p1", "product", &[]).await;
    let lines = [
        "Page:c1",
        "Product:p1",
        "/c1 < Page:c1 Product:p1",
        "/p1 < Product:p1",
    ];
    assert_eq!(purged(&cascade), lines);
    assert_eq!(cascade.problems.len(), 1);
    assert!(!cascade.problems[0].own);
}
