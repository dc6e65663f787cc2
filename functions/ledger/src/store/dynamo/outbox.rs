//! The relay's verbs: the sparse READY index, claims, marks and the end of an item.

use std::collections::{BTreeMap, HashMap};

use super::{DynamoLedger, Item, errors, key, number, text};
use crate::{
    head::Head,
    item::OutboxItem,
    resend::{self, Claim},
    store::{DueCursor, DuePage, LedgerError, Mark, Outbox, Ready, Written},
};

const INDEX: &str = "ready";
const PAGE: i32 = 200;
/// Items looked at in one shard: beyond, the count is "at least".
const COUNTED: u64 = 5_000;

fn text_of(item: &Item, name: &str) -> Option<String> {
    item.get(name)?.as_s().ok().cloned()
}

fn number_of(item: &Item, name: &str) -> Option<i64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

/// The index's keys are texts but for the next attempt; the cursor keeps all of them as text.
fn cursor_of(last: Item) -> DueCursor {
    let mut cursor = BTreeMap::new();
    for (name, value) in last {
        if let Ok(value) = value.as_s().or_else(|_| value.as_n()) {
            cursor.insert(name, value.clone());
        }
    }
    DueCursor(cursor)
}

fn start_key(cursor: DueCursor) -> HashMap<String, aws_sdk_dynamodb::types::AttributeValue> {
    let value = |name: &str, value: String| {
        if name == "next_attempt" {
            number(value)
        } else {
            text(value)
        }
    };
    cursor
        .0
        .into_iter()
        .map(|(name, held)| (name.clone(), value(&name, held)))
        .collect()
}

impl Outbox for DynamoLedger {
    async fn due(&self, shard: &str, until: i64, from: Option<DueCursor>) -> Result<DuePage, LedgerError> {
        let answer = self
            .client
            .query()
            .table_name(&self.outbox)
            .index_name(INDEX)
            .key_condition_expression("ready_shard = :shard AND next_attempt <= :until")
            .expression_attribute_values(":shard", text(shard))
            .expression_attribute_values(":until", number(until))
            .set_exclusive_start_key(from.map(start_key))
            .limit(PAGE)
            .send()
            .await
            .map_err(errors::failed)?;
        let keys = answer
            .items
            .unwrap_or_default()
            .iter()
            .filter_map(|item| {
                Some((
                    text_of(item, "pk")?,
                    text_of(item, "sk")?,
                    number_of(item, "next_attempt")?,
                ))
            })
            .collect();
        Ok(DuePage {
            keys,
            next: answer.last_evaluated_key.map(cursor_of),
        })
    }

    async fn ready(&self, shard: &str) -> Result<Ready, LedgerError> {
        let mut pages = self
            .client
            .query()
            .table_name(&self.outbox)
            .index_name(INDEX)
            .key_condition_expression("ready_shard = :shard")
            .expression_attribute_values(":shard", text(shard))
            .projection_expression("accepted_at")
            .into_paginator()
            .items()
            .send();
        let mut ready = Ready::default();
        while let Some(item) = pages.next().await {
            let item = item.map_err(errors::failed)?;
            ready.count += 1;
            ready.oldest_accepted_at = [ready.oldest_accepted_at, number_of(&item, "accepted_at")]
                .into_iter()
                .flatten()
                .min();
            if ready.count >= COUNTED {
                break;
            }
        }
        Ok(ready)
    }

    async fn item_and_head(
        &self,
        document_key: &str,
        sort_key: &str,
    ) -> Result<Option<(OutboxItem, Head)>, LedgerError> {
        let Some(item) = self.one_item(document_key, sort_key).await? else {
            return Ok(None);
        };
        Ok(Some((item, self.head(document_key).await?)))
    }

    async fn claim(
        &self,
        item: &OutboxItem,
        claim: &Claim,
        message_group_id: &str,
    ) -> Result<Written, LedgerError> {
        errors::conditional(
            self.client
                .update_item()
                .table_name(&self.outbox)
                .set_key(Some(key(&item.pk, &item.sk)))
                .update_expression(
                    "SET resends = :resends, attempts = :attempts, next_attempt = :next, \
                     message_group_id = :group, message_deduplication_id = :id",
                )
                .condition_expression("#status = :ready AND resends = :seen AND next_attempt = :due")
                .expression_attribute_names("#status", "status")
                .expression_attribute_values(":ready", text("READY"))
                .expression_attribute_values(":seen", number(item.resends))
                .expression_attribute_values(":due", number(item.next_attempt.unwrap_or_default()))
                .expression_attribute_values(":resends", number(claim.resends))
                .expression_attribute_values(":attempts", number(claim.attempts))
                .expression_attribute_values(":next", number(claim.next_attempt))
                .expression_attribute_values(":group", text(message_group_id))
                .expression_attribute_values(":id", text(&claim.message_deduplication_id))
                .send()
                .await,
        )
    }

    async fn unclaim(
        &self,
        item: &OutboxItem,
        claim: &Claim,
        next_attempt: i64,
    ) -> Result<Written, LedgerError> {
        errors::conditional(
            self.client
                .update_item()
                .table_name(&self.outbox)
                .set_key(Some(key(&item.pk, &item.sk)))
                .update_expression("SET attempts = :before, next_attempt = :next")
                .condition_expression("#status = :ready AND resends = :claimed AND attempts = :attempts")
                .expression_attribute_names("#status", "status")
                .expression_attribute_values(":ready", text("READY"))
                .expression_attribute_values(":claimed", number(claim.resends))
                .expression_attribute_values(":attempts", number(claim.attempts))
                .expression_attribute_values(":before", number(item.attempts))
                .expression_attribute_values(":next", number(next_attempt))
                .send()
                .await,
        )
    }

    async fn settle(&self, item: &OutboxItem, mark: &Mark) -> Result<Written, LedgerError> {
        self.mark_item(item, mark).await
    }

    async fn bury(&self, item: &OutboxItem, reason: &str) -> Result<Written, LedgerError> {
        errors::conditional(
            self.client
                .update_item()
                .table_name(&self.outbox)
                .set_key(Some(key(&item.pk, &item.sk)))
                .update_expression(
                    "SET #status = :dead, reason = :reason, state_key = :state REMOVE next_attempt, ready_shard",
                )
                .condition_expression("#status = :ready AND next_attempt = :due")
                .expression_attribute_names("#status", "status")
                .expression_attribute_values(":dead", text("DEAD"))
                .expression_attribute_values(":ready", text("READY"))
                .expression_attribute_values(":due", number(item.next_attempt.unwrap_or_default()))
                .expression_attribute_values(":reason", text(reason))
                .expression_attribute_values(":state", text(resend::state_key("dead")))
                .send()
                .await,
        )
    }
}
