//! Recording an event: one transaction, two puts, both only if absent (law 2).

use aws_sdk_dynamodb::types::{ReturnValuesOnConditionCheckFailure, TransactWriteItem};
use platform::Deadline;

use super::{
    DynamoLedger, create,
    errors::{self, retrying},
    key, number, to_item,
};
use crate::{
    record::NewEvent,
    store::{LedgerError, Recorded, Recorder},
};

impl Recorder for DynamoLedger {
    async fn record(&self, event: &NewEvent, deadline: Deadline) -> Result<Recorded, LedgerError> {
        let mut evidence = create(&self.events, to_item(&event.record)?, "event_id")?;
        evidence.return_values_on_condition_check_failure = Some(ReturnValuesOnConditionCheckFailure::None);
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
            Ok(_) => Ok(Recorded::New),
            Err(places) if places.iter().any(|(place, _)| *place == 0) => Ok(Recorded::Duplicate),
            Err(_) => Err(LedgerError::Corrupt(format!(
                "outbox item {} is there without event {}",
                event.item.sk,
                event.event_id()
            ))),
        }
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
