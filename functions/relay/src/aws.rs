//! The relay's neighbours at AWS: the FIFO queue and the Pipe.

use aws_sdk_pipes::types::PipeState;
use aws_sdk_sqs::{error::ProvideErrorMetadata, types::SendMessageBatchRequestEntry};

use crate::step::{Outgoing, Pipe, Queue};

/// The FIFO queue. No message carries a delay of its own: a FIFO queue refuses that, its own delay counts.
#[derive(Debug)]
pub struct SqsQueue {
    /// Client.
    pub client: aws_sdk_sqs::Client,
    /// URL of the queue.
    pub url: String,
}

impl Queue for SqsQueue {
    async fn send(&self, messages: &[Outgoing]) -> Vec<Option<String>> {
        let mut entries = Vec::with_capacity(messages.len());
        for (place, message) in messages.iter().enumerate() {
            let entry = SendMessageBatchRequestEntry::builder()
                .id(place.to_string())
                .message_body(&message.body)
                .message_group_id(&message.group)
                .message_deduplication_id(&message.deduplication_id)
                .build();
            match entry {
                Ok(entry) => entries.push(entry),
                Err(error) => return vec![Some(error.to_string()); messages.len()],
            }
        }
        let sent = self
            .client
            .send_message_batch()
            .queue_url(&self.url)
            .set_entries(Some(entries))
            .send()
            .await;
        let mut answers = vec![Some("not mentioned in the answer".to_owned()); messages.len()];
        match sent {
            Ok(answer) => {
                for taken in answer.successful() {
                    if let Some(place) = taken
                        .id()
                        .parse::<usize>()
                        .ok()
                        .and_then(|at| answers.get_mut(at))
                    {
                        *place = None;
                    }
                }
                for refused in answer.failed() {
                    if let Some(place) = refused
                        .id()
                        .parse::<usize>()
                        .ok()
                        .and_then(|at| answers.get_mut(at))
                    {
                        *place = Some(refused.code().to_owned());
                    }
                }
            }
            Err(error) => answers.fill(Some(
                error.code().unwrap_or("the queue is unreachable").to_owned(),
            )),
        }
        answers
    }
}

/// The Pipe from the outbox to the queue.
#[derive(Debug)]
pub struct EventBridgePipe {
    /// Client.
    pub client: aws_sdk_pipes::Client,
    /// Name of the Pipe.
    pub name: String,
}

impl Pipe for EventBridgePipe {
    async fn is_running(&self) -> Result<bool, String> {
        let answer = self
            .client
            .describe_pipe()
            .name(&self.name)
            .send()
            .await
            .map_err(|error| {
                error
                    .code()
                    .unwrap_or("EventBridge Pipes is unreachable")
                    .to_owned()
            })?;
        let running = answer.current_state() == Some(&PipeState::Running);
        if !running {
            tracing::error!(
                state = answer.current_state().map_or("unknown", PipeState::as_str),
                reason = answer.state_reason().unwrap_or(""),
                "the Pipe does not run; the relay forwards in its place"
            );
        }
        Ok(running)
    }
}
