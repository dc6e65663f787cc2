//! Law 9 on the emulator, in small: a cascade costs what it touches, whatever the table holds. Runs where
//! `CASCATA_TEST_DYNAMODB_URL` names an emulator, as it does in `make test`; without it the test says that it did not run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

use benchmarks::{cascade_cost, client, meter::Meter, report, site};
use routing::store::dynamo::{DynamoStore, create_table};

#[tokio::test]
async fn law_9_a_cascade_costs_the_same_in_a_table_ten_times_as_large() {
    if std::env::var("CASCATA_TEST_DYNAMODB_URL").is_err() {
        println!("not run on DynamoDB: CASCATA_TEST_DYNAMODB_URL is not set");
        return;
    }
    let meter = Meter::default();
    let client = client(&meter).await;
    let table = format!("growth-{}", std::process::id());
    create_table(&client, &table).await.unwrap();
    let store = DynamoStore::new(client.clone(), table.as_str());
    let mut costs = Vec::new();
    for (from, to) in [(0, 200), (200, 2000)] {
        site::load(&client, &table, from, to).await.unwrap();
        costs.push(cascade_cost(&store, &meter, 1).await.unwrap());
    }
    // The component's routes, its edges, and its pages in one batch.
    assert_eq!(costs[0].reading.requests, 3);
    assert_eq!(costs[0].reading.items, 2 * site::DEPENDANTS);
    let (requests, units) = report::growth(&costs[0], &costs[1]);
    assert!(requests <= report::BAR && units <= report::BAR, "{costs:?}");
}
