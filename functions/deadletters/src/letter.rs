//! What a dead letter says.

use ledger::message::Message;
use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// A message of a dead-letter queue, received and not deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// SQS's id.
    pub message_id: String,
    /// What deletes it, or gives it back.
    pub receipt: String,
    /// Its body. Never logged.
    pub body: String,
    /// How often it was received, here and before it came here.
    pub receive_count: u32,
    /// When it was sent, epoch milliseconds.
    pub sent_at: i64,
}

/// A letter of the queue's dead-letter queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromQueue {
    /// A wake-up that no consumer took.
    Wake(Message),
    /// Nothing of ours.
    Foreign(String),
}

/// A letter of the Pipe's dead-letter queue. It never carries what was to be forwarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromPipe {
    /// A range of the stream that the Pipe gave up on.
    Range {
        /// Why, as the Pipe says.
        condition: String,
        /// Items written up to here may be among it, epoch milliseconds.
        until: i64,
        /// How many records, as far as it says.
        records: u64,
    },
    /// No range: what a new Pipe sends to see whether it can, or something foreign. No event is behind it.
    Other,
}

impl Letter {
    /// Reads a letter of the queue's dead-letter queue.
    pub fn as_wake(&self) -> FromQueue {
        match Message::read(&self.body) {
            Ok(message) => FromQueue::Wake(message),
            Err(error) => FromQueue::Foreign(error.to_string()),
        }
    }

    /// Reads a letter of the Pipe's dead-letter queue. Only `DDBStreamBatchInfo` counts: around it the shapes differ.
    pub fn as_range(&self) -> FromPipe {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let Some(range) = body.get("DDBStreamBatchInfo").and_then(Value::as_object) else {
            return FromPipe::Other;
        };
        let time = |name: &str| {
            let text = range.get(name)?.as_str()?;
            let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
            Some(ledger::record::milliseconds(at))
        };
        let condition = ["context", "requestContext"]
            .iter()
            .find_map(|name| body.get(name)?.get("condition")?.as_str());
        FromPipe::Range {
            condition: condition.unwrap_or("not said").chars().take(100).collect(),
            until: time("approximateArrivalOfLastRecord").unwrap_or(self.sent_at),
            records: range.get("batchSize").and_then(Value::as_u64).unwrap_or(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(body: &str) -> Letter {
        Letter {
            message_id: "m".to_owned(),
            receipt: "r".to_owned(),
            body: body.to_owned(),
            receive_count: 4,
            sent_at: 7,
        }
    }

    #[test]
    fn the_pipes_letter_is_read_whatever_is_around_its_range() {
        let range = r#""DDBStreamBatchInfo":{"shardId":"s","startSequenceNumber":"1","endSequenceNumber":"2",
            "approximateArrivalOfFirstRecord":"2026-01-01T00:00:00Z","approximateArrivalOfLastRecord":"2026-01-01T00:00:01Z",
            "batchSize":2,"streamArn":"arn"}"#;
        for (around, condition) in [
            (
                r#""context":{"condition":"RetryAttemptsExhausted"},"version":"1.0","#,
                "RetryAttemptsExhausted",
            ),
            (
                r#""requestContext":{"condition":"RecordAgeExceeded"},"responseContext":{},"#,
                "RecordAgeExceeded",
            ),
            ("", "not said"),
        ] {
            assert_eq!(
                letter(&format!("{{{around}{range}}}")).as_range(),
                FromPipe::Range {
                    condition: condition.to_owned(),
                    until: 1_767_225_601_000,
                    records: 2
                }
            );
        }
        assert_eq!(
            letter(r#"{"DDBStreamBatchInfo":{}}"#).as_range(),
            FromPipe::Range {
                condition: "not said".to_owned(),
                until: 7,
                records: 1
            }
        );
    }

    #[test]
    fn a_probe_and_foreign_bodies_are_no_range_and_no_wake() {
        for body in ["", "test", "{}", "[1]", "null", r#"{"DDBStreamBatchInfo":"x"}"#] {
            assert_eq!(letter(body).as_range(), FromPipe::Other, "{body}");
            assert!(matches!(letter(body).as_wake(), FromQueue::Foreign(_)), "{body}");
        }
    }
}
