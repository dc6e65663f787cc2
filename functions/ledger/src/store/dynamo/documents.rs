//! The consumer's verbs on a document's partition.

use std::time::Duration;

use aws_sdk_dynamodb::types::{ConditionCheck, Delete, TransactWriteItem};
use platform::{Deadline, fault_point};

use super::{
    DynamoLedger, Item, create,
    errors::{self, retrying},
    from_item, key, keyed, mark_update, number, put_over, text, to_item,
};
use crate::{
    head::Head,
    item::OutboxItem,
    plan::PlanChunk,
    resend,
    store::{Advance, Deferral, DocumentState, Documents, LedgerError, Mark, Written},
};

/// A transaction of the consumer may be retried this long; the visibility timeout leaves room for it.
const RETRY: Duration = Duration::from_secs(5);
/// Chunks written in one transaction: 12 of at most 200 KB stay below DynamoDB's 4 MB.
pub(super) const CHUNKS_A_TRANSACTION: usize = 12;

impl DynamoLedger {
    pub(super) async fn transact(&self, writes: Vec<TransactWriteItem>) -> Result<Written, LedgerError> {
        let outcome = retrying(Deadline::after(RETRY), || async {
            self.client
                .transact_write_items()
                .set_transact_items(Some(writes.clone()))
                .send()
                .await
                .map_err(errors::cancelled)
        })
        .await?;
        Ok(if outcome.is_ok() {
            Written::Done
        } else {
            Written::Moved
        })
    }

    fn head_is_at(&self, document_key: &str, version: u64) -> Result<TransactWriteItem, LedgerError> {
        let check = ConditionCheck::builder()
            .table_name(&self.outbox)
            .set_key(Some(key(document_key, "HEAD")));
        let check = if version == 0 {
            check.condition_expression("attribute_not_exists(pk)")
        } else {
            check
                .condition_expression("#version = :version")
                .expression_attribute_names("#version", "version")
                .expression_attribute_values(":version", number(version))
        };
        let check = check.build().map_err(errors::built)?;
        Ok(TransactWriteItem::builder().condition_check(check).build())
    }

    pub(super) async fn head(&self, document_key: &str) -> Result<Head, LedgerError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.outbox)
            .set_key(Some(key(document_key, "HEAD")))
            .consistent_read(true)
            .send()
            .await
            .map_err(errors::failed)?;
        answer.item.map_or_else(|| Ok(Head::default()), from_item)
    }
}

impl Documents for DynamoLedger {
    async fn read(&self, document_key: &str, sort_key: &str) -> Result<DocumentState, LedgerError> {
        let head = self.head(document_key).await?;
        let mut state = DocumentState::default();
        let mut pages = self
            .client
            .query()
            .table_name(&self.outbox)
            .consistent_read(true)
            .key_condition_expression("pk = :pk AND sk BETWEEN :from AND :to")
            .expression_attribute_values(":pk", text(document_key))
            .expression_attribute_values(":from", text(head.read_from(sort_key)))
            .expression_attribute_values(":to", text("PLAN#~"))
            .into_paginator()
            .items()
            .send();
        while let Some(item) = pages.next().await {
            let item: Item = item.map_err(errors::failed)?;
            let sk = item
                .get("sk")
                .and_then(|sk| sk.as_s().ok())
                .cloned()
                .unwrap_or_default();
            if sk.starts_with("PLAN#") {
                state.chunks.push(from_item(item)?);
            } else if sk.starts_with("E#") {
                state.items.push(from_item(item)?);
            }
        }
        state.head = head;
        Ok(state)
    }

    async fn event_exists(&self, event_id: &str) -> Result<bool, LedgerError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.events)
            .key("event_id", text(event_id))
            .projection_expression("event_id")
            .consistent_read(true)
            .send()
            .await
            .map_err(errors::failed)?;
        Ok(answer.item.is_some())
    }

    async fn put_plan(
        &self,
        document_key: &str,
        head_version: u64,
        chunks: &[PlanChunk],
    ) -> Result<Written, LedgerError> {
        let mut sorted: Vec<&PlanChunk> = chunks.iter().collect();
        // Chunk 0 carries the mark of completeness, so it is in the last transaction.
        sorted.sort_by_key(|chunk| std::cmp::Reverse(chunk.number));
        for group in sorted.chunks(self.chunks_a_transaction) {
            let mut writes = vec![self.head_is_at(document_key, head_version)?];
            for chunk in group {
                let item = keyed(document_key, &PlanChunk::sort_key(chunk.number), chunk)?;
                let put = put_over(&self.outbox, item, chunk.version - 1)?;
                writes.push(TransactWriteItem::builder().put(put).build());
            }
            if self.transact(writes).await? == Written::Moved {
                return Ok(Written::Moved);
            }
            fault_point!("ledger.plan-part-stored");
        }
        Ok(Written::Done)
    }

    async fn confirm(&self, document_key: &str, chunk: &PlanChunk) -> Result<Written, LedgerError> {
        let item = keyed(document_key, &PlanChunk::sort_key(chunk.number), chunk)?;
        errors::conditional(
            self.client
                .put_item()
                .table_name(&self.outbox)
                .set_item(Some(item))
                .condition_expression("#version = :from")
                .expression_attribute_names("#version", "version")
                .expression_attribute_values(":from", number(chunk.version - 1))
                .send()
                .await,
        )
    }

    async fn advance(&self, advance: &Advance) -> Result<Written, LedgerError> {
        let head = keyed(&advance.document_key, "HEAD", &advance.head)?;
        let put = |put| TransactWriteItem::builder().put(put).build();
        let mut writes = vec![put(put_over(&self.outbox, head, advance.from_version)?)];
        for chunk in &advance.chunks {
            let delete = Delete::builder()
                .table_name(&self.outbox)
                .set_key(Some(key(
                    &advance.document_key,
                    &PlanChunk::sort_key(chunk.number),
                )))
                .condition_expression("#version = :version")
                .expression_attribute_names("#version", "version")
                .expression_attribute_values(":version", number(chunk.version))
                .build()
                .map_err(errors::built)?;
            writes.push(TransactWriteItem::builder().delete(delete).build());
        }
        for wake in &advance.wakes {
            writes.push(put(create(&self.outbox, to_item(wake)?, "pk")?));
        }
        writes.push(put(create(&self.outbox, to_item(&advance.history)?, "pk")?));
        self.transact(writes).await
    }

    async fn mark(&self, item: &OutboxItem, mark: &Mark) -> Result<Written, LedgerError> {
        self.mark_item(item, mark).await
    }

    async fn set_aside(&self, item: &OutboxItem, reason: &str, at: &str) -> Result<Written, LedgerError> {
        errors::conditional(
            self.client
                .update_item()
                .table_name(&self.outbox)
                .set_key(Some(key(&item.pk, &item.sk)))
                .update_expression(
                    "SET #state = :review, reason = :reason, last_attempt = :at, state_key = :key \
                     REMOVE #status, next_attempt, ready_shard",
                )
                .condition_expression("#state IN (:pending, :failed)")
                .expression_attribute_names("#state", "state")
                .expression_attribute_names("#status", "status")
                .expression_attribute_values(":review", text("in_review"))
                .expression_attribute_values(":pending", text("pending"))
                .expression_attribute_values(":failed", text("failed"))
                .expression_attribute_values(":reason", text(reason))
                .expression_attribute_values(":at", text(at))
                .expression_attribute_values(":key", text(resend::state_key("in_review")))
                .send()
                .await,
        )
    }

    async fn defer(&self, item: &OutboxItem, deferral: &Deferral) -> Result<Written, LedgerError> {
        errors::conditional(
            self.client
                .update_item()
                .table_name(&self.outbox)
                .set_key(Some(key(&item.pk, &item.sk)))
                .update_expression(
                    "SET next_attempt = :next, attempts = :none, last_error = :error, last_attempt = :at \
                     ADD defers :one",
                )
                .condition_expression("#status = :ready")
                .expression_attribute_names("#status", "status")
                .expression_attribute_values(":ready", text("READY"))
                .expression_attribute_values(":next", number(deferral.next_attempt))
                .expression_attribute_values(":none", number(0))
                .expression_attribute_values(":one", number(1))
                .expression_attribute_values(":error", text(&deferral.error))
                .expression_attribute_values(":at", text(&deferral.at))
                .send()
                .await,
        )
    }
}

impl DynamoLedger {
    pub(super) async fn mark_item(&self, item: &OutboxItem, mark: &Mark) -> Result<Written, LedgerError> {
        let update = mark_update(&self.outbox, item, mark)?;
        errors::conditional(
            self.client
                .update_item()
                .table_name(update.table_name)
                .set_key(Some(update.key))
                .update_expression(update.update_expression)
                .set_condition_expression(update.condition_expression)
                .set_expression_attribute_names(update.expression_attribute_names)
                .set_expression_attribute_values(update.expression_attribute_values)
                .send()
                .await,
        )
    }
}
