//! From an SQS event to SQS's partial batch answer.

use std::{collections::BTreeSet, sync::Arc};

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent};
use ledger::store::{Breakers, Documents};
use platform::{Clock, Deadline};
use routing::store::RouteStore;
use tokio::task::JoinSet;

use crate::{
    batch::{Batch, MessageWithoutId},
    document::{Consumer, Woken},
    source::Source,
};

/// Handles a batch: each distinct document in a task of its own, so that a panic is that document's failure and no other's.
///
/// # Errors
/// Only when a record has no message id: then nothing could be reported, and the whole batch has to come again.
pub async fn handle<L, R, S, C>(
    consumer: Arc<Consumer<L, R, S, C>>,
    event: SqsEvent,
    deadline: Deadline,
) -> Result<SqsBatchResponse, MessageWithoutId>
where
    L: Documents + Breakers + 'static,
    R: RouteStore + 'static,
    S: Source + 'static,
    C: Clock + 'static,
{
    let batch = Batch::read(event)?;
    let mut wakes = JoinSet::new();
    let mut open: BTreeSet<(String, String)> = BTreeSet::new();
    for (document_key, named) in batch.documents() {
        open.extend(
            named
                .iter()
                .map(|sort_key| (document_key.clone(), sort_key.clone())),
        );
        let consumer = consumer.clone();
        wakes.spawn(async move {
            let answer = consumer.wake(&document_key, &named, deadline).await;
            (document_key, named, answer)
        });
    }
    // What is still open at the end has failed: its task reported a failure, or panicked and reported nothing.
    while let Some(woken) = wakes.join_next().await {
        match woken {
            Ok((document_key, named, Ok(answer))) => {
                for sort_key in named
                    .into_iter()
                    .filter(|sort_key| !answer.unknown.contains(sort_key))
                {
                    open.remove(&(document_key.clone(), sort_key));
                }
                match answer.woken {
                    Woken::PutOff(why) => tracing::info!(document_key, why, "woken and put off"),
                    woken => tracing::info!(document_key, ?woken, "woken"),
                }
            }
            Ok((document_key, _, Err(failure))) => {
                tracing::error!(document_key, error = %failure, "a document could not be handled");
            }
            Err(panic) => tracing::error!(error = %panic, "a document's task ended without an answer"),
        }
    }
    let failures = batch.failures(&open);
    consumer.metrics.count("RecordsFailed", failures.len() as u64);
    let failures = failures.into_iter().map(|message_id| {
        let mut failure = BatchItemFailure::default();
        failure.item_identifier = message_id;
        failure
    });
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = failures.collect();
    Ok(response)
}
