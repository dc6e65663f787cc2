//! Sanity's query API as the source.

use std::collections::BTreeMap;

use ledger::item::Seen;
use platform::Deadline;
use sanity::query::{Client, QueryError};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::source::{Lake, Place, Shown, SourceError};

/// What is asked of each document. The slug only where most studios have it: what else a page is called, the cascade finds out
/// by the routing query.
const FIELDS: &str = r#"{_id,_type,_rev,_updatedAt,"slug":slug.current}"#;
const NEWEST: &str = "*[defined(_updatedAt)] | order(_updatedAt desc)[0]._updatedAt";

/// Asks Sanity's query API.
#[derive(Debug, Clone)]
pub struct SanityLake {
    client: Client,
}

impl SanityLake {
    /// A source on this client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl From<QueryError> for SourceError {
    fn from(error: QueryError) -> Self {
        Self {
            what: error.to_string(),
            retry_after: error.retry_after(),
        }
    }
}

#[derive(Debug, Deserialize)]
struct Row {
    #[serde(rename = "_id")]
    id: String,
    #[serde(rename = "_type")]
    document_type: String,
    #[serde(rename = "_rev")]
    revision: String,
    #[serde(rename = "_updatedAt")]
    updated_at: String,
    #[serde(default)]
    slug: Value,
}

impl Row {
    fn shown(self) -> Shown {
        // A time that cannot be read orders as the oldest: the event then is late, and consults the source all the same.
        let second =
            OffsetDateTime::parse(&self.updated_at, &Rfc3339).map_or(0, OffsetDateTime::unix_timestamp);
        Shown {
            place: Place {
                at: self.updated_at,
                id: self.id,
            },
            document_type: self.document_type,
            seen: Seen {
                revision: self.revision,
                second,
            },
            slug: self
                .slug
                .as_str()
                .filter(|slug| !slug.is_empty())
                .map(str::to_owned),
        }
    }
}

impl Lake for SanityLake {
    async fn changed(
        &self,
        dataset: &str,
        after: &Place,
        limit: usize,
        deadline: Deadline,
    ) -> Result<Vec<Shown>, SourceError> {
        let query = format!(
            "*[_updatedAt > $at || (_updatedAt == $at && _id > $id)] \
             | order(_updatedAt asc, _id asc)[0...{limit}]{FIELDS}"
        );
        let params = Map::from_iter([
            ("at".to_owned(), json!(after.at)),
            ("id".to_owned(), json!(after.id)),
        ]);
        let rows: Vec<Row> = self.client.query(dataset, &query, params, deadline).await?;
        Ok(rows.into_iter().map(Row::shown).collect())
    }

    async fn newest(&self, dataset: &str, deadline: Deadline) -> Result<Option<String>, SourceError> {
        Ok(self.client.query(dataset, NEWEST, Map::new(), deadline).await?)
    }

    async fn shown(
        &self,
        dataset: &str,
        ids: &[String],
        deadline: Deadline,
    ) -> Result<BTreeMap<String, Shown>, SourceError> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let params = Map::from_iter([("ids".to_owned(), json!(ids))]);
        let query = format!("*[_id in $ids]{FIELDS}");
        let rows: Vec<Row> = self.client.query(dataset, &query, params, deadline).await?;
        Ok(rows
            .into_iter()
            .map(|row| (row.id.clone(), row.shown()))
            .collect())
    }
}
