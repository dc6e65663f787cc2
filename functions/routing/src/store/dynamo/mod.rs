//! Routes in DynamoDB.
//!
//! Needs `dynamodb:Query`, `BatchGetItem`, `PutItem`, `DeleteItem` and `ConditionCheckItem` on the table (a transaction needs
//! the permissions of its actions), and nothing on its indexes. What is busy is tried again here, since the SDK does not retry
//! a cancelled transaction; the invocation's deadline bounds it all.

mod items;
mod retry;
mod table;
mod walk;

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use futures::future::{FutureExt, TryFutureExt};
use platform::Deadline;
use time::OffsetDateTime;

use self::items::{Item, Key};
use self::retry::{Attempt, Retry, busy_code, classify};
pub use self::table::{create_table, items_of};
use super::actions::{Action, TRANSACTION_SIZE};
use super::apply::{Transact, Verdict, apply};
use super::{Dependants, Outcome, Pointer, RouteStore, StoreError};
use crate::model::{DocumentRef, Entry, RouteChange, RouteName};

/// Keys that one BatchGetItem may name.
const BATCH_SIZE: usize = 100;

/// The routes table.
#[derive(Debug, Clone)]
pub struct DynamoStore {
    client: Client,
    table: String,
}

impl DynamoStore {
    /// The table named `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self {
            client,
            table: table.into(),
        }
    }

    /// One page of a partition, from `start` on, and where the next one starts.
    async fn query_page(
        &self,
        partition: &str,
        prefix: &str,
        start: Option<HashMap<String, AttributeValue>>,
        deadline: &Deadline,
    ) -> Result<(Vec<Item>, Option<HashMap<String, AttributeValue>>), StoreError> {
        let request = self
            .client
            .query()
            .table_name(&self.table)
            .consistent_read(true)
            .key_condition_expression("pk = :pk AND begins_with(sk, :prefix)")
            .expression_attribute_values(":pk", AttributeValue::S(partition.to_owned()))
            .expression_attribute_values(":prefix", AttributeValue::S(prefix.to_owned()))
            .set_exclusive_start_key(start);
        let page = Retry::new("Query", deadline)
            .run(|| request.clone().send().map_err(|error| classify(&error)))
            .await?;
        Ok((
            page.items
                .unwrap_or_default()
                .into_iter()
                .map(Item::from)
                .collect(),
            page.last_evaluated_key.filter(|key| !key.is_empty()),
        ))
    }

    /// A whole partition.
    async fn query(
        &self,
        partition: &str,
        prefix: &str,
        deadline: &Deadline,
    ) -> Result<Vec<Item>, StoreError> {
        let (mut found, mut next) = self.query_page(partition, prefix, None, deadline).await?;
        while next.is_some() {
            let (items, after) = self.query_page(partition, prefix, next, deadline).await?;
            found.extend(items);
            next = after;
        }
        Ok(found)
    }

    /// The items under `keys` (no two the same, at most 100), in any order.
    async fn batch_get(&self, keys: Vec<Key>, deadline: &Deadline) -> Result<Vec<Item>, StoreError> {
        let mut found = vec![];
        let mut left: Vec<_> = keys.into_iter().map(Key::into_attributes).collect();
        let mut retry = Retry::new("BatchGetItem", deadline);
        while !left.is_empty() {
            let keys = KeysAndAttributes::builder()
                .consistent_read(true)
                .set_keys(Some(left.clone()))
                .build()
                .map_err(|error| retry.refused(&error.to_string()))?;
            let request = self.client.batch_get_item().request_items(&self.table, keys);
            let answer = retry
                .run(|| request.clone().send().map_err(|error| classify(&error)))
                .await?;
            let items = answer.responses.and_then(|mut tables| tables.remove(&self.table));
            let unprocessed = answer
                .unprocessed_keys
                .and_then(|mut tables| tables.remove(&self.table));
            let before = found.len();
            found.extend(items.unwrap_or_default().into_iter().map(Item::from));
            left = unprocessed.map(|keys| keys.keys).unwrap_or_default();
            if found.len() > before {
                retry.progress();
            }
            if !left.is_empty() {
                retry.pause("UnprocessedKeys").await?;
            }
        }
        Ok(found)
    }
}

impl Transact for DynamoStore {
    async fn transact(&self, actions: &[Action], deadline: &Deadline) -> Result<Verdict, StoreError> {
        let mut retry = Retry::new("TransactWriteItems", deadline);
        let now = OffsetDateTime::now_utc();
        let writes = actions
            .iter()
            .map(|action| items::write(action, &self.table, now))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|reason| retry.refused(&reason))?;
        let request = self
            .client
            .transact_write_items()
            .set_transact_items(Some(writes));
        retry
            .run(|| {
                request
                    .clone()
                    .send()
                    .map(|answer| answer.map_or_else(|error| verdict(&error), |_| Ok(Verdict::Done)))
            })
            .await
    }
}

/// What a failed transaction means: the route's condition did not hold, or it is worth another attempt, or it is not.
fn verdict(error: &SdkError<TransactWriteItemsError>) -> Result<Verdict, Attempt> {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error()
    else {
        return Err(classify(error));
    };
    let reasons = cancelled.cancellation_reasons();
    for reason in reasons {
        if reason.code() == Some("ConditionalCheckFailed") {
            let item = reason.item().cloned().filter(|item| !item.is_empty());
            // An item that cannot be read is not what this change would have left.
            return Ok(Verdict::Found(
                item.and_then(|item| Item::from(item).entry().ok()).map(Box::new),
            ));
        }
    }
    let codes: Vec<&str> = reasons
        .iter()
        .filter_map(|reason| reason.code())
        .filter(|code| *code != "None")
        .collect();
    let message = || {
        let messages: Vec<&str> = reasons.iter().filter_map(|reason| reason.message()).collect();
        messages.join("; ")
    };
    match codes.iter().find(|code| !busy_code(code)) {
        None => Err(Attempt::Busy(
            codes.first().copied().unwrap_or("TransactionCanceled").to_owned(),
        )),
        Some(code) => Err(Attempt::Refused((*code).to_owned(), message())),
    }
}

impl RouteStore for DynamoStore {
    async fn routes_of(&self, document: &DocumentRef, deadline: &Deadline) -> Result<Vec<Entry>, StoreError> {
        let items = self
            .query(
                &items::document_partition(document),
                items::ROUTE_PREFIX,
                deadline,
            )
            .await?;
        items.into_iter().map(Item::entry).collect()
    }

    async fn dependants_of(
        &self,
        document: &DocumentRef,
        limit: usize,
        deadline: &Deadline,
    ) -> Result<Dependants, StoreError> {
        let partition = items::edge_partition(document);
        let mut found = Dependants::default();
        let mut documents = BTreeSet::new();
        let mut start = None;
        loop {
            let (items, next) = self
                .query_page(&partition, items::PAGE_PREFIX, start, deadline)
                .await?;
            for item in items {
                let page = item.edge_page(&document.dataset)?;
                if !documents.contains(&page.document) && documents.len() == limit {
                    found.more = true;
                    return Ok(found);
                }
                documents.insert(page.document.clone());
                found.pages.insert(page);
            }
            if next.is_none() {
                return Ok(found);
            }
            start = next;
        }
    }

    async fn entries(
        &self,
        names: &BTreeSet<RouteName>,
        deadline: &Deadline,
    ) -> Result<Vec<Entry>, StoreError> {
        let names: Vec<&RouteName> = names.iter().collect();
        let mut found = vec![];
        for chunk in names.chunks(BATCH_SIZE) {
            let keys = chunk.iter().map(|name| Key::route(name)).collect();
            for item in self.batch_get(keys, deadline).await? {
                found.push(item.entry()?);
            }
        }
        found.sort_by_cached_key(Entry::name);
        Ok(found)
    }

    async fn pages_at(
        &self,
        dataset: &str,
        slug: &str,
        deadline: &Deadline,
    ) -> Result<Vec<Pointer>, StoreError> {
        let items = self
            .query(
                &items::slug_partition(dataset, slug),
                items::ROUTE_PREFIX,
                deadline,
            )
            .await?;
        items.into_iter().map(Item::pointer).collect()
    }

    async fn apply(&self, change: &RouteChange, deadline: &Deadline) -> Result<Outcome, StoreError> {
        apply(self, change, TRANSACTION_SIZE, deadline).await
    }
}
