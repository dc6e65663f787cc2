//! The operator's verbs.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};

use super::{DynamoLedger, create, errors, from_item, key, number, text, to_item};
use crate::{
    intervention::Intervention,
    item::{OutboxItem, State, Status},
    record::EventRecord,
    resend,
    store::{
        LedgerError, Written,
        operator::{Change, Happened, Inspection, Interventions, Request, StatePage},
    },
};

/// The index's keys are texts, all of them; so is the place where a page begins.
fn start_key(from: &str) -> Result<HashMap<String, AttributeValue>, LedgerError> {
    let keys: BTreeMap<String, String> = serde_json::from_str(from)
        .map_err(|_| LedgerError::Denied("`from` is not what an earlier page gave".to_owned()))?;
    Ok(keys
        .into_iter()
        .map(|(name, value)| (name, text(value)))
        .collect())
}

fn place(key: HashMap<String, AttributeValue>) -> Option<String> {
    let keys: BTreeMap<String, String> = key
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_s().ok()?.clone())))
        .collect();
    serde_json::to_string(&keys).ok()
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Applied => "applied",
        State::Ignored => "ignored",
        State::InReview => "in_review",
        State::Failed => "failed",
    }
}

impl Inspection for DynamoLedger {
    async fn by_state(
        &self,
        state: &str,
        since: &str,
        limit: u32,
        from: Option<&str>,
    ) -> Result<StatePage, LedgerError> {
        // An empty text would be no value for a key.
        let since = if since.is_empty() { "0" } else { since };
        let answer = self
            .client
            .query()
            .table_name(&self.outbox)
            .index_name("by_state")
            .key_condition_expression("state_key = :state AND received_at >= :since")
            .expression_attribute_values(":state", text(resend::state_key(state)))
            .expression_attribute_values(":since", text(since))
            .set_exclusive_start_key(from.map(start_key).transpose()?)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(errors::failed)?;
        let items = answer
            .items
            .unwrap_or_default()
            .into_iter()
            .map(from_item)
            .collect::<Result<Vec<OutboxItem>, _>>()?;
        Ok(StatePage {
            items,
            next: answer.last_evaluated_key.and_then(place),
        })
    }

    async fn evidence(&self, event_id: &str) -> Result<Option<EventRecord>, LedgerError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.events)
            .key("event_id", text(event_id))
            .consistent_read(true)
            .send()
            .await
            .map_err(errors::failed)?;
        answer.item.map(from_item).transpose()
    }

    async fn happened(&self, document_key: &str, limit: u32) -> Result<Vec<Happened>, LedgerError> {
        let answer = self
            .client
            .query()
            .table_name(&self.outbox)
            .consistent_read(true)
            .key_condition_expression("pk = :pk AND begins_with(sk, :history)")
            .expression_attribute_values(":pk", text(document_key))
            .expression_attribute_values(":history", text("Z#"))
            .scan_index_forward(false)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(errors::failed)?;
        let mut found = Vec::new();
        for item in answer.items.unwrap_or_default().into_iter().rev() {
            let by_operator = item
                .get("sk")
                .and_then(|sk| sk.as_s().ok())
                .is_some_and(|sk| Intervention::is_sort_key(sk));
            found.push(if by_operator {
                Happened::Operator(from_item(item)?)
            } else {
                Happened::Wake(from_item(item)?)
            });
        }
        Ok(found)
    }
}

impl DynamoLedger {
    fn changed(&self, item: &OutboxItem, change: &Change) -> Result<Update, LedgerError> {
        let update = Update::builder()
            .table_name(&self.outbox)
            .set_key(Some(key(&item.pk, &item.sk)))
            .expression_attribute_names("#state", "state")
            .expression_attribute_names("#status", "status")
            .expression_attribute_values(":from", text(state_name(item.state)));
        let (update, same) = match item.status {
            None => (update, "attribute_not_exists(#status)"),
            Some(status) => {
                let status = match status {
                    Status::Ready => "READY",
                    Status::Sent => "SENT",
                    Status::Dead => "DEAD",
                };
                (
                    update.expression_attribute_values(":was", text(status)),
                    "#status = :was",
                )
            }
        };
        let update = match change {
            Change::Accept => update
                .update_expression("SET #state = :to REMOVE #status, state_key")
                .condition_expression(format!("#state = :from AND {same} AND #state = :review"))
                .expression_attribute_values(":review", text("in_review"))
                .expression_attribute_values(":to", text("pending")),
            Change::Close { reason, expires_at } => update
                .update_expression(
                    "SET #state = :to, reason = :reason, expires_at = :expires REMOVE #status, state_key",
                )
                .condition_expression(format!(
                    "#state = :from AND {same} AND attribute_exists(state_key)"
                ))
                .expression_attribute_values(":to", text("ignored"))
                .expression_attribute_values(":reason", text(reason))
                .expression_attribute_values(":expires", number(expires_at)),
        };
        update.build().map_err(errors::built)
    }
}

impl Interventions for DynamoLedger {
    async fn intervene(&self, request: &Request) -> Result<Written, LedgerError> {
        let put = |put| TransactWriteItem::builder().put(put).build();
        let mut writes = vec![put(create(&self.outbox, to_item(&request.intervention)?, "pk")?)];
        if let Some((item, change)) = &request.change {
            let update = self.changed(item, change)?;
            writes.push(TransactWriteItem::builder().update(update).build());
        }
        if let Some(wake) = &request.wake {
            writes.push(put(create(&self.outbox, to_item(wake)?, "pk")?));
        }
        self.transact(writes).await
    }
}
