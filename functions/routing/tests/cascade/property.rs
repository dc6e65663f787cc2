//! Whatever is edited, and whatever is handled in between: once everything was handled, the table says what the lake says.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::world::World;

const PAGES: [&str; 3] = ["p1", "p2", "p3"];
const DEPENDENCIES: [&str; 4] = ["b1", "b2", "p1", "p2"];

#[derive(Debug, Clone)]
enum Act {
    /// Publishes a page: a slug a language, and what it depends on, as bits.
    Page {
        page: usize,
        en: usize,
        it: usize,
        dependencies: usize,
    },
    Delete {
        page: usize,
    },
    HandlePage {
        page: usize,
    },
    HandleBanner {
        banner: usize,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let page = 0..PAGES.len();
    prop_oneof![
        4 => (page.clone(), 0..3_usize, 0..4_usize, 0..16_usize)
            .prop_map(|(page, en, it, dependencies)| Act::Page { page, en, it, dependencies }),
        1 => page.clone().prop_map(|page| Act::Delete { page }),
        3 => page.prop_map(|page| Act::HandlePage { page }),
        2 => (0..2_usize).prop_map(|banner| Act::HandleBanner { banner }),
    ]
}

async fn make(world: &mut World, act: &Act) {
    match *act {
        Act::Page {
            page,
            en,
            it,
            dependencies,
        } => {
            let (en, it) = (format!("/{en}"), format!("/it/{it}"));
            let mut routes = vec![("en", en.as_str())];
            // One language in four is missing.
            routes.extend((it != "/it/3").then_some(("it", it.as_str())));
            let dependencies = (0..4)
                .filter(|n| dependencies & (1 << n) != 0)
                .map(|n| DEPENDENCIES[n]);
            world.publish(PAGES[page], "page", &routes, &dependencies.collect::<Vec<_>>());
        }
        Act::Delete { page } => world.delete(PAGES[page]),
        Act::HandlePage { page } => drop(world.handle_page(PAGES[page]).await),
        Act::HandleBanner { banner } => drop(world.handle_banner(DEPENDENCIES[banner]).await),
    }
}

/// The rows of the lake: what a page's routes must say.
fn shown(world: &World, id: &str) -> BTreeSet<(String, String)> {
    let row = world.find(id);
    let routes = row.iter().flat_map(|row| row["routes"].as_array().unwrap());
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    routes
        .map(|route| (text(&route["route"]), text(&route["slug"])))
        .collect()
}

async fn check(acts: Vec<Act>) {
    let mut world = World::new();
    for act in &acts {
        make(&mut world, act).await;
    }
    for id in PAGES {
        world.handle_page(id).await;
    }
    for id in PAGES {
        let routes = world.routes(id).await;
        let held: BTreeSet<(String, String)> = routes
            .iter()
            .map(|route| (route.route.clone(), route.slug.clone()))
            .collect();
        assert_eq!(held, shown(&world, id), "routes of {id}");
        for route in &routes {
            assert!(
                world.at(&route.slug).await.contains(&route.document_id),
                "{} leads to {id}",
                route.slug
            );
        }
    }
    for slug in ["/0", "/1", "/2", "/it/0", "/it/1", "/it/2"] {
        for id in world.at(slug).await {
            assert!(
                shown(&world, &id).iter().any(|(_, shown)| shown == slug),
                "{slug} leads to {id}"
            );
        }
    }
    for dependency in DEPENDENCIES {
        let depends = |id: &&str| {
            let row = world.find(id);
            let on = row.iter().flat_map(|row| row["dependencies"].as_array().unwrap());
            *id != dependency && on.into_iter().any(|id| id == dependency) && !shown(&world, id).is_empty()
        };
        let expected: BTreeSet<&str> = PAGES.iter().copied().filter(|id| depends(id)).collect();
        let held: BTreeSet<String> = world.dependants(dependency).await.into_iter().collect();
        assert_eq!(
            held,
            expected.into_iter().map(String::from).collect(),
            "pages of {dependency}"
        );
    }
    let before = world.store.requests().items_written;
    for id in PAGES.iter().chain(&DEPENDENCIES) {
        assert!(world.handle_page(id).await.changes.is_empty());
    }
    assert_eq!(world.store.requests().items_written, before, "again: nothing");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn law_9_everything_handled_is_everything_right(acts in proptest::collection::vec(act(), 1..25)) {
        futures::executor::block_on(check(acts));
    }
}
