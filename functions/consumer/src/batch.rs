//! An SQS batch: its messages by document, and which of them failed (law 11).
//!
//! A FIFO batch may hold several groups. Within a group order counts, so everything after a group's first failure is reported
//! as well; other groups are not touched: g1:a(fail) g2:b g1:c g2:d reports exactly a and c.

use std::collections::{BTreeMap, BTreeSet};

use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use ledger::message::Message;

/// One record of the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// SQS's id of the message, by which a failure is reported.
    pub message_id: String,
    /// Its group.
    pub group: String,
    /// What it wakes; none when it cannot be read.
    pub wake: Option<Message>,
}

/// The records of an invocation, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The records.
    pub records: Vec<Record>,
}

impl Batch {
    /// Reads an event. What cannot be read is a record that has failed already; it spoils no other.
    ///
    /// # Errors
    /// A record has no message id. Nothing could be reported about it, so the whole batch has to come again.
    pub fn read(event: SqsEvent) -> Result<Self, MessageWithoutId> {
        let records = event
            .records
            .into_iter()
            .map(Record::read)
            .collect::<Result<_, _>>()?;
        Ok(Self { records })
    }

    /// The distinct documents with the sort keys that their messages name, each once.
    pub fn documents(&self) -> BTreeMap<String, Vec<String>> {
        let mut documents: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for wake in self.records.iter().filter_map(|record| record.wake.as_ref()) {
            let named = documents.entry(wake.document_key.clone()).or_default();
            if !named.contains(&wake.sort_key) {
                named.push(wake.sort_key.clone());
            }
        }
        documents
    }

    /// The message ids to report, given the (document, sort key) pairs that failed.
    pub fn failures(&self, failed: &BTreeSet<(String, String)>) -> Vec<String> {
        let mut stopped: BTreeSet<&str> = BTreeSet::new();
        let mut reported = Vec::new();
        for record in &self.records {
            let broken = match &record.wake {
                None => true,
                Some(wake) => failed.contains(&(wake.document_key.clone(), wake.sort_key.clone())),
            };
            if broken {
                stopped.insert(&record.group);
            }
            if stopped.contains(record.group.as_str()) {
                reported.push(record.message_id.clone());
            }
        }
        reported
    }
}

/// A record without a message id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a record has no message id, so no failure of it could be reported")]
pub struct MessageWithoutId;

impl Record {
    fn read(message: SqsMessage) -> Result<Self, MessageWithoutId> {
        let message_id = message
            .message_id
            .filter(|id| !id.is_empty())
            .ok_or(MessageWithoutId)?;
        let group = message
            .attributes
            .get("MessageGroupId")
            .cloned()
            .unwrap_or_default();
        let wake = match Message::read(message.body.as_deref().unwrap_or("")) {
            Ok(wake) => Some(wake),
            Err(error) => {
                tracing::error!(message_id, group, %error, "a message is no wake-up");
                None
            }
        };
        Ok(Self {
            message_id,
            group,
            wake,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str, group: &str, readable: bool) -> Record {
        let event_id = format!("evt_{id}");
        let wake = Message::new(
            &event_id,
            &format!("DOC#{id}"),
            &ledger::identity::sort_key(1, &event_id),
        );
        Record {
            message_id: id.to_owned(),
            group: group.to_owned(),
            wake: readable.then_some(wake),
        }
    }

    fn failed(ids: &[&str]) -> BTreeSet<(String, String)> {
        ids.iter()
            .map(|id| {
                (
                    format!("DOC#{id}"),
                    ledger::identity::sort_key(1, &format!("evt_{id}")),
                )
            })
            .collect()
    }

    #[test]
    fn aws_powertools_powertools_lambda_python_3954_a_failure_stops_its_group_and_no_other() {
        let batch = Batch {
            records: vec![
                record("a", "g1", true),
                record("b", "g2", true),
                record("c", "g1", true),
                record("d", "g2", true),
            ],
        };
        assert_eq!(batch.failures(&failed(&["a"])), ["a", "c"]);
        assert_eq!(batch.failures(&failed(&["c"])), ["c"]);
        assert_eq!(batch.failures(&failed(&["a", "d"])), ["a", "c", "d"]);
        assert!(batch.failures(&failed(&[])).is_empty());
    }

    #[test]
    fn calavera_aws_lambda_events_94_what_cannot_be_read_has_failed_and_spoils_no_other_group() {
        let batch = Batch {
            records: vec![
                record("a", "g1", false),
                record("b", "g2", true),
                record("c", "g1", true),
            ],
        };
        assert_eq!(batch.failures(&failed(&[])), ["a", "c"]);
        assert_eq!(batch.documents().len(), 2);
    }

    #[test]
    fn messages_of_one_document_are_one_piece_of_work() {
        let batch = Batch {
            records: vec![
                record("a", "g1", true),
                record("a", "g1", true),
                record("b", "g1", true),
            ],
        };
        assert_eq!(
            batch
                .documents()
                .into_values()
                .map(|named| named.len())
                .collect::<Vec<_>>(),
            [1, 1]
        );
    }

    #[test]
    fn a_record_without_an_id_fails_the_batch_loudly() {
        let event = |id: Option<&str>| -> SqsEvent {
            serde_json::from_value(serde_json::json!({"Records": [{
                "messageId": id, "body": "{}", "attributes": {"MessageGroupId": "g"}, "messageAttributes": {}
            }]}))
            .unwrap()
        };
        assert_eq!(Batch::read(event(None)), Err(MessageWithoutId));
        assert_eq!(Batch::read(event(Some(""))), Err(MessageWithoutId));
        assert!(Batch::read(event(Some("m"))).is_ok());
    }
}
