//! Sanity's query API as the source.

use platform::Deadline;
use routing::config::RoutingQuery;
use sanity::query::{Client, QueryError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::source::{Dataset, Named, SourceError};

/// Asks Sanity's query API.
#[derive(Debug, Clone)]
pub struct SanityDataset {
    client: Client,
}

impl SanityDataset {
    /// A source that asks by this client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl From<QueryError> for SourceError {
    fn from(error: QueryError) -> Self {
        Self(error.to_string())
    }
}

#[derive(Debug, Deserialize)]
struct Row {
    #[serde(rename = "_id")]
    id: String,
    #[serde(rename = "_type")]
    document_type: String,
}

impl Dataset for SanityDataset {
    async fn page(
        &self,
        dataset: &str,
        document_type: Option<&str>,
        after: &str,
        limit: usize,
        deadline: Deadline,
    ) -> Result<Vec<Named>, SourceError> {
        let of_type = document_type.map_or("", |_| " && _type == $type");
        let query = format!("*[_id > $after{of_type}] | order(_id asc)[0...{limit}]{{_id,_type}}");
        let mut params = Map::from_iter([("after".to_owned(), json!(after))]);
        if let Some(document_type) = document_type {
            params.insert("type".to_owned(), json!(document_type));
        }
        let rows: Vec<Row> = self.client.query(dataset, &query, params, deadline).await?;
        Ok(rows
            .into_iter()
            .map(|row| Named {
                id: row.id,
                document_type: row.document_type,
            })
            .collect())
    }

    async fn rows(
        &self,
        dataset: &str,
        query: &RoutingQuery,
        deadline: Deadline,
    ) -> Result<Value, SourceError> {
        Ok(self
            .client
            .query(dataset, &query.groq, query.params.clone(), deadline)
            .await?)
    }
}
