//! The ledger in DynamoDB.
//!
//! One file a role: [`record`](self) for the webhook, documents for the consumer, outbox for the relay.

mod breakers;
mod documents;
mod errors;
mod jobs;
mod operator;
mod outbox;
mod record;
mod tables;
mod versioned;

use std::collections::HashMap;

use aws_sdk_dynamodb::{
    Client,
    types::{AttributeValue, Put, Update},
};
use serde::{Serialize, de::DeserializeOwned};
pub use tables::create_tables;

use super::{LedgerError, Mark};
use crate::item::OutboxItem;

/// An item as the SDK knows it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The ledger in DynamoDB.
#[derive(Debug, Clone)]
pub struct DynamoLedger {
    client: Client,
    events: String,
    outbox: String,
    chunks_a_transaction: usize,
}

impl DynamoLedger {
    /// A ledger on these tables. A function that has no use for the events table gives an empty name.
    pub fn new(client: Client, events: impl Into<String>, outbox: impl Into<String>) -> Self {
        Self {
            client,
            events: events.into(),
            outbox: outbox.into(),
            chunks_a_transaction: documents::CHUNKS_A_TRANSACTION,
        }
    }

    /// The same ledger with transactions of at most this many chunks, to see a plan that does not fit in one.
    #[must_use]
    pub fn with_chunks_a_transaction(mut self, chunks: usize) -> Self {
        self.chunks_a_transaction = chunks.max(1);
        self
    }
}

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn key(pk: &str, sk: &str) -> Item {
    HashMap::from([("pk".to_owned(), text(pk)), ("sk".to_owned(), text(sk))])
}

fn to_item<T: Serialize>(value: &T) -> Result<Item, LedgerError> {
    serde_dynamo::to_item(value).map_err(|error| LedgerError::Corrupt(error.to_string()))
}

fn from_item<T: DeserializeOwned>(item: Item) -> Result<T, LedgerError> {
    let at = |item: &Item, name: &str| item.get(name).and_then(|it| it.as_s().ok().cloned());
    let place = format!("{:?} {:?}", at(&item, "pk"), at(&item, "sk"));
    serde_dynamo::from_item(item).map_err(|error| LedgerError::Corrupt(format!("{place}: {error}")))
}

/// A value stored below a document, with its keys.
fn keyed<T: Serialize>(pk: &str, sk: &str, value: &T) -> Result<Item, LedgerError> {
    let mut item = to_item(value)?;
    item.extend(key(pk, sk));
    Ok(item)
}

/// A put that only creates.
fn create(table: &str, item: Item, key_name: &str) -> Result<Put, LedgerError> {
    Put::builder()
        .table_name(table)
        .set_item(Some(item))
        .condition_expression("attribute_not_exists(#key)")
        .expression_attribute_names("#key", key_name)
        .build()
        .map_err(errors::built)
}

/// A put over version `from` (0: over nothing).
fn put_over(table: &str, item: Item, from: u64) -> Result<Put, LedgerError> {
    let put = Put::builder().table_name(table).set_item(Some(item));
    let put = if from == 0 {
        put.condition_expression("attribute_not_exists(pk)")
    } else {
        put.condition_expression("#version = :from")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":from", number(from))
    };
    put.build().map_err(errors::built)
}

/// Open → applied and SENT, as [`super::Documents::mark`] says.
fn mark_update(table: &str, item: &OutboxItem, mark: &Mark) -> Result<Update, LedgerError> {
    let mut set = "SET #state = :applied, #status = :sent, reason = :reason, applied_at = :at, \
                   expires_at = :expires"
        .to_owned();
    if mark.routes_affected.is_some() {
        set.push_str(", routes_affected = :routes");
    }
    set.push_str(" REMOVE next_attempt, ready_shard, state_key");
    let update = Update::builder()
        .table_name(table)
        .set_key(Some(key(&item.pk, &item.sk)))
        .update_expression(set)
        .condition_expression("#state IN (:pending, :failed)")
        .expression_attribute_names("#state", "state")
        .expression_attribute_names("#status", "status")
        .expression_attribute_values(":applied", text("applied"))
        .expression_attribute_values(":sent", text("SENT"))
        .expression_attribute_values(":reason", text(&mark.reason))
        .expression_attribute_values(":at", text(&mark.applied_at))
        .expression_attribute_values(":expires", number(mark.expires_at))
        .expression_attribute_values(":pending", text("pending"))
        .expression_attribute_values(":failed", text("failed"));
    let update = match mark.routes_affected {
        Some(routes) => update.expression_attribute_values(":routes", number(routes)),
        None => update,
    };
    update.build().map_err(errors::built)
}
