//! One step of the relay (law 12): everything that is READY and due is settled, sent again under a fresh id, or DEAD.

use std::{future::Future, sync::Arc, time::Duration};

use ledger::{
    identity::MessageGroup,
    item::OutboxItem,
    message::Message,
    record::{milliseconds, rfc3339},
    resend::{self, Claim, Resend, ResendLimits},
    store::{LedgerError, Mark, Outbox, Written},
};
use platform::{Clock, Deadline, Metrics, fault_point};

/// The queue takes at most this many messages in a call.
pub const QUEUE_BATCH: usize = 10;
/// A message the queue did not take is tried again after this.
const SEND_AGAIN_SECONDS: i64 = 60;
/// What is left for the last writes when the step stops early.
const MARGIN: Duration = Duration::from_secs(5);
const RETENTION_SECONDS: i64 = 30 * 86_400;

/// A message on its way to the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The body.
    pub body: String,
    /// Group id.
    pub group: String,
    /// Deduplication id.
    pub deduplication_id: String,
}

/// The queue, as the relay sees it.
pub trait Queue: Send + Sync {
    /// Sends at most [`QUEUE_BATCH`] messages. The answer has one entry a message: none, or why it was not taken. A batch
    /// answer of 200 may hold refusals.
    fn send(&self, messages: &[Outgoing]) -> impl Future<Output = Vec<Option<String>>> + Send;
}

/// The Pipe, as the relay sees it.
pub trait Pipe: Send + Sync {
    /// Whether the Pipe is RUNNING; the error says why that is not known.
    fn is_running(&self) -> impl Future<Output = Result<bool, String>> + Send;
}

/// What a relay needs.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Shards of the READY index.
    pub ready_shards: u32,
    /// Attempts and grace.
    pub limits: ResendLimits,
    /// How messages are grouped.
    pub message_group: MessageGroup,
}

/// What a step did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Sent again.
    pub resent: u64,
    /// Claimed, but not taken by the queue.
    pub unsent: u64,
    /// Settled, because the head covers them.
    pub settled: u64,
    /// DEAD from now on.
    pub died: u64,
    /// Changed since the index was read.
    pub left: u64,
    /// READY before the step, due or not.
    pub ready: u64,
    /// Items or shards that could not be handled.
    pub faults: u64,
    /// False when the time ran out before everything due was looked at.
    pub complete: bool,
}

/// The relay.
#[derive(Debug)]
pub struct Relay<O, Q, P, C> {
    /// The ledger.
    pub outbox: Arc<O>,
    /// The queue.
    pub queue: Q,
    /// The Pipe.
    pub pipe: P,
    /// The clock.
    pub clock: C,
    /// Limits.
    pub settings: Settings,
}

impl<O: Outbox, Q: Queue, P: Pipe, C: Clock> Relay<O, Q, P, C> {
    /// One step: measures, then handles what is due until it is done or the deadline is near.
    ///
    /// A fault of one item or shard stops no other; it is counted, so that the function can fail loudly in the end.
    pub async fn step(&self, deadline: Deadline, metrics: &Metrics) -> Summary {
        let mut summary = Summary {
            complete: true,
            ..Summary::default()
        };
        self.measure(&mut summary, metrics).await;
        let now = self.clock.now().unix_timestamp();
        for shard in resend::shards(self.settings.ready_shards) {
            if let Err(error) = self.shard(&shard, now, deadline, &mut summary).await {
                tracing::error!(shard, %error, "a shard could not be read to its end");
                summary.faults += 1;
            }
        }
        metrics.count("OutboxResent", summary.resent);
        metrics.count("OutboxSettled", summary.settled);
        metrics.count("OutboxDied", summary.died);
        summary
    }

    async fn measure(&self, summary: &mut Summary, metrics: &Metrics) {
        let mut oldest: Option<i64> = None;
        for shard in resend::shards(self.settings.ready_shards) {
            match self.outbox.ready(&shard).await {
                Ok(ready) => {
                    summary.ready += ready.count;
                    oldest = [oldest, ready.oldest_accepted_at].into_iter().flatten().min();
                }
                Err(error) => {
                    tracing::error!(shard, %error, "a shard could not be measured");
                    summary.faults += 1;
                }
            }
        }
        if summary.faults == 0 {
            let age = oldest.map_or(0, |oldest| (milliseconds(self.clock.now()) - oldest).max(0));
            metrics.gauge("OutboxReady", summary.ready as f64);
            metrics.seconds("OutboxOldestReadyAge", Duration::from_millis(age.unsigned_abs()));
        }
        match self.pipe.is_running().await {
            Ok(running) => metrics.gauge("PipeRunning", f64::from(u8::from(running))),
            Err(error) => {
                // No value at all: the alarm on the Pipe treats missing data as breaching.
                tracing::error!(error, "the state of the Pipe is not known");
                summary.faults += 1;
            }
        }
    }

    async fn shard(
        &self,
        shard: &str,
        now: i64,
        deadline: Deadline,
        summary: &mut Summary,
    ) -> Result<(), LedgerError> {
        let mut from = None;
        loop {
            let page = self.outbox.due(shard, now, from.take()).await?;
            for keys in page.keys.chunks(QUEUE_BATCH) {
                if deadline.is_near(MARGIN) {
                    summary.complete = false;
                    return Ok(());
                }
                let mut claimed = Vec::new();
                for (document_key, sort_key, _) in keys {
                    match self.item(document_key, sort_key, now, summary).await {
                        Ok(Some(claim)) => claimed.push(claim),
                        Ok(None) => {}
                        Err(error) => {
                            tracing::error!(document_key, sort_key, %error, "an item could not be handled");
                            summary.faults += 1;
                        }
                    }
                }
                self.send(&claimed, summary).await;
            }
            match page.next {
                Some(next) => from = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Handles one item; what is to be sent comes back claimed.
    async fn item(
        &self,
        document_key: &str,
        sort_key: &str,
        now: i64,
        summary: &mut Summary,
    ) -> Result<Option<(OutboxItem, Claim, Outgoing)>, LedgerError> {
        let Some((item, head)) = self.outbox.item_and_head(document_key, sort_key).await? else {
            summary.left += 1;
            return Ok(None);
        };
        match resend::decide(&item, &head, now, &self.settings.limits) {
            Resend::Leave => summary.left += 1,
            Resend::Settle => {
                let mark = Mark {
                    reason: "covered".to_owned(),
                    applied_at: rfc3339(self.clock.now()),
                    routes_affected: None,
                    expires_at: now + RETENTION_SECONDS,
                };
                if self.outbox.settle(&item, &mark).await? == Written::Done {
                    fault_point!("relay.settled");
                    summary.settled += 1;
                }
            }
            Resend::Bury => {
                let reason = format!("no consumer answered {} sends", item.attempts);
                if self.outbox.bury(&item, &reason).await? == Written::Done {
                    tracing::error!(document_key, sort_key, event_id = item.event_id, reason, "DEAD");
                    summary.died += 1;
                }
            }
            Resend::Send(claim) => {
                let group = self
                    .settings
                    .message_group
                    .id(&item.pk, item.document_type.as_deref());
                if self.outbox.claim(&item, &claim, &group).await? == Written::Moved {
                    summary.left += 1;
                    return Ok(None);
                }
                fault_point!("relay.claimed");
                let message = Message::new(&item.event_id, &item.pk, &item.sk);
                let outgoing = Outgoing {
                    body: serde_json::to_string(&message)
                        .map_err(|error| LedgerError::Corrupt(error.to_string()))?,
                    group,
                    deduplication_id: claim.message_deduplication_id.clone(),
                };
                return Ok(Some((item, claim, outgoing)));
            }
        }
        Ok(None)
    }

    async fn send(&self, claimed: &[(OutboxItem, Claim, Outgoing)], summary: &mut Summary) {
        if claimed.is_empty() {
            return;
        }
        let outgoing: Vec<Outgoing> = claimed.iter().map(|(_, _, outgoing)| outgoing.clone()).collect();
        let mut answers = self.queue.send(&outgoing).await;
        fault_point!("relay.sent");
        answers.resize(outgoing.len(), Some("no answer for this entry".to_owned()));
        for ((item, claim, _), answer) in claimed.iter().zip(answers) {
            let Some(refusal) = answer else {
                summary.resent += 1;
                continue;
            };
            tracing::warn!(sort_key = item.sk, refusal, "the queue did not take a message");
            summary.unsent += 1;
            let next = self.clock.now().unix_timestamp() + SEND_AGAIN_SECONDS;
            if let Err(error) = self.outbox.unclaim(item, claim, next).await {
                tracing::warn!(sort_key = item.sk, %error, "the claim stays; the item is looked at after its grace");
            }
            fault_point!("relay.unclaimed");
        }
    }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
