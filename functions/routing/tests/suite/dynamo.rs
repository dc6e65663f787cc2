//! A table of its own for each case.

use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use aws_sdk_dynamodb::{Client, Config};
use routing::store::dynamo::DynamoStore;

/// A store on a fresh table of an emulator, if there is one.
pub async fn store() -> Option<DynamoStore> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let url = std::env::var("CASCATA_TEST_DYNAMODB_URL").ok()?;
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(url)
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .build();
    let client = Client::from_conf(config);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let started = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let table = format!("routes-{}-{started}-{serial}", std::process::id());
    let mut create = client
        .create_table()
        .table_name(&table)
        .billing_mode(BillingMode::PayPerRequest);
    for (name, kind) in [("pk", KeyType::Hash), ("sk", KeyType::Range)] {
        let attribute = AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(ScalarAttributeType::S);
        let key = KeySchemaElement::builder().attribute_name(name).key_type(kind);
        create = create
            .attribute_definitions(attribute.build().unwrap())
            .key_schema(key.build().unwrap());
    }
    create.send().await.expect("a fresh table");
    Some(DynamoStore::new(client, table))
}
