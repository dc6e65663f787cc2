//! The jobs' verbs.

use super::{DynamoLedger, create, errors, from_item, key, number, put_over, text, to_item};
use crate::{
    item::OutboxItem,
    resend,
    store::{
        LedgerError, Written,
        jobs::{Bookmarks, Letters, Wakes},
    },
};

const BOOKMARK: &str = "BOOKMARK";

impl DynamoLedger {
    async fn put(&self, put: aws_sdk_dynamodb::types::Put) -> Result<Written, LedgerError> {
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

    pub(super) async fn one_item(&self, pk: &str, sk: &str) -> Result<Option<OutboxItem>, LedgerError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.outbox)
            .set_key(Some(key(pk, sk)))
            .consistent_read(true)
            .send()
            .await
            .map_err(errors::failed)?;
        answer.item.map(from_item).transpose()
    }
}

impl Bookmarks for DynamoLedger {
    async fn bookmark(&self, job: &str) -> Result<(u64, Option<String>), LedgerError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.outbox)
            .set_key(Some(key(&format!("JOB#{job}"), BOOKMARK)))
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
        Ok((
            version,
            item.get("bookmark").and_then(|state| state.as_s().ok()).cloned(),
        ))
    }

    async fn set_bookmark(&self, job: &str, version: u64, state: &str) -> Result<Written, LedgerError> {
        let mut item = key(&format!("JOB#{job}"), BOOKMARK);
        item.insert("version".to_owned(), number(version + 1));
        item.insert("bookmark".to_owned(), text(state));
        self.put(put_over(&self.outbox, item, version)?).await
    }
}

impl Wakes for DynamoLedger {
    async fn wake(&self, item: &OutboxItem) -> Result<Written, LedgerError> {
        self.put(create(&self.outbox, to_item(item)?, "pk")?).await
    }
}

impl Letters for DynamoLedger {
    async fn item(&self, document_key: &str, sort_key: &str) -> Result<Option<OutboxItem>, LedgerError> {
        self.one_item(document_key, sort_key).await
    }

    async fn fail(&self, item: &OutboxItem, reason: &str, at: &str) -> Result<Written, LedgerError> {
        errors::conditional(
            self.client
                .update_item()
                .table_name(&self.outbox)
                .set_key(Some(key(&item.pk, &item.sk)))
                .update_expression(
                    "SET #state = :failed, reason = :reason, last_error = :reason, last_attempt = :at, \
                     state_key = :key REMOVE #status, next_attempt, ready_shard",
                )
                .condition_expression("#state = :pending")
                .expression_attribute_names("#state", "state")
                .expression_attribute_names("#status", "status")
                .expression_attribute_values(":failed", text("failed"))
                .expression_attribute_values(":pending", text("pending"))
                .expression_attribute_values(":reason", text(reason))
                .expression_attribute_values(":at", text(at))
                .expression_attribute_values(":key", text(resend::state_key("failed")))
                .send()
                .await,
        )
    }
}
