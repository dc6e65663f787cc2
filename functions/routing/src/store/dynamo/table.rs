//! The routes table as the template declares it, and items in bulk, for tests and benchmarks that bring their own database.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use futures::future::TryFutureExt;
use platform::Deadline;
use time::OffsetDateTime;

use super::items;
use super::retry::{Retry, classify};
use crate::model::{Route, RouteChange, RouteWrite};
use crate::store::StoreError;
use crate::store::actions::Transactions;

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

/// The items of a route that is not there yet, as [`RouteStore::apply`](crate::RouteStore::apply) puts them: the route, its
/// pointer and its edges.
///
/// # Errors
/// The route cannot be an item.
pub fn items_of(route: &Route) -> Result<Vec<HashMap<String, AttributeValue>>, StoreError> {
    let write = RouteWrite {
        route: route.clone(),
        replaces: None,
        add_edges: route.dependencies.clone(),
        remove_edges: vec![],
        old_slug: None,
    };
    let steps = Transactions::of(&RouteChange::Write(Box::new(write)), usize::MAX);
    let deadline = Deadline::after(Duration::ZERO);
    let now = OffsetDateTime::now_utc();
    let puts = steps.main.iter().map(|action| {
        let write = items::write(action, "", now)
            .map_err(|reason| Retry::new("PutItem", &deadline).refused(&reason))?;
        Ok(write.put.map(|put| put.item))
    });
    puts.filter_map(Result::transpose).collect()
}
