//! The ledger's tables as the template declares them, for tests that bring their own database.

use aws_sdk_dynamodb::{
    Client,
    types::{
        AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
        ProjectionType, ScalarAttributeType,
    },
};

use super::errors;
use crate::store::LedgerError;

/// Creates the events and the outbox table under these names.
///
/// # Errors
/// The database refused.
pub async fn create_tables(client: &Client, events: &str, outbox: &str) -> Result<(), LedgerError> {
    let attribute = |name: &str, kind: ScalarAttributeType| {
        AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(kind)
            .build()
    };
    let part = |name: &str, kind: KeyType| {
        KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind)
            .build()
    };
    let strings = |names: &[&str]| -> Result<Vec<AttributeDefinition>, LedgerError> {
        names
            .iter()
            .map(|name| attribute(name, ScalarAttributeType::S).map_err(errors::built))
            .collect()
    };
    let keys = |hash: &str, range: Option<&str>| -> Result<Vec<KeySchemaElement>, LedgerError> {
        let mut keys = vec![part(hash, KeyType::Hash).map_err(errors::built)?];
        if let Some(range) = range {
            keys.push(part(range, KeyType::Range).map_err(errors::built)?);
        }
        Ok(keys)
    };
    let index = |name: &str, hash: &str, range: &str, whole: bool| {
        let projection = if whole {
            Projection::builder().projection_type(ProjectionType::All)
        } else {
            Projection::builder()
                .projection_type(ProjectionType::Include)
                .non_key_attributes("accepted_at")
        };
        GlobalSecondaryIndex::builder()
            .index_name(name)
            .set_key_schema(Some(keys(hash, Some(range))?))
            .projection(projection.build())
            .build()
            .map_err(errors::built)
    };
    client
        .create_table()
        .table_name(events)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(strings(&["event_id", "document_key", "received_at"])?))
        .set_key_schema(Some(keys("event_id", None)?))
        .global_secondary_indexes(index("by_document", "document_key", "received_at", false)?)
        .send()
        .await
        .map_err(errors::failed)?;
    let mut attributes = strings(&["pk", "sk", "ready_shard", "state_key", "received_at"])?;
    attributes.push(attribute("next_attempt", ScalarAttributeType::N).map_err(errors::built)?);
    client
        .create_table()
        .table_name(outbox)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(attributes))
        .set_key_schema(Some(keys("pk", Some("sk"))?))
        .global_secondary_indexes(index("ready", "ready_shard", "next_attempt", false)?)
        .global_secondary_indexes(index("by_state", "state_key", "received_at", true)?)
        .send()
        .await
        .map_err(errors::failed)?;
    Ok(())
}
