//! One run over both dead-letter queues. A letter leaves its queue only when what it stands for is settled.

use std::{collections::BTreeSet, future::Future, sync::Arc, time::Duration};

use ledger::{
    item::{OutboxItem, State},
    message::Message,
    record::rfc3339,
    resend,
    store::{
        LedgerError, Outbox,
        jobs::{Bookmarks, Letters},
    },
};
use platform::{Clock, Deadline, Metrics, fault_point};
use serde::Serialize;

use crate::{
    letter::{FromPipe, FromQueue, Letter},
    notice::{Notice, Place},
};

/// Receives of one queue in one run at the most.
const RECEIVES: usize = 30;
/// What is left for giving letters back.
const MARGIN: Duration = Duration::from_secs(5);

/// A dead-letter queue.
pub trait DeadLetterQueue: Send + Sync {
    /// Some letters, hidden from others for a while; none: it is empty.
    fn receive(&self) -> impl Future<Output = Result<Vec<Letter>, String>> + Send;

    /// Deletes a letter.
    fn delete(&self, letter: &Letter) -> impl Future<Output = Result<(), String>> + Send;

    /// Shows a letter again at once, so that the queue's alarm keeps seeing it.
    fn give_back(&self, letter: &Letter) -> impl Future<Output = Result<(), String>> + Send;
}

/// Tells people.
pub trait Notices: Send + Sync {
    /// Sends a notice.
    fn publish(&self, notice: &Notice) -> impl Future<Output = Result<(), String>> + Send;
}

/// Everything a run needs.
#[derive(Debug)]
pub struct DeadLetters<L, Q, N, C> {
    /// The ledger.
    pub ledger: Arc<L>,
    /// Dead letters of the queue.
    pub queue: Arc<Q>,
    /// Dead letters of the Pipe.
    pub pipe: Arc<Q>,
    /// Who tells people.
    pub notices: Arc<N>,
    /// Where they can act.
    pub place: Place,
    /// Shards of the READY index.
    pub ready_shards: u32,
    /// The clock.
    pub clock: C,
}

/// What a run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Letters looked at.
    pub letters: u64,
    /// Events marked failed.
    pub failed: u64,
    /// People told.
    pub told: u64,
    /// Letters that left, because what they stand for is settled.
    pub settled: u64,
    /// Letters that stand for nothing of ours.
    pub foreign: u64,
    /// Letters and calls that could not be handled; they are looked at again by the next run.
    pub faults: u64,
}

/// What becomes of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Keep,
    Delete,
}

#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{0}")]
    Neighbour(String),
}

impl<L, Q, N, C> DeadLetters<L, Q, N, C>
where
    L: Letters + Bookmarks + Outbox,
    Q: DeadLetterQueue,
    N: Notices,
    C: Clock,
{
    /// Looks at every letter of both queues once, as far as the time reaches.
    pub async fn step(&self, deadline: Deadline, metrics: &Metrics) -> Summary {
        let mut summary = Summary::default();
        let kept = self.drain(&self.queue, true, deadline, &mut summary).await;
        let kept = kept + self.drain(&self.pipe, false, deadline, &mut summary).await;
        metrics.gauge("DeadLetters", kept as f64);
        metrics.count("EventsFailed", summary.failed);
        metrics.count("ForeignLetters", summary.foreign);
        if summary.faults == 0 {
            metrics.count("DeadLetterRuns", 1);
        }
        summary
    }

    async fn drain(&self, queue: &Q, wakes: bool, deadline: Deadline, summary: &mut Summary) -> usize {
        let mut seen = BTreeSet::new();
        let mut kept = Vec::new();
        for _ in 0..RECEIVES {
            if deadline.is_near(MARGIN) {
                break;
            }
            let letters = match queue.receive().await {
                Ok(letters) => letters,
                Err(error) => {
                    tracing::error!(error, "a dead-letter queue could not be read");
                    summary.faults += 1;
                    break;
                }
            };
            // A letter seen before has become visible again: everything was looked at.
            let fresh = letters
                .iter()
                .filter(|letter| seen.insert(letter.message_id.clone()))
                .count();
            let done = fresh == 0;
            for letter in letters {
                summary.letters += 1;
                let fate = if wakes {
                    self.queue_letter(&letter, summary).await
                } else {
                    self.pipe_letter(&letter, summary).await
                };
                let fate = fate.unwrap_or_else(|error| {
                    tracing::error!(message_id = letter.message_id, %error, "a dead letter could not be handled");
                    summary.faults += 1;
                    Fate::Keep
                });
                match fate {
                    Fate::Keep => kept.push(letter),
                    Fate::Delete => match queue.delete(&letter).await {
                        Ok(()) => {
                            fault_point!("deadletters.deleted");
                            summary.settled += 1;
                        }
                        Err(error) => {
                            tracing::error!(
                                message_id = letter.message_id,
                                error,
                                "a letter could not be deleted"
                            );
                            summary.faults += 1;
                        }
                    },
                }
            }
            if done {
                break;
            }
        }
        for letter in &kept {
            if let Err(error) = queue.give_back(letter).await {
                // It becomes visible by itself a little later.
                tracing::warn!(
                    message_id = letter.message_id,
                    error,
                    "a letter could not be given back"
                );
            }
        }
        kept.len()
    }

    async fn queue_letter(&self, letter: &Letter, summary: &mut Summary) -> Result<Fate, Fault> {
        let message = match letter.as_wake() {
            FromQueue::Wake(message) => message,
            FromQueue::Foreign(why) => return self.foreign(letter, &why, summary).await,
        };
        let Message {
            document_key,
            sort_key,
            ..
        } = &message;
        let Some(item) = self.ledger.item(document_key, sort_key).await? else {
            return self
                .foreign(letter, "it names an item that the outbox does not hold", summary)
                .await;
        };
        match item.state {
            State::Applied | State::Ignored => return Ok(Fate::Delete),
            State::Pending => self.mark(&item, letter.receive_count, summary).await?,
            State::InReview | State::Failed => {}
        }
        // Read again: a consumer may have been faster.
        let now = self.ledger.item(document_key, sort_key).await?;
        match now {
            Some(now) if now.state == State::Failed => {
                let about = format!("{document_key}#{sort_key}");
                let notice = self.place.failed(&now, letter.receive_count);
                self.tell_once(&about, &notice, summary).await?;
                Ok(Fate::Keep)
            }
            Some(now) if matches!(now.state, State::Applied | State::Ignored) => Ok(Fate::Delete),
            _ => Ok(Fate::Keep),
        }
    }

    async fn mark(&self, item: &OutboxItem, receive_count: u32, summary: &mut Summary) -> Result<(), Fault> {
        let last = item
            .last_error
            .as_deref()
            .map_or(String::new(), |last| format!("; last error: {last}"));
        let reason = format!("the queue gave its message up after {receive_count} receives{last}");
        if self.ledger.fail(item, &reason).await? == ledger::store::Written::Done {
            fault_point!("deadletters.failed");
            summary.failed += 1;
            tracing::error!(event_id = item.event_id, sort_key = item.sk, reason, "failed");
        }
        Ok(())
    }

    async fn foreign(&self, letter: &Letter, why: &str, summary: &mut Summary) -> Result<Fate, Fault> {
        summary.foreign += 1;
        tracing::error!(message_id = letter.message_id, why, "a foreign dead letter");
        let notice = self.place.foreign(&letter.message_id, why);
        self.tell_once(&letter.message_id, &notice, summary).await?;
        Ok(Fate::Keep)
    }

    async fn pipe_letter(&self, letter: &Letter, summary: &mut Summary) -> Result<Fate, Fault> {
        let (condition, until, records) = match letter.as_range() {
            FromPipe::Range {
                condition,
                until,
                records,
            } => (condition, until, records),
            FromPipe::Other => {
                summary.foreign += 1;
                tracing::info!(
                    message_id = letter.message_id,
                    "a message of the Pipe without a range: no record is behind it"
                );
                return Ok(Fate::Delete);
            }
        };
        // The letter carries no payload. What it stands for is among what was accepted until then and is still READY.
        let mut open = false;
        for shard in resend::shards(self.ready_shards) {
            let ready = self.ledger.ready(&shard).await?;
            open |= ready.oldest_accepted_at.is_some_and(|oldest| oldest <= until);
        }
        if !open {
            return Ok(Fate::Delete);
        }
        let at = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(until) * 1_000_000)
            .map_or_else(|_| "an unknown time".to_owned(), rfc3339);
        let notice = self.place.pipe(&condition, records, &at);
        self.tell_once(&letter.message_id, &notice, summary).await?;
        Ok(Fate::Keep)
    }

    /// Tells people, unless it was done. A crash between the two writes tells them twice, never not at all.
    async fn tell_once(&self, about: &str, notice: &Notice, summary: &mut Summary) -> Result<(), Fault> {
        let job = format!("told#{about}");
        let (version, _) = self.ledger.bookmark(&job).await?;
        if version > 0 {
            return Ok(());
        }
        self.notices.publish(notice).await.map_err(Fault::Neighbour)?;
        fault_point!("deadletters.told");
        summary.told += 1;
        self.ledger
            .set_bookmark(&job, 0, &rfc3339(self.clock.now()))
            .await?;
        fault_point!("deadletters.noted");
        Ok(())
    }
}
