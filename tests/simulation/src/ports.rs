//! What a process calls: the ledger, the routes and the source, each call taking its time and possibly being the last.

mod routes;
mod source;

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use ledger::{
    item::OutboxItem,
    plan::PlanChunk,
    record::NewEvent,
    store::{
        Advance, Breakers, Deferral, DocumentState, Documents, DueCursor, DuePage, LedgerError, Mark, Outbox,
        Ready, Recorded, Recorder, Written,
        jobs::{Bookmarks, Wakes},
        memory::MemoryLedger,
    },
};
use platform::Deadline;

use crate::{
    lake,
    late::Waking,
    process::{Process, Takes},
    world::World,
};

/// A plan held back: document, head version, chunks.
type HeldPlan = (String, u64, Vec<PlanChunk>);

pub(crate) const READ: Takes = (0.005, 0.03);
pub(crate) const WRITE: Takes = (0.005, 0.02);
const MARK: Takes = (0.001, 0.005);
const BREAKER: Takes = (0.002, 0.01);

/// A process's hands on the world.
#[derive(Debug, Clone)]
pub struct Hands {
    /// The world.
    pub world: Arc<World>,
    /// Whose hands they are.
    pub process: Arc<Process>,
    /// A plan that is held back until routes are written and a purge came back ([`crate::config::Switches::routes_first`]).
    held_back: Arc<Mutex<Option<HeldPlan>>>,
    waking: Waking,
}

fn busy<T>(answer: Option<Result<T, LedgerError>>) -> Result<T, LedgerError> {
    answer.unwrap_or_else(|| Err(LedgerError::Busy("throttled".to_owned())))
}

impl Hands {
    /// The hands of `process`.
    pub fn new(world: Arc<World>, process: Arc<Process>) -> Self {
        Self {
            world,
            process,
            held_back: Arc::default(),
            waking: Waking::default(),
        }
    }

    pub(crate) fn ledger(&self) -> &MemoryLedger {
        &self.world.ledger
    }

    pub(crate) async fn ask<T>(
        &self,
        takes: Takes,
        effect: impl Future<Output = Result<T, LedgerError>>,
    ) -> Result<T, LedgerError> {
        busy(self.process.call_busy(takes, effect).await)
    }

    /// Stores a plan that was held back.
    async fn let_through(&self) -> Result<(), LedgerError> {
        let held_back = self
            .held_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((document_key, version, chunks)) = held_back {
            self.ask(WRITE, self.ledger().put_plan(&document_key, version, &chunks))
                .await?;
        }
        Ok(())
    }
}

impl Documents for Hands {
    async fn read(&self, document_key: &str, sort_key: &str) -> Result<DocumentState, LedgerError> {
        self.waking.begin(document_key);
        let state = self.ask(READ, self.ledger().read(document_key, sort_key)).await?;
        Ok(match self.world.lagging(document_key) {
            Some(stale) => DocumentState {
                items: stale
                    .items
                    .into_iter()
                    .filter(|item| item.sk >= stale.head.read_from(sort_key))
                    .collect(),
                head: stale.head,
                chunks: stale.chunks,
            },
            None => state,
        })
    }

    async fn event_exists(&self, event_id: &str) -> Result<bool, LedgerError> {
        self.ask(READ, self.ledger().event_exists(event_id)).await
    }

    async fn put_plan(
        &self,
        document_key: &str,
        head_version: u64,
        chunks: &[PlanChunk],
    ) -> Result<Written, LedgerError> {
        if self.world.config.switches.routes_first {
            let held_back = (document_key.to_owned(), head_version, chunks.to_vec());
            *self.held_back.lock().unwrap_or_else(PoisonError::into_inner) = Some(held_back);
            return Ok(Written::Done);
        }
        self.ask(WRITE, async {
            let written = self.ledger().put_plan(document_key, head_version, chunks).await?;
            self.world.noted(document_key);
            self.world.log(|| {
                format!(
                    "  plan of {} at head {head_version}: {written:?} {}",
                    self.world.name_of(document_key),
                    plan_text(chunks)
                )
            });
            Ok(written)
        })
        .await
    }

    async fn confirm(&self, document_key: &str, chunk: &PlanChunk) -> Result<Written, LedgerError> {
        self.let_through().await?;
        self.ask(WRITE, async {
            let written = self.ledger().confirm(document_key, chunk).await?;
            self.world.noted(document_key);
            Ok(written)
        })
        .await
    }

    async fn advance(&self, advance: &Advance) -> Result<Written, LedgerError> {
        self.let_through().await?;
        self.ask(WRITE, async {
            let written = self.ledger().advance(advance).await?;
            self.world.noted(&advance.document_key);
            self.world.log(|| {
                format!(
                    "  head of {} {} to {:?} seen {:?}: {written:?}, later {:?}",
                    self.world.name_of(&advance.document_key),
                    advance.from_version,
                    advance.head.second.map(|second| second - lake::START),
                    advance.head.seen.as_ref().map(|seen| &seen.revision),
                    advance.wakes.iter().map(|wake| wake.kind).collect::<Vec<_>>(),
                )
            });
            if written == Written::Done {
                for wake in &advance.wakes {
                    self.world.inserted(wake);
                }
            }
            Ok(written)
        })
        .await
    }

    async fn mark(&self, item: &OutboxItem, mark: &Mark) -> Result<Written, LedgerError> {
        self.ask(MARK, async {
            let written = self.ledger().mark(item, mark).await?;
            self.world.noted(&item.pk);
            if written == Written::Done {
                self.world.note_applied(item, &mark.reason);
                self.world.log(|| {
                    format!(
                        "  {} of {}: {}",
                        self.world.item(item),
                        self.world.name_of(&item.pk),
                        mark.reason
                    )
                });
            }
            Ok(written)
        })
        .await
    }

    async fn set_aside(&self, item: &OutboxItem, reason: &str, at: &str) -> Result<Written, LedgerError> {
        self.ask(MARK, async {
            let written = self.ledger().set_aside(item, reason, at).await?;
            self.world.noted(&item.pk);
            if written == Written::Done {
                self.world.note_set_aside(item, reason);
            }
            self.world
                .log(|| format!("  {} in review: {reason}", self.world.item(item)));
            Ok(written)
        })
        .await
    }

    async fn defer(&self, item: &OutboxItem, deferral: &Deferral) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().defer(item, deferral).await?;
            self.world.noted(&item.pk);
            self.world.relay_due(deferral.next_attempt);
            self.world.log(|| {
                format!(
                    "  {} put off to {}: {}",
                    self.world.item(item),
                    deferral.next_attempt - lake::START,
                    deferral.error
                )
            });
            Ok(written)
        })
        .await
    }
}

impl Breakers for Hands {
    async fn breaker(&self, target: &str) -> Result<(u64, Option<String>), LedgerError> {
        self.ask(BREAKER, self.ledger().breaker(target)).await
    }

    async fn set_breaker(&self, target: &str, version: u64, state: &str) -> Result<Written, LedgerError> {
        self.ask(BREAKER, self.ledger().set_breaker(target, version, state))
            .await
    }
}

impl Outbox for Hands {
    async fn due(&self, shard: &str, until: i64, from: Option<DueCursor>) -> Result<DuePage, LedgerError> {
        self.ask(READ, self.ledger().due(shard, until, from)).await
    }

    /// Only measured; the simulation looks at the items themselves.
    async fn ready(&self, _: &str) -> Result<Ready, LedgerError> {
        Ok(Ready::default())
    }

    async fn item_and_head(
        &self,
        document_key: &str,
        sort_key: &str,
    ) -> Result<Option<(OutboxItem, ledger::head::Head)>, LedgerError> {
        self.ask(READ, self.ledger().item_and_head(document_key, sort_key))
            .await
    }

    async fn claim(
        &self,
        item: &OutboxItem,
        claim: &ledger::resend::Claim,
        group: &str,
    ) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().claim(item, claim, group).await?;
            self.world.noted(&item.pk);
            self.world.relay_due(claim.next_attempt);
            Ok(written)
        })
        .await
    }

    async fn unclaim(
        &self,
        item: &OutboxItem,
        claim: &ledger::resend::Claim,
        next_attempt: i64,
    ) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().unclaim(item, claim, next_attempt).await?;
            self.world.noted(&item.pk);
            self.world.relay_due(next_attempt);
            Ok(written)
        })
        .await
    }

    async fn settle(&self, item: &OutboxItem, mark: &Mark) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().settle(item, mark).await?;
            self.world.noted(&item.pk);
            self.world
                .log(|| format!("  relay settles {}", self.world.item(item)));
            Ok(written)
        })
        .await
    }

    async fn bury(&self, item: &OutboxItem, reason: &str) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().bury(item, reason).await?;
            self.world.noted(&item.pk);
            self.world.log(|| format!("  DEAD {}", self.world.item(item)));
            self.world.tell("an alarm: an item is DEAD");
            Ok(written)
        })
        .await
    }
}

impl Recorder for Hands {
    async fn record(&self, event: &NewEvent, deadline: Deadline) -> Result<Recorded, LedgerError> {
        self.ask(WRITE, self.world.record(event, deadline)).await
    }

    async fn count_delivery(&self, event: &NewEvent) -> Result<(), LedgerError> {
        self.ask(WRITE, self.ledger().count_delivery(event)).await
    }
}

impl Bookmarks for Hands {
    async fn bookmark(&self, job: &str) -> Result<(u64, Option<String>), LedgerError> {
        self.ask(READ, self.ledger().bookmark(job)).await
    }

    async fn set_bookmark(&self, job: &str, version: u64, state: &str) -> Result<Written, LedgerError> {
        self.ask(WRITE, self.ledger().set_bookmark(job, version, state))
            .await
    }
}

impl Wakes for Hands {
    async fn wake(&self, item: &OutboxItem) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().wake(item).await?;
            if written == Written::Done {
                self.world.inserted(item);
            }
            Ok(written)
        })
        .await
    }
}

fn plan_text(chunks: &[PlanChunk]) -> String {
    let mut keys = Vec::new();
    for chunk in chunks {
        for entry in chunk
            .entries
            .unpack::<ledger::plan::PlanEntry>()
            .unwrap_or_default()
        {
            let owed = entry
                .layers
                .values()
                .filter(|progress| !progress.is_settled())
                .count();
            keys.push(format!("{}({owed})", crate::caches::name(&entry.entry.key)));
        }
    }
    keys.join(" ")
}
