//! The crash table (law 8): a wake is killed at every fault point it passes and retried, with and without a newer event between.
//! The end is always that of a run without faults: heads, events, routes, edges, slug pointers, plans, and what each layer was
//! asked to purge.
//!
//! The points are those that the run without faults passes, so a new one is covered by being there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod case;
mod outcome;
#[path = "../world/mod.rs"]
mod world;

use std::{collections::BTreeSet, sync::Arc};

use case::{Case, Edit};
use ledger::store::{
    Breakers, Documents, Outbox, Recorder,
    dynamo::{DynamoLedger, create_tables},
    memory::MemoryLedger,
};
use routing::store::{
    RouteStore,
    dynamo::{DynamoStore, create_table},
    memory::MemoryStore,
};
use world::World;

const FIRST: [Edit; 5] = [
    Edit::Create,
    Edit::Rename("/one"),
    Edit::Delete,
    Edit::Component,
    Edit::DeleteComponent,
];
const NEWER: [Edit; 3] = [Edit::Rename("/two"), Edit::Delete, Edit::Component];

/// Every first edit with every newer one that can follow it.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for first in FIRST {
        let alone = Case {
            first: Some(first),
            ..Case::default()
        };
        cases.extend([
            alone,
            Case {
                outage: true,
                ..alone
            },
        ]);
        let twice = |newer: &Edit| *newer == Edit::Delete && first == Edit::Delete;
        for newer in NEWER.into_iter().filter(|newer| !twice(newer)) {
            for overtakes in [false, true] {
                let newer = Some(newer);
                cases.push(Case {
                    newer,
                    overtakes,
                    ..alone
                });
            }
        }
    }
    for newer in [Edit::Rename("/two"), Edit::Delete] {
        let component = Case {
            first: Some(Edit::Component),
            newer: Some(newer),
            ahead: true,
            ..Case::default()
        };
        cases.extend([
            component,
            Case {
                overtakes: true,
                ..component
            },
        ]);
    }
    cases.push(Case {
        first: Some(Edit::Impossible),
        newer: Some(Edit::Component),
        ..Case::default()
    });
    cases.extend(cases_of_dynamo());
    cases
}

/// The rows that are played on the real store too, where each crash costs half a second.
fn cases_of_dynamo() -> [Case; 7] {
    let first = |edit| Case {
        first: Some(edit),
        ..Case::default()
    };
    [
        Case {
            newer: Some(Edit::Rename("/two")),
            ..first(Edit::Rename("/one"))
        },
        Case {
            newer: Some(Edit::Delete),
            overtakes: true,
            leftover: true,
            ..first(Edit::Rename("/one"))
        },
        Case {
            newer: Some(Edit::Component),
            ..first(Edit::Delete)
        },
        Case {
            newer: Some(Edit::Rename("/two")),
            ahead: true,
            ..first(Edit::Component)
        },
        first(Edit::DeleteComponent),
        Case {
            outage: true,
            ..first(Edit::Create)
        },
        Case {
            newer: Some(Edit::Component),
            ..first(Edit::Grow)
        },
    ]
}

/// Kills the case's first wake at each of its points; answers the points.
async fn every_crash_is_made_up_for<L, R>(ledger: Arc<L>, routes: Arc<R>, case: &Case) -> Vec<String>
where
    L: Documents + Breakers + Recorder + Outbox,
    R: RouteStore,
{
    let world = || World::on(ledger.clone(), routes.clone());
    let whole = case.play(&world(), None).await;
    assert!(whole.reached.len() > 10, "{case:?}: {:?}", whole.reached);
    for (place, point) in whole.reached.iter().enumerate() {
        let cut = case.play(&world(), Some(place)).await;
        let at = format!("{case:?}, killed at {point} (point {place})");
        assert_eq!(cut.reached, whole.reached[..=place], "{at}");
        let missing: Vec<&String> = whole.outcome.0.difference(&cut.outcome.0).collect();
        let beyond: Vec<&String> = cut.outcome.0.difference(&whole.outcome.0).collect();
        assert!(
            missing.is_empty() && beyond.is_empty(),
            "{at}\nmissing: {missing:#?}\nbeyond: {beyond:#?}"
        );
        let unpurged: Vec<&String> = whole.purged_since.difference(&cut.purged_since).collect();
        assert!(
            case.newer.is_none() || unpurged.is_empty(),
            "{at}\nnot purged after the newer edit: {unpurged:#?}"
        );
    }
    whole.reached
}

/// The names of the fault points in a source folder, up to what is put in.
fn points_in(folder: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.extend(points_in(path.to_str().unwrap()));
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(path).unwrap();
            let named = text.split("fault_point!(\"").skip(1);
            names.extend(named.map(|rest| rest.split(['"', '{']).next().unwrap().to_owned()));
        }
    }
    names
}

#[tokio::test(start_paused = true)]
async fn law_8_in_memory_every_crash_is_made_up_for_and_every_point_is_passed() {
    let mut passed = BTreeSet::new();
    for case in cases() {
        let ledger = Arc::new(MemoryLedger::new());
        let routes = Arc::new(MemoryStore::new().with_transaction_size(20));
        passed.extend(every_crash_is_made_up_for(ledger, routes, &case).await);
    }
    for name in points_in(concat!(env!("CARGO_MANIFEST_DIR"), "/src")) {
        assert!(
            passed.iter().any(|point| point.starts_with(&name)),
            "no case passes {name}; all: {passed:?}"
        );
    }
}

/// On DynamoDB in the emulator, as `make test` runs it.
async fn on_dynamo(cases: &[Case]) {
    if std::env::var("CASCATA_TEST_DYNAMODB_URL").is_err() {
        println!("not run on DynamoDB: CASCATA_TEST_DYNAMODB_URL is not set");
        return;
    }
    let client = aws_sdk_dynamodb::Client::new(&aws_config::load_from_env().await);
    for case in cases {
        let serial = format!("crash-{}-{}", std::process::id(), world::serial());
        let [events, outbox, routes] =
            ["events", "outbox", "routes"].map(|table| format!("{table}-{serial}"));
        create_tables(&client, &events, &outbox).await.unwrap();
        create_table(&client, &routes).await.unwrap();
        let ledger = Arc::new(DynamoLedger::new(client.clone(), events, outbox).with_chunks_a_transaction(1));
        let routes = Arc::new(DynamoStore::new(client.clone(), routes));
        let points = every_crash_is_made_up_for(ledger, routes, case).await;
        println!("{case:?}: killed at each of {} points", points.len());
    }
}

#[tokio::test]
async fn law_8_on_dynamo_every_crash_is_made_up_for() {
    on_dynamo(&cases_of_dynamo()).await;
}
