//! The routes table as the template declares it, for tests that bring their own database.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use futures::future::TryFutureExt;
use platform::Deadline;

use super::retry::{Retry, classify};
use crate::store::StoreError;

/// Creates the routes table under this name.
///
/// # Errors
/// The database refused.
pub async fn create_table(client: &Client, table: &str) -> Result<(), StoreError> {
    let deadline = Deadline::after(Duration::from_secs(30));
    let mut retry = Retry::new("CreateTable", &deadline);
    let mut create = client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest);
    for (name, kind) in [("pk", KeyType::Hash), ("sk", KeyType::Range)] {
        let attribute = AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(ScalarAttributeType::S)
            .build();
        let key = KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind)
            .build();
        create = create
            .attribute_definitions(attribute.map_err(|error| retry.refused(&error.to_string()))?)
            .key_schema(key.map_err(|error| retry.refused(&error.to_string()))?);
    }
    retry
        .run(|| create.clone().send().map_err(|error| classify(&error)))
        .await?;
    Ok(())
}
