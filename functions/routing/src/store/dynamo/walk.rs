//! The walk over the table: a Scan, bounded page by page. It needs `dynamodb:Scan`.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::TryFutureExt;
use platform::Deadline;

use super::DynamoStore;
use super::items::Item;
use super::retry::{Retry, classify};
use crate::store::StoreError;
use crate::store::walk::{Gathered, KnownPage, RouteWalk};

fn start_key(from: &str) -> Option<HashMap<String, AttributeValue>> {
    let keys: BTreeMap<String, String> = serde_json::from_str(from).ok()?;
    Some(
        keys.into_iter()
            .map(|(name, value)| (name, AttributeValue::S(value)))
            .collect(),
    )
}

fn place(key: HashMap<String, AttributeValue>) -> Option<String> {
    let keys: BTreeMap<String, String> = key
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_s().ok()?.clone())))
        .collect();
    (!keys.is_empty())
        .then(|| serde_json::to_string(&keys).ok())
        .flatten()
}

impl RouteWalk for DynamoStore {
    async fn known(
        &self,
        from: Option<&str>,
        items: u32,
        deadline: &Deadline,
    ) -> Result<KnownPage, StoreError> {
        let request = self
            .client
            .scan()
            .table_name(&self.table)
            .set_exclusive_start_key(from.and_then(start_key))
            .limit(i32::try_from(items).unwrap_or(i32::MAX));
        let page = Retry::new("Scan", deadline)
            .run(|| request.clone().send().map_err(|error| classify(&error)))
            .await?;
        let mut gathered = Gathered::default();
        for item in page.items.unwrap_or_default().into_iter().map(Item::from) {
            if item.is_route() {
                gathered.entry(&item.entry()?);
            } else if let Some(dependency) = item.dependency() {
                gathered.dependency(dependency);
            }
        }
        Ok(KnownPage {
            documents: gathered.into_documents(),
            next: page.last_evaluated_key.and_then(place),
        })
    }
}
