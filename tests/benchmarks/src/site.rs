//! A site of many pages: each shows a banner that it shares with forty-nine others, and an author.

use std::collections::HashMap;

use aws_sdk_dynamodb::{
    Client,
    types::{AttributeValue, PutRequest, WriteRequest},
};
use futures::stream::{self, TryStreamExt};
use routing::{DocumentRef, Route, store::dynamo::items_of};
use serde_json::{Value, json};

use crate::{Failure, scan, size};

/// The dataset.
pub const DATASET: &str = "production";
/// Pages that show one banner.
pub const DEPENDANTS: usize = 50;
const PAGES_OF_AN_AUTHOR: usize = 1000;
const SECOND: i64 = 1_900_000_000;
const UPDATED: &str = "2030-03-17T17:46:40Z";
/// Items that one BatchWriteItem takes.
const BATCH: usize = 25;
const AT_ONCE: usize = 8;

/// The banner that changes.
pub fn component() -> DocumentRef {
    DocumentRef::new(DATASET, "banner-1")
}

/// Page number `number`.
pub fn page(number: usize) -> Route {
    let mut route = Route {
        dataset: DATASET.to_owned(),
        document_id: format!("page-{number}"),
        document_type: "page".to_owned(),
        graphql_type: "Page".to_owned(),
        route: "default".to_owned(),
        slug: format!(
            "/section-{}/a-page-with-a-name-of-some-length-{number}",
            number / 100
        ),
        dependencies: vec![
            format!("author-{}", number / PAGES_OF_AN_AUTHOR),
            format!("banner-{}", number / DEPENDANTS),
        ],
        source_revision: format!("revision-of-page-{number}"),
        source_second: SECOND,
        item_hash: String::new(),
        version: 1,
    };
    route.item_hash = route.content_hash();
    route
}

/// The routing query's answer for these documents.
pub fn rows(ids: &[String]) -> Value {
    let row = |id: &String| match id.strip_prefix("page-").and_then(|number| number.parse().ok()) {
        Some(number) => {
            let page = page(number);
            json!({
                "_id": id, "_type": "page", "_rev": page.source_revision, "_updatedAt": UPDATED,
                "routes": [{"route": page.route, "slug": page.slug}], "dependencies": page.dependencies,
            })
        }
        None => json!({
            "_id": id, "_type": "banner", "_rev": "changed", "_updatedAt": UPDATED, "routes": [], "dependencies": [],
        }),
    };
    ids.iter().map(row).collect()
}

/// What a table holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Items.
    pub items: usize,
    /// Their bytes.
    pub bytes: usize,
}

impl Loaded {
    /// Both together.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            items: self.items + more.items,
            bytes: self.bytes + more.bytes,
        }
    }
}

/// Puts the pages from number `from` up to `to` into the routes table, with edges and pointers as the store writes them.
///
/// # Errors
/// The database refused.
pub async fn load(client: &Client, table: &str, from: usize, to: usize) -> Result<Loaded, Failure> {
    let mut items = Vec::new();
    for number in from..to {
        items.extend(items_of(&page(number))?);
    }
    put(client, table, items).await
}

/// Puts the same pages into a table of routes alone, see [`scan`].
///
/// # Errors
/// The database refused.
pub async fn load_routes_alone(
    client: &Client,
    table: &str,
    from: usize,
    to: usize,
) -> Result<Loaded, Failure> {
    put(
        client,
        table,
        (from..to).map(|number| scan::item(&page(number))).collect(),
    )
    .await
}

async fn put(
    client: &Client,
    table: &str,
    items: Vec<HashMap<String, AttributeValue>>,
) -> Result<Loaded, Failure> {
    let loaded = Loaded {
        items: items.len(),
        bytes: items.iter().map(size::item).sum(),
    };
    stream::iter(items.chunks(BATCH).map(Ok::<_, Failure>))
        .try_for_each_concurrent(AT_ONCE, |batch| async move {
            let put = |item: &HashMap<_, _>| {
                let put = PutRequest::builder().set_item(Some(item.clone())).build()?;
                Ok::<_, Failure>(WriteRequest::builder().put_request(put).build())
            };
            let mut left = batch.iter().map(put).collect::<Result<Vec<_>, _>>()?;
            while !left.is_empty() {
                let request = client.batch_write_item().request_items(table, left);
                let answer = request.send().await?;
                left = answer
                    .unprocessed_items
                    .and_then(|mut tables| tables.remove(table))
                    .unwrap_or_default();
            }
            Ok(())
        })
        .await?;
    Ok(loaded)
}
