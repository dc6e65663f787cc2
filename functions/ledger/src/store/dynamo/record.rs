//! Recording an event: one transaction, two puts, both only if absent (law 2).

use aws_sdk_dynamodb::types::{ReturnValuesOnConditionCheckFailure, TransactWriteItem};
use platform::Deadline;

use super::{
    DynamoLedger, Item, create,
    errors::{self, retrying},
    key, number, to_item,
};
use crate::{
    duplicate::Held,
    record::NewEvent,
    store::{LedgerError, Recorded, Recorder},
};

impl DynamoLedger {
    /// The two puts; the error is the held evidence, as far as the table shows it.
    async fn put_both(
        &self,
        event: &NewEvent,
        deadline: Deadline,
    ) -> Result<Result<(), Option<Item>>, LedgerError> {
        let mut evidence = create(&self.events, to_item(&event.record)?, "event_id")?;
        evidence.return_values_on_condition_check_failure = Some(ReturnValuesOnConditionCheckFailure::AllOld);
        let outbox = create(&self.outbox, to_item(&event.item)?, "pk")?;
        let outcome = retrying(deadline, || async {
            self.client
                .transact_write_items()
                .transact_items(TransactWriteItem::builder().put(evidence.clone()).build())
                .transact_items(TransactWriteItem::builder().put(outbox.clone()).build())
                .send()
                .await
                .map_err(errors::cancelled)
        })
        .await?;
        match outcome {
            Ok(_) => Ok(Ok(())),
            Err(places) => match places.into_iter().find(|(place, _)| *place == 0) {
                Some((_, reason)) => Ok(Err(reason.item)),
                None => Err(LedgerError::Corrupt(format!(
                    "outbox item {} is there without event {}",
                    event.item.sk,
                    event.event_id()
                ))),
            },
        }
    }
}

impl Recorder for DynamoLedger {
    async fn record(&self, event: &NewEvent, deadline: Deadline) -> Result<Recorded, LedgerError> {
        let Err(held) = self.put_both(event, deadline).await? else {
            return Ok(Recorded::New);
        };
        // What a condition on evidence that is there already shows of it. Before the answer: once Sanity has its 200 it does
        // not say this again.
        if let Some(held) = held
            && let Ok(held) = serde_dynamo::from_item::<_, Held>(held)
            && let Some(addition) = event.adds_to(&held)
            && self.put_both(addition.event(), deadline).await?.is_ok()
        {
            return Ok(Recorded::of(&addition));
        }
        Ok(Recorded::Duplicate)
    }

    async fn count_delivery(&self, event: &NewEvent) -> Result<(), LedgerError> {
        // The key of an event without a signed time depends on when it was first received, which is not read back here:
        // the role can put evidence, not get it. Such a delivery stays uncounted, as a best effort may.
        self.client
            .update_item()
            .table_name(&self.outbox)
            .set_key(Some(key(&event.item.pk, &event.item.sk)))
            .update_expression("ADD deliveries :one")
            .condition_expression("attribute_exists(pk)")
            .expression_attribute_values(":one", number(1))
            .send()
            .await
            .map(|_| ())
            .or_else(|error| errors::conditional::<(), _, _>(Err(error)).map(|_| ()))
    }
}
