//! What a person is told: in words, with what to do.

use ledger::item::{Kind, OutboxItem};

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// ASCII, at most 100 characters, as SNS wants it.
    pub subject: String,
    /// Some lines.
    pub text: String,
}

/// Where a person can act.
#[derive(Debug, Clone)]
pub struct Place {
    /// The stage.
    pub stage: String,
    /// Name of the operator function.
    pub operator: String,
}

impl Place {
    fn notice(&self, what: &str, text: String) -> Notice {
        let subject = format!("Cascata {}: {what}", self.stage);
        Notice {
            subject: subject
                .chars()
                .filter(|it| it.is_ascii() && !it.is_ascii_control())
                .take(100)
                .collect(),
            text,
        }
    }

    fn ask(&self, event: &str) -> String {
        format!(
            "  aws lambda invoke --function-name {} --cli-binary-format raw-in-base64-out \\\n    --payload '{event}' /dev/stdout",
            self.operator
        )
    }

    /// An event that failed.
    pub fn failed(&self, item: &OutboxItem, receive_count: u32) -> Notice {
        let name = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let what = match item.kind {
            Kind::Event => "an edit",
            Kind::Reprocess => "a reprocess",
            Kind::Recheck => "a recheck",
            Kind::Repeat => "a repeated purge",
        };
        let event = format!(
            r#"{{"verb":"reprocess","event_id":"{}","requester":"<you>","reason":"<what was mended>","dry_run":false}}"#,
            item.event_id
        );
        let last = item
            .last_error
            .as_deref()
            .unwrap_or("no consumer said why: it crashed, ran out of time, or could not reach the ledger");
        let text = format!(
            "The queue gave up {what} after {receive_count} receives. What it changed may not be visible.\n\n\
             Document:  {} (type {}, dataset {})\nRevision:  {} ({})\nAccepted:  {}\nFailed:    {last}\nTried:     {}\n\
             Event:     {}\n\nIt is marked failed, and nothing tries it again by itself. Read the consumer's log for this event, \
             mend the cause, then:\n\n{}\n",
            name(&item.document_id),
            name(&item.document_type),
            item.dataset,
            name(&item.revision),
            item.operation.as_deref().unwrap_or("operation unknown"),
            item.received_at,
            item.last_attempt.as_deref().unwrap_or("not known"),
            item.event_id,
            self.ask(&event),
        );
        self.notice(&format!("{what} could not be handled"), text)
    }

    /// A message that names no event of this ledger.
    pub fn foreign(&self, message_id: &str, why: &str) -> Notice {
        let text = format!(
            "The dead-letter queue of the consumer holds a message that wakes nothing of this ledger.\n\n\
             Message:   {message_id}\nProblem:   {why}\n\nNo edit is behind it that the ledger does not know and the relay does not \
             send again. Look where it came from; then delete it by hand.\n"
        );
        self.notice("a foreign message", text)
    }

    /// A range of the stream that the Pipe gave up on.
    pub fn pipe(&self, condition: &str, records: u64, until: &str) -> Notice {
        let text = format!(
            "The Pipe could not forward {records} records of the outbox written up to {until} ({condition}).\n\n\
             The relay sends what they stand for. This message leaves its queue once all of it is settled. Read the Pipe's log: \
             a right, a limit, or an item that the queue refuses.\n"
        );
        self.notice("the Pipe gave up records", text)
    }
}
