//! The walk over everything known.

use std::collections::BTreeSet;

use routing::store::RouteStore;
use routing::store::walk::{KnownAs, RouteWalk};

use super::pages::{delete, page};
use super::{deadline, make, put};

pub async fn law_13_a_walk_names_every_document_known(store: &(impl RouteStore + RouteWalk)) {
    for number in 0..5 {
        put(
            store,
            &page(
                &format!("p{number}"),
                "default",
                &format!("/{number}"),
                &["b1"],
                7,
            ),
        )
        .await;
    }
    let last = page("p9", "default", "/9", &["b2"], 8);
    put(store, &last).await;
    make(store, &delete(&last)).await;
    for items in [1, 3, 100] {
        let mut seen = BTreeSet::new();
        let mut from: Option<String> = None;
        for _ in 0..100 {
            let known = store.known(from.as_deref(), items, &deadline()).await.unwrap();
            seen.extend(known.documents);
            from = known.next;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(from, None, "a walk ends");
        let named = |wanted: fn(&KnownAs) -> bool| -> Vec<&str> {
            let found = seen.iter().filter(|known| wanted(&known.known_as));
            found.map(|known| known.document.document_id.as_str()).collect()
        };
        let is_page = |known: &KnownAs| {
            matches!(
                known,
                KnownAs::Page {
                    source_second: 1_900_000_007,
                    ..
                }
            )
        };
        assert_eq!(named(is_page), ["p0", "p1", "p2", "p3", "p4"]);
        assert_eq!(named(|known| *known == KnownAs::Dependency), ["b1"]);
        assert_eq!(named(|known| *known == KnownAs::Removed), ["p9"]);
    }
}
