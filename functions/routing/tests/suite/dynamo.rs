//! A table of its own for each case.

use std::sync::atomic::{AtomicU64, Ordering};

use routing::store::dynamo::{DynamoStore, create_table};

/// A store on a fresh table of an emulator, if there is one.
pub async fn store() -> Option<DynamoStore> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    std::env::var("CASCATA_TEST_DYNAMODB_URL").ok()?;
    let client = aws_sdk_dynamodb::Client::new(&aws_config::load_from_env().await);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let started = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let table = format!("routes-{}-{started}-{serial}", std::process::id());
    create_table(&client, &table).await.expect("a fresh table");
    Some(DynamoStore::new(client, table))
}
