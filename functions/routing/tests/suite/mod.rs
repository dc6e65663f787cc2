//! The cases, generic over the store.

pub mod dynamo;
mod pages;
mod walking;

use std::collections::BTreeSet;
use std::time::Duration;

use pages::{delete, document, gone, name, page, write};
use platform::Deadline;
use routing::model::{DocumentRef, Entry, Route, RouteChange, RouteName};
use routing::store::{Outcome, RouteStore};
pub use walking::*;

fn deadline() -> Deadline {
    Deadline::after(Duration::from_secs(50))
}

async fn make(store: &impl RouteStore, change: &RouteChange) -> Outcome {
    store.apply(change, &deadline()).await.unwrap()
}

async fn put(store: &impl RouteStore, route: &Route) {
    assert_eq!(make(store, &write(None, route)).await, Outcome::Applied);
}

async fn routes_of(store: &impl RouteStore, id: &str) -> Vec<Entry> {
    store.routes_of(&document(id), &deadline()).await.unwrap()
}

/// Document and route of every page that depends on `id`.
async fn dependants(store: &impl RouteStore, id: &str) -> Vec<String> {
    let found = store
        .dependants_of(&document(id), 1000, &deadline())
        .await
        .unwrap();
    assert!(!found.more);
    let pages = found.pages.iter();
    pages
        .map(|page| format!("{}/{}", page.document.document_id, page.route))
        .collect()
}

/// Document and route of every page at `slug`.
async fn pages_at(store: &impl RouteStore, slug: &str) -> Vec<String> {
    let found = store.pages_at("production", slug, &deadline()).await.unwrap();
    found
        .iter()
        .map(|pointer| format!("{}/{}", pointer.document_id, pointer.route))
        .collect()
}

pub async fn nothing_is_held_at_first(store: &impl RouteStore) {
    assert!(routes_of(store, "p1").await.is_empty());
    assert!(dependants(store, "b1").await.is_empty());
    assert!(pages_at(store, "/a").await.is_empty());
    let names = [name("p1", "default")].into();
    assert_eq!(store.entries(&names, &deadline()).await, Ok(vec![]));
    assert_eq!(store.entries(&BTreeSet::new(), &deadline()).await, Ok(vec![]));
}

pub async fn law_9_a_route_its_edges_and_its_pointer_are_written_together(store: &impl RouteStore) {
    let it = page("p1", "it", "/it/a", &["b1", "b2"], 1);
    let en = page("p1", "en", "/a", &["b1"], 1);
    put(store, &it).await;
    put(store, &en).await;
    assert_eq!(
        routes_of(store, "p1").await,
        [Entry::Live(en), Entry::Live(it.clone())]
    );
    assert_eq!(dependants(store, "b1").await, ["p1/en", "p1/it"]);
    assert_eq!(dependants(store, "b2").await, ["p1/it"]);
    let pointers = store.pages_at("production", "/it/a", &deadline()).await.unwrap();
    assert_eq!(pointers.len(), 1);
    assert_eq!(pointers[0].graphql_type, "Page");
    assert_eq!(pointers[0].document_type, "page");
    assert_eq!(pointers[0].source_second, it.source_second);
}

pub async fn law_9_a_write_over_another_version_changes_nothing(store: &impl RouteStore) {
    let first = page("p1", "default", "/a", &["b1"], 1);
    put(store, &first).await;
    let mut stale = page("p1", "default", "/stale", &["b2"], 1);
    assert_eq!(
        make(store, &write(None, &stale)).await,
        Outcome::Conflict,
        "another content at the same version"
    );
    stale.version = 8;
    let mut before = first.clone();
    before.version = 7;
    assert_eq!(
        make(store, &write(Some(&before), &stale)).await,
        Outcome::Conflict
    );
    assert_eq!(make(store, &delete(&before)).await, Outcome::Conflict);
    let unseen = page("p2", "default", "/b", &[], 4);
    assert_eq!(
        make(store, &delete(&unseen)).await,
        Outcome::Conflict,
        "there is nothing to delete"
    );
    assert_eq!(routes_of(store, "p1").await, [Entry::Live(first)]);
    assert!(routes_of(store, "p2").await.is_empty());
    assert_eq!(dependants(store, "b1").await, ["p1/default"]);
    assert!(dependants(store, "b2").await.is_empty());
    assert_eq!(pages_at(store, "/a").await, ["p1/default"]);
    assert!(pages_at(store, "/stale").await.is_empty());
}

pub async fn law_9_a_change_made_twice_is_made_once(store: &impl RouteStore) {
    let first = page("p1", "default", "/a", &["b1"], 1);
    put(store, &first).await;
    assert_eq!(make(store, &write(None, &first)).await, Outcome::Unchanged);
    let second = page("p1", "default", "/b", &[], 2);
    assert_eq!(make(store, &write(Some(&first), &second)).await, Outcome::Applied);
    assert_eq!(
        make(store, &write(Some(&first), &second)).await,
        Outcome::Unchanged
    );
    assert_eq!(make(store, &delete(&second)).await, Outcome::Applied);
    assert_eq!(make(store, &delete(&second)).await, Outcome::Unchanged);
    assert_eq!(
        make(store, &write(Some(&first), &second)).await,
        Outcome::Conflict,
        "too late"
    );
}

pub async fn law_9_of_twenty_writers_at_once_one_wins(store: &impl RouteStore) {
    let first = page("p1", "default", "/a", &["b0"], 1);
    put(store, &first).await;
    let pages: Vec<Route> = (0..20)
        .map(|n| page("p1", "default", &format!("/{n}"), &[&format!("b{n}")], 2))
        .collect();
    let changes: Vec<RouteChange> = pages.iter().map(|page| write(Some(&first), page)).collect();
    let writers = changes.iter().map(|change| make(store, change));
    let outcomes = futures::future::join_all(writers).await;
    let winners: Vec<usize> = (0..20).filter(|n| outcomes[*n] == Outcome::Applied).collect();
    assert_eq!(winners.len(), 1, "{outcomes:?}");
    assert!(
        outcomes.iter().all(|outcome| *outcome != Outcome::Unchanged),
        "{outcomes:?}"
    );
    let winner = winners[0];
    assert_eq!(routes_of(store, "p1").await, [Entry::Live(pages[winner].clone())]);
    for n in 0..20 {
        let expected: &[&str] = if n == winner { &["p1/default"] } else { &[] };
        assert_eq!(dependants(store, &format!("b{n}")).await, expected);
        assert_eq!(pages_at(store, &format!("/{n}")).await, expected);
    }
    assert!(pages_at(store, "/a").await.is_empty());
}

pub async fn law_9_edges_follow_the_route(store: &impl RouteStore) {
    let first = page("p1", "default", "/a", &["b1", "b2"], 1);
    let second = page("p1", "default", "/a", &["b2", "b3"], 2);
    put(store, &first).await;
    put(store, &page("p2", "default", "/b", &["b1"], 1)).await;
    assert_eq!(make(store, &write(Some(&first), &second)).await, Outcome::Applied);
    assert_eq!(dependants(store, "b1").await, ["p2/default"]);
    assert_eq!(dependants(store, "b2").await, ["p1/default"]);
    assert_eq!(dependants(store, "b3").await, ["p1/default"]);
    assert_eq!(make(store, &delete(&second)).await, Outcome::Applied);
    assert!(dependants(store, "b2").await.is_empty());
    assert!(dependants(store, "b3").await.is_empty());
}

pub async fn law_9_dependants_are_bounded_by_documents(store: &impl RouteStore) {
    for id in ["p1", "p2", "p3"] {
        for route in ["en", "it"] {
            put(store, &page(id, route, &format!("/{route}/{id}"), &["b1"], 1)).await;
        }
    }
    for (limit, documents) in [(1, 1), (2, 2), (3, 3), (4, 3)] {
        let found = store
            .dependants_of(&document("b1"), limit, &deadline())
            .await
            .unwrap();
        assert_eq!(found.pages.len(), documents * 2, "limit {limit}");
        assert_eq!(found.more, limit < 3, "limit {limit}");
    }
}

pub async fn law_9_a_delete_never_touches_the_neighbours_pointer(store: &impl RouteStore) {
    // Two documents at one slug: an editor's mistake, or a rename and a re-publish under way.
    let one = page("p1", "default", "/a", &[], 1);
    let two = page("p2", "default", "/a", &[], 1);
    put(store, &one).await;
    put(store, &two).await;
    assert_eq!(pages_at(store, "/a").await, ["p1/default", "p2/default"]);
    let moved = page("p2", "default", "/b", &[], 2);
    assert_eq!(make(store, &write(Some(&two), &moved)).await, Outcome::Applied);
    assert_eq!(
        pages_at(store, "/a").await,
        ["p1/default"],
        "who stayed is still found"
    );
    assert_eq!(pages_at(store, "/b").await, ["p2/default"]);
    let back = page("p2", "default", "/a", &[], 3);
    assert_eq!(make(store, &write(Some(&moved), &back)).await, Outcome::Applied);
    assert_eq!(make(store, &delete(&one)).await, Outcome::Applied);
    assert_eq!(pages_at(store, "/a").await, ["p2/default"]);
    assert_eq!(make(store, &delete(&back)).await, Outcome::Applied);
    assert!(pages_at(store, "/a").await.is_empty());
}

pub async fn law_9_two_pages_swap_their_slugs_in_either_order(store: &impl RouteStore) {
    for (one, two) in [("p1", "p2"), ("p4", "p3")] {
        let (at_a, at_b) = (format!("/a-{one}"), format!("/b-{one}"));
        let before = [
            page(one, "default", &at_a, &[], 1),
            page(two, "default", &at_b, &[], 1),
        ];
        let after = [
            page(one, "default", &at_b, &[], 2),
            page(two, "default", &at_a, &[], 2),
        ];
        for n in [0, 1] {
            put(store, &before[n]).await;
        }
        for n in [0, 1] {
            assert_eq!(
                make(store, &write(Some(&before[n]), &after[n])).await,
                Outcome::Applied
            );
        }
        assert_eq!(pages_at(store, &at_a).await, [format!("{two}/default")]);
        assert_eq!(pages_at(store, &at_b).await, [format!("{one}/default")]);
    }
}

pub async fn law_9_a_removed_route_is_not_brought_back(store: &impl RouteStore) {
    let first = page("p1", "default", "/a", &["b1"], 1);
    put(store, &first).await;
    assert_eq!(make(store, &delete(&first)).await, Outcome::Applied);
    assert_eq!(routes_of(store, "p1").await, [Entry::Gone(gone(&first))]);
    // A consumer that read "nothing there" before the route was written and removed.
    let late = page("p1", "default", "/late", &["b1"], 1);
    assert_eq!(make(store, &write(None, &late)).await, Outcome::Conflict);
    assert!(dependants(store, "b1").await.is_empty() && pages_at(store, "/late").await.is_empty());
    // One that has seen the removal publishes again.
    let mut again = page("p1", "default", "/a", &["b1"], 3);
    let mut change = write(None, &again);
    if let RouteChange::Write(write) = &mut change {
        write.replaces = Some(Entry::Gone(gone(&first)));
    }
    assert_eq!(make(store, &change).await, Outcome::Applied);
    assert_eq!(routes_of(store, "p1").await, [Entry::Live(again.clone())]);
    assert_eq!(dependants(store, "b1").await, ["p1/default"]);
    again.version = 9;
    assert_eq!(make(store, &delete(&again)).await, Outcome::Conflict);
}

pub async fn a_page_made_of_more_documents_than_a_transaction_holds(store: &impl RouteStore) {
    let ids: Vec<String> = (0..250).map(|n| format!("b{n:03}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let wide = page("p1", "default", "/a", &ids, 1);
    let narrow = page("p1", "default", "/b", &["b000", "other"], 2);
    put(store, &wide).await;
    assert_eq!(make(store, &write(None, &wide)).await, Outcome::Unchanged);
    for id in ["b000", "b099", "b100", "b249"] {
        assert_eq!(dependants(store, id).await, ["p1/default"], "{id}");
    }
    assert_eq!(make(store, &write(Some(&wide), &narrow)).await, Outcome::Applied);
    assert_eq!(
        make(store, &write(Some(&wide), &narrow)).await,
        Outcome::Unchanged
    );
    for id in &ids[1..] {
        assert!(dependants(store, id).await.is_empty(), "{id}");
    }
    for id in ["b000", "other"] {
        assert_eq!(dependants(store, id).await, ["p1/default"], "{id}");
    }
    // As many are added to a route that is there: it is claimed first, which takes a version more.
    let again = page("p1", "default", "/a", &ids, 3);
    assert_eq!(make(store, &write(Some(&narrow), &again)).await, Outcome::Applied);
    assert_eq!(
        make(store, &write(Some(&narrow), &again)).await,
        Outcome::Unchanged
    );
    let held = Entry::Live(again).with_version(4);
    assert_eq!(routes_of(store, "p1").await, std::slice::from_ref(&held));
    assert_eq!(dependants(store, "b249").await, ["p1/default"]);
    assert!(pages_at(store, "/b").await.is_empty());
    let narrow = page("p1", "default", "/b", &["b000", "other"], 5);
    assert_eq!(make(store, &write(held.live(), &narrow)).await, Outcome::Applied);
    let stale = page("p1", "default", "/c", &ids, 2);
    assert_eq!(
        make(store, &write(Some(&page("p1", "default", "/", &[], 1)), &stale)).await,
        Outcome::Conflict
    );
    assert!(dependants(store, "b001").await.is_empty());
}

pub async fn many_routes_are_read_at_once_and_in_order(store: &impl RouteStore) {
    let pages: Vec<Route> = (0..130)
        .map(|n| page(&format!("p{n:03}"), "default", &format!("/{n}"), &["b1"], 1))
        .collect();
    for route in &pages {
        put(store, route).await;
    }
    let mut names: BTreeSet<RouteName> = pages.iter().map(Route::name).collect();
    names.insert(name("p000", "no such route"));
    names.insert(name("p0005", "default"));
    let expected: Vec<Entry> = pages.into_iter().map(Entry::Live).collect();
    assert_eq!(store.entries(&names, &deadline()).await.unwrap(), expected);
    assert_eq!(dependants(store, "b1").await.len(), 130);
}

pub async fn neighbours_in_name_are_told_apart(store: &impl RouteStore) {
    for id in ["p", "p1", "p-1", "p.1"] {
        for route in ["a", "ab"] {
            put(
                store,
                &page(id, route, &format!("/{id}/{route}"), &["b", "b1"], 1),
            )
            .await;
        }
    }
    let mut elsewhere = page("p", "a", "/p/a", &["b"], 1);
    elsewhere.dataset = "staging".into();
    elsewhere.item_hash = elsewhere.content_hash();
    put(store, &elsewhere).await;
    let routes = routes_of(store, "p").await;
    assert_eq!(routes.len(), 2);
    assert!(routes.iter().all(|entry| entry.name().document == document("p")));
    assert_eq!(
        dependants(store, "b").await,
        [
            "p/a", "p/ab", "p-1/a", "p-1/ab", "p.1/a", "p.1/ab", "p1/a", "p1/ab"
        ]
    );
    let staging = DocumentRef::new("staging", "b");
    let found = store.dependants_of(&staging, 10, &deadline()).await.unwrap();
    assert_eq!(found.pages.len(), 1);
    assert_eq!(pages_at(store, "/p/a").await, ["p/a"]);
}

pub async fn a_slug_may_hold_anything(store: &impl RouteStore) {
    let longest = format!("/{}", "x".repeat(routing::row::MAXIMUM_SLUG_BYTES - 1));
    for (n, slug) in ["/", "/a b/ü/日本", "/a#b", "/a%20b?c=d", &longest]
        .into_iter()
        .enumerate()
    {
        let route = page("p1", &format!("route #{n}"), slug, &["b1"], 1);
        put(store, &route).await;
        let found = store.pages_at("production", slug, &deadline()).await.unwrap();
        assert_eq!(found.len(), 1, "{slug}");
        let names = [route.name()].into();
        assert_eq!(
            store.entries(&names, &deadline()).await.unwrap(),
            [Entry::Live(route)]
        );
    }
    assert_eq!(dependants(store, "b1").await.len(), 5);
}
