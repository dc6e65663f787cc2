//! Small states beside the documents, each written over the version that was read: breakers of targets, bookmarks of jobs.

use aws_sdk_dynamodb::types::Put;

use super::{DynamoLedger, errors, key, number, put_over, text};
use crate::store::{LedgerError, Written};

/// Where a state is.
pub(super) struct Place<'a> {
    pub(super) pk: String,
    pub(super) sk: &'a str,
    /// The attribute that holds it.
    pub(super) attribute: &'a str,
}

impl DynamoLedger {
    /// The state and its version; version 0 where there is none yet.
    pub(super) async fn versioned(&self, place: &Place<'_>) -> Result<(u64, Option<String>), LedgerError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.outbox)
            .set_key(Some(key(&place.pk, place.sk)))
            .consistent_read(true)
            .send()
            .await
            .map_err(errors::failed)?;
        let item = answer.item.unwrap_or_default();
        let version = item
            .get("version")
            .and_then(|version| version.as_n().ok())
            .and_then(|version| version.parse().ok())
            .unwrap_or(0);
        let state = item.get(place.attribute).and_then(|state| state.as_s().ok());
        Ok((version, state.cloned()))
    }

    /// Writes the state if it still is at `version`.
    pub(super) async fn set_versioned(
        &self,
        place: &Place<'_>,
        version: u64,
        state: &str,
    ) -> Result<Written, LedgerError> {
        let mut item = key(&place.pk, place.sk);
        item.insert("version".to_owned(), number(version + 1));
        item.insert(place.attribute.to_owned(), text(state));
        self.put(put_over(&self.outbox, item, version)?).await
    }

    /// One conditional put.
    pub(super) async fn put(&self, put: Put) -> Result<Written, LedgerError> {
        errors::conditional(
            self.client
                .put_item()
                .table_name(put.table_name)
                .set_item(Some(put.item))
                .set_condition_expression(put.condition_expression)
                .set_expression_attribute_names(put.expression_attribute_names)
                .set_expression_attribute_values(put.expression_attribute_values)
                .send()
                .await,
        )
    }
}
