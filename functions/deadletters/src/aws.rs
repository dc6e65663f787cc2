//! The neighbours at AWS: two queues and a topic.

use aws_sdk_sqs::{
    error::DisplayErrorContext,
    types::{Message, MessageSystemAttributeName},
};

use crate::{
    letter::Letter,
    notice::Notice,
    step::{DeadLetterQueue, Notices},
};

/// A run is shorter than this, so no letter is looked at twice in one.
const HIDDEN_SECONDS: i32 = 120;

/// A dead-letter queue.
#[derive(Debug)]
pub struct SqsLetters {
    /// Client.
    pub client: aws_sdk_sqs::Client,
    /// URL of the queue.
    pub url: String,
}

fn letter(message: Message) -> Option<Letter> {
    let number = |name: &MessageSystemAttributeName| -> Option<i64> {
        message.attributes.as_ref()?.get(name)?.parse().ok()
    };
    let receive_count = number(&MessageSystemAttributeName::ApproximateReceiveCount).unwrap_or(0);
    Some(Letter {
        receive_count: u32::try_from(receive_count).unwrap_or(0),
        sent_at: number(&MessageSystemAttributeName::SentTimestamp).unwrap_or(0),
        message_id: message.message_id?,
        receipt: message.receipt_handle?,
        body: message.body.unwrap_or_default(),
    })
}

impl DeadLetterQueue for SqsLetters {
    async fn receive(&self) -> Result<Vec<Letter>, String> {
        let answer = self
            .client
            .receive_message()
            .queue_url(&self.url)
            .max_number_of_messages(10)
            .visibility_timeout(HIDDEN_SECONDS)
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount)
            .message_system_attribute_names(MessageSystemAttributeName::SentTimestamp)
            .send()
            .await
            .map_err(|error| DisplayErrorContext(error).to_string())?;
        Ok(answer
            .messages
            .unwrap_or_default()
            .into_iter()
            .filter_map(letter)
            .collect())
    }

    async fn delete(&self, letter: &Letter) -> Result<(), String> {
        let request = self.client.delete_message().queue_url(&self.url);
        let sent = request.receipt_handle(&letter.receipt).send().await;
        sent.map(drop)
            .map_err(|error| DisplayErrorContext(error).to_string())
    }

    async fn give_back(&self, letter: &Letter) -> Result<(), String> {
        let request = self.client.change_message_visibility().queue_url(&self.url);
        let sent = request
            .receipt_handle(&letter.receipt)
            .visibility_timeout(0)
            .send()
            .await;
        sent.map(drop)
            .map_err(|error| DisplayErrorContext(error).to_string())
    }
}

/// The topic of the alarms.
#[derive(Debug)]
pub struct SnsTopic {
    /// Client.
    pub client: aws_sdk_sns::Client,
    /// ARN of the topic.
    pub arn: String,
}

impl Notices for SnsTopic {
    async fn publish(&self, notice: &Notice) -> Result<(), String> {
        let sent = self
            .client
            .publish()
            .topic_arn(&self.arn)
            .subject(&notice.subject)
            .message(&notice.text)
            .send()
            .await;
        sent.map(drop)
            .map_err(|error| DisplayErrorContext(error).to_string())
    }
}
