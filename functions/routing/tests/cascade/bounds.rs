//! Bounds that are hit, and ids that are none.

use routing::BoundHit;

use crate::world::{World, document, purged};

#[tokio::test]
async fn law_9_a_width_beyond_the_bound_is_said() {
    let mut world = World::new();
    for n in 0..61 {
        let id = format!("p{n:02}");
        world.page(&id, &format!("/{n:02}"), &["b1"]);
        world.handle_page(&id).await;
        let cascade = world.compute("b1", "banner", &[]).await;
        assert_eq!(cascade.bounds.is_empty(), n < 60, "{} pages", n + 1);
    }
    let cascade = world.handle_banner("b1").await;
    let document = document("b1");
    assert_eq!(
        cascade.bounds,
        [BoundHit::Width {
            document,
            maximum: 60
        }]
    );
    assert_eq!(cascade.routes.len(), 60);
}

#[tokio::test]
async fn law_9_dependencies_beyond_the_bound_are_said() {
    let mut world = World::new();
    let ids: Vec<String> = (0..61).map(|n| format!("b{n:02}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    world.page("p1", "/a", &ids[..60]);
    assert!(world.handle_page("p1").await.bounds.is_empty());
    world.page("p1", "/a", &ids);
    let cascade = world.handle_page("p1").await;
    let expected = BoundHit::Dependencies {
        document: document("p1"),
        maximum: 60,
        beyond: 1,
    };
    assert_eq!(cascade.bounds, [expected]);
    assert_eq!(world.routes("p1").await[0].dependencies.len(), 60);
    assert_eq!(
        world.handle_page("p1").await.bounds.len(),
        1,
        "each time, though nothing is written"
    );
}

#[tokio::test]
async fn what_is_no_document_id_is_looked_up_nowhere() {
    let world = World::new();
    let before = world.store.requests();
    for id in ["", "a b", "a#b", &"x".repeat(5000)] {
        assert!(world.compute(id, "page", &[]).await.changes.is_empty());
    }
    assert_eq!(world.store.requests(), before);
    assert_eq!(
        purged(&world.compute("a b", "page", &["a"]).await),
        ["Page:a b", "/a < Page:a b"]
    );
}
