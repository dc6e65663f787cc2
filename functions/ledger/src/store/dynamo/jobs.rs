//! The jobs' verbs.

use super::{DynamoLedger, create, errors, from_item, key, text, to_item, versioned::Place};
use crate::{
    item::OutboxItem,
    resend,
    store::{
        LedgerError, Written,
        jobs::{Bookmarks, Letters, Wakes},
    },
};

/// A job's bookmark, beside the documents: `JOB#<name>`, `BOOKMARK`.
fn place(job: &str) -> Place<'static> {
    Place {
        pk: format!("JOB#{job}"),
        sk: "BOOKMARK",
        attribute: "bookmark",
    }
}

impl DynamoLedger {
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
        self.versioned(&place(job)).await
    }

    async fn set_bookmark(&self, job: &str, version: u64, state: &str) -> Result<Written, LedgerError> {
        self.set_versioned(&place(job), version, state).await
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

    async fn fail(&self, item: &OutboxItem, reason: &str) -> Result<Written, LedgerError> {
        errors::conditional(
            self.client
                .update_item()
                .table_name(&self.outbox)
                .set_key(Some(key(&item.pk, &item.sk)))
                .update_expression(
                    "SET #state = :failed, reason = :reason, state_key = :key \
                     REMOVE #status, next_attempt, ready_shard",
                )
                .condition_expression("#state = :pending")
                .expression_attribute_names("#state", "state")
                .expression_attribute_names("#status", "status")
                .expression_attribute_values(":failed", text("failed"))
                .expression_attribute_values(":pending", text("pending"))
                .expression_attribute_values(":reason", text(reason))
                .expression_attribute_values(":key", text(resend::state_key("failed")))
                .send()
                .await,
        )
    }
}
