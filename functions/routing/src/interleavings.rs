//! Every order in which consumers can take their steps: slug swaps, and several writers of one route.
//!
//! Each consumer is the real code (`affected` → rows → `complete` → `cascade` → `apply`) over a store that waits for its turn
//! before every read and every transaction. A schedule says whose turn it is; schedules are extended step by step until
//! everybody is done, and one that leads to a state seen before (tables, lake, heads, and all that each consumer has been
//! told) is not followed again.

mod explore;
mod step;

use std::collections::BTreeMap;

use self::explore::{Scenario, explore};
use self::step::{Consumer, Page};

fn page(second: i64, routes: &[(&str, &str)], dependencies: &[&str]) -> Option<Page> {
    Some(Page {
        second,
        routes: routes
            .iter()
            .map(|(name, slug)| (name.to_string(), slug.to_string()))
            .collect(),
        dependencies: dependencies.iter().map(ToString::to_string).collect(),
    })
}

fn at(second: i64, slug: &str) -> Option<Page> {
    page(second, &[("default", slug)], &["b1"])
}

fn lake(pages: &[(&str, Option<Page>)]) -> BTreeMap<String, Page> {
    let present = pages
        .iter()
        .filter_map(|(id, page)| Some((id.to_string(), page.clone()?)));
    present.collect()
}

/// The consumer of the banner that all pages show; it has read the pages before it reads their routes.
const BANNER: Consumer = Consumer {
    document: "b1",
    after: 0,
    lagging: true,
};

fn consumer(document: &'static str, after: usize) -> Consumer {
    Consumer {
        document,
        after,
        lagging: false,
    }
}

#[test]
fn law_9_a_slug_swap_in_one_batch() {
    let seen = explore(&Scenario {
        before: lake(&[("p1", at(1, "/a")), ("p2", at(1, "/b"))]),
        edits: vec![("p1", at(2, "/b")), ("p2", at(2, "/a"))],
        consumers: vec![consumer("p1", 1), consumer("p2", 2), BANNER],
        transaction_size: 100,
    });
    assert!(seen > 1000, "{seen} states are too few to be all");
}

#[test]
fn law_9_three_writers_of_one_route() {
    explore(&Scenario {
        before: lake(&[("p1", at(1, "/a"))]),
        edits: vec![
            ("p1", page(2, &[("default", "/b")], &["b1", "b2"])),
            ("p1", page(2, &[("default", "/c")], &["b1"])),
        ],
        consumers: vec![consumer("p1", 1), consumer("p1", 2), BANNER],
        transaction_size: 100,
    });
}

#[test]
fn law_9_a_page_created_and_deleted() {
    explore(&Scenario {
        before: lake(&[("p2", at(1, "/b"))]),
        edits: vec![("p1", at(2, "/a")), ("p1", None)],
        consumers: vec![consumer("p1", 1), consumer("p1", 2), BANNER],
        transaction_size: 100,
    });
}

#[test]
fn law_9_a_page_deleted_and_its_slug_taken() {
    explore(&Scenario {
        before: lake(&[("p1", at(1, "/a"))]),
        edits: vec![("p1", None), ("p2", at(2, "/a"))],
        consumers: vec![consumer("p1", 1), consumer("p2", 2), BANNER],
        transaction_size: 100,
    });
}

#[test]
fn law_9_a_page_loses_one_of_its_routes() {
    explore(&Scenario {
        before: lake(&[("p1", page(1, &[("en", "/a"), ("it", "/it/a")], &["b1"]))]),
        edits: vec![("p1", page(2, &[("en", "/a")], &["b1"]))],
        consumers: vec![consumer("p1", 1), BANNER],
        transaction_size: 100,
    });
}

#[test]
fn law_9_changes_of_several_transactions() {
    // Edges come and go, and go and come: what one writer removes last, another may have added again.
    let (many, few) = (["b1", "c1", "c2", "c3", "c4"], ["b1", "c1"]);
    for [first, second, third] in [[&few[..], &many, &few], [&many, &few, &many]] {
        explore(&Scenario {
            before: lake(&[("p1", page(1, &[("default", "/a")], first))]),
            edits: vec![
                ("p1", page(2, &[("default", "/b")], second)),
                ("p1", page(3, &[("default", "/b")], third)),
            ],
            consumers: vec![consumer("p1", 1), consumer("p1", 2)],
            transaction_size: 4,
        });
    }
}
