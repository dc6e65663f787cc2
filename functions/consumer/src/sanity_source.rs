//! Sanity's query API as the consumer's source.

use ledger::item::Seen;
use platform::Deadline;
use routing::config::RoutingQuery;
use sanity::query::{Client, QueryError, observe};
use serde_json::Value;

use crate::source::{Shown, Source, SourceError};

/// Asks Sanity: the fence with a query of its own, the cascade with the queries of `routes.toml`.
#[derive(Debug, Clone)]
pub struct SanitySource {
    client: Client,
}

impl SanitySource {
    /// A source that asks by this client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl From<QueryError> for SourceError {
    fn from(error: QueryError) -> Self {
        // Also where a query cannot be answered: until it is mended the event stays READY and visible.
        Self {
            what: error.to_string(),
            retry_after: error.retry_after(),
        }
    }
}

impl Source for SanitySource {
    async fn observe(&self, dataset: &str, ids: &[String], deadline: Deadline) -> Result<Shown, SourceError> {
        let observed = observe(&self.client, dataset, ids, deadline).await?;
        let shown = observed.into_iter().filter_map(|(id, observed)| {
            let observed = observed?;
            let second = observed
                .updated_at
                .map_or(0, time::OffsetDateTime::unix_timestamp);
            Some((
                id,
                Seen {
                    revision: observed.revision,
                    second,
                },
            ))
        });
        Ok(shown.collect())
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
