//! Dependencies found by following references.

use routing::BoundHit;
use routing::config::Asks::{Documents, RowsAndDocuments};
use routing::row::RowError;

use crate::world::{World, document, purged};

const FOLLOW: &str = "[dependencies]\ndiscover = \"references\"\n";

async fn dependencies(world: &World, id: &str) -> Vec<String> {
    world.handle_page(id).await;
    let routes = world.routes(id).await;
    routes.into_iter().flat_map(|route| route.dependencies).collect()
}

#[tokio::test]
async fn law_9_references_are_followed_through_components_and_no_further() {
    let mut world = World::with(FOLLOW);
    // p1 → section s1 → banner b1 → menu m1; p1 → page p2 → banner b2, which is p2's affair.
    world.refer("p1", "page", Some("/a"), &["s1", "p2"]);
    world.refer("p2", "page", Some("/b"), &["b2"]);
    world.refer("s1", "section", None, &["b1"]);
    world.refer("b1", "banner", None, &["m1"]);
    world.refer("m1", "menu", None, &[]);
    world.refer("b2", "banner", None, &[]);
    assert_eq!(dependencies(&world, "p1").await, ["b1", "m1", "p2", "s1"]);
    let lines = purged(&world.handle("m1", "menu", &[]).await);
    assert_eq!(lines, ["Page:p1", "/a < Page:p1"], "a menu three references away");
    let lines = purged(&world.handle_banner("b2").await);
    assert!(!lines.iter().any(|line| line.contains("p1")), "{lines:?}");
}

#[tokio::test]
async fn only_the_named_types_are_followed() {
    let follow = format!("{FOLLOW}follow = [\"section\"]\n");
    let mut world = World::with(&follow);
    world.refer("p1", "page", Some("/a"), &["s1", "b1"]);
    world.refer("s1", "section", None, &["b2"]);
    world.refer("b1", "banner", None, &["m1"]);
    world.refer("b2", "banner", None, &["m2"]);
    assert_eq!(dependencies(&world, "p1").await, ["b1", "b2", "s1"]);
    // A page's own references are followed whatever its type; those of a page behind it if its type is named.
    let mut world = World::with(&follow.replace("section", "page"));
    world.refer("p1", "page", Some("/a"), &["p2"]);
    world.refer("p2", "page", Some("/b"), &["b1"]);
    world.refer("b1", "banner", None, &["m1"]);
    assert_eq!(dependencies(&world, "p1").await, ["b1", "p2"]);
}

#[tokio::test]
async fn what_a_component_references_anew_is_followed_at_once() {
    let mut world = World::with(FOLLOW);
    world.refer("p1", "page", Some("/a"), &["s1"]);
    world.refer("s1", "section", None, &["b1"]);
    for id in ["b1", "b2"] {
        world.refer(id, "banner", None, &[]);
    }
    assert_eq!(dependencies(&world, "p1").await, ["b1", "s1"]);
    world.refer("s1", "section", None, &["b2"]);
    world.handle("s1", "section", &[]).await;
    assert_eq!(world.dependants("b1").await, [""; 0]);
    assert_eq!(world.dependants("b2").await, ["p1"]);
}

#[tokio::test]
async fn missing_documents_drafts_oneself_and_cycles_end_well() {
    let mut world = World::with(FOLLOW);
    world.refer(
        "p1",
        "page",
        Some("/a"),
        &["p1", "drafts.b1", "versions.r.b2", "nowhere", "a b", "drafts.p1"],
    );
    world.refer("b1", "banner", None, &["b2", "p1"]);
    world.refer("b2", "banner", None, &["b1", "b2"]);
    assert_eq!(dependencies(&world, "p1").await, ["b1", "b2", "nowhere"]);
    // What does not exist yet is a dependency all the same: the page changes when it is created.
    world.refer("nowhere", "banner", None, &["m1"]);
    assert_eq!(world.handle_banner("nowhere").await.routes.len(), 1);
    assert_eq!(world.dependants("m1").await, ["p1"]);
}

#[tokio::test]
async fn law_9_a_depth_beyond_the_bound_is_said() {
    let mut world = World::with(&format!("{FOLLOW}depth = 2\n"));
    world.refer("p1", "page", Some("/a"), &["b1"]);
    world.refer("b1", "banner", None, &["b2"]);
    world.refer("b2", "banner", None, &["b1", "p1"]);
    assert_eq!(
        world.handle_page("p1").await.bounds,
        [],
        "nothing new lies deeper"
    );
    world.refer("b2", "banner", None, &["b3"]);
    let bounds = world.handle_page("p1").await.bounds;
    let document = document("p1");
    assert_eq!(bounds, [BoundHit::Depth { document, maximum: 2 }]);
    assert_eq!(dependencies(&world, "p1").await, ["b1", "b2"]);
}

#[tokio::test]
async fn law_9_a_width_beyond_the_bound_is_said_and_ends() {
    let mut world = World::with(&format!("{FOLLOW}width = 2\n"));
    world.refer("p1", "page", Some("/a"), &["b1", "b2", "b3"]);
    for (id, to) in [("b1", "m1"), ("b2", "m2"), ("b3", "m3")] {
        world.refer(id, "banner", None, &[to]);
    }
    let cascade = world.handle_page("p1").await;
    let document = document("p1");
    assert_eq!(cascade.bounds, [BoundHit::Followed { document, maximum: 2 }]);
    assert_eq!(
        world.routes("p1").await[0].dependencies,
        ["b1", "b2", "b3", "m1", "m2"]
    );
}

#[tokio::test]
async fn law_9_dependencies_beyond_the_bound_are_said_and_the_nearest_are_kept() {
    let mut world = World::with(FOLLOW);
    let far: Vec<String> = (0..70).map(|n| format!("a{n:02}")).collect();
    let far: Vec<&str> = far.iter().map(String::as_str).collect();
    world.refer("p1", "page", Some("/a"), &["z1"]);
    world.refer("z1", "section", None, &far);
    let cascade = world.handle_page("p1").await;
    let (document, maximum, beyond) = (document("p1"), 60, 11);
    assert_eq!(
        cascade.bounds,
        [BoundHit::Dependencies {
            document,
            maximum,
            beyond
        }]
    );
    let dependencies = &world.routes("p1").await[0].dependencies;
    assert_eq!(
        (dependencies.len(), dependencies.last().unwrap().as_str()),
        (60, "z1")
    );
}

#[tokio::test]
async fn law_13_pages_share_what_is_read() {
    let mut world = World::with(FOLLOW);
    for n in 0..50 {
        let id = format!("p{n:02}");
        world.refer(&id, "page", Some(&format!("/{n:02}")), &["s1"]);
        world.handle_page(&id).await;
    }
    world.refer("s1", "section", None, &["b1"]);
    world.refer("b1", "banner", None, &[]);
    world.asked.take();
    assert_eq!(world.handle("s1", "section", &[]).await.routes.len(), 50);
    assert_eq!(world.dependants("b1").await.len(), 50);
    // All pages and the section at once, then the banner.
    assert_eq!(world.asked.take(), [(RowsAndDocuments, 51), (Documents, 1)]);
}

#[tokio::test]
async fn law_9_a_row_and_a_document_of_two_moments_write_nothing() {
    let mut world = World::with(FOLLOW);
    world.refer("p1", "page", Some("/a"), &["b1"]);
    world.handle_page("p1").await;
    world.refer("p1", "page", Some("/b"), &["b2"]);
    world.tear("p1");
    let cascade = world.compute("p1", "page", &[]).await;
    assert!(cascade.changes.is_empty());
    assert_eq!(cascade.problems[0].error, RowError::OtherRevision);
    assert!(cascade.problems[0].own);
}

#[test]
fn a_configuration_of_ones_own_asks_for_its_types() {
    let ids = ["b1".to_owned()].into();
    let all = World::with(FOLLOW).config.document_queries(&ids);
    assert!(all[0].groq.contains("!(_type in $types)"), "{}", all[0].groq);
    assert_eq!(all[0].params["types"], serde_json::json!(["page", "product"]));
    let rows = World::with(FOLLOW).config.queries(&ids);
    assert!(
        rows[0].groq.starts_with("{\"rows\": (\n*[_id in $ids]{"),
        "{}",
        rows[0].groq
    );
    assert!(
        rows[0].groq.ends_with("\n), \"documents\": *[_id in $ids]}"),
        "{}",
        rows[0].groq
    );
}
