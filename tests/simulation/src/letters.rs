//! What the queue gave up on: the real dead-letter job marks it failed and tells a person, who asks the real operator function to
//! reprocess what failed or is DEAD, some time later. The alarm on DEAD tells a person too.

use std::{sync::Arc, time::Duration};

use deadletters::{
    letter::Letter,
    notice::{Notice, Place},
    step::{DeadLetterQueue, DeadLetters, Notices},
};
use ledger::{
    item::OutboxItem,
    record::EventRecord,
    store::{
        LedgerError, Written,
        jobs::Letters,
        operator::{Happened, Inspection, Interventions, Request, StatePage},
    },
};
use operator::{
    Operator,
    source::{Dataset, Named, SourceError},
};
use platform::{Deadline, Metrics};
use routing::config::RoutingQuery;
use serde_json::{Value, json};

use crate::{
    lake,
    ports::{Hands, READ, WRITE},
    process::{Process, pause},
    random::Random,
    transport::Queued,
    world::World,
};

/// Seconds between two runs of the dead-letter job.
const EVERY: f64 = 300.0;
/// Seconds until a person who was told acts: from, to.
const ACTS: (f64, f64) = (600.0, 7200.0);
/// How often a person tries while something is in the way.
const PATIENCE: usize = 20;
const TIMEOUT: Duration = Duration::from_secs(60);
const RECEIVED_AT_ONCE: usize = 10;

/// The dead-letter queue of the queue, or the Pipe's, which stays empty here.
#[derive(Debug)]
struct Drawer {
    world: Arc<World>,
    of_the_queue: bool,
}

impl World {
    /// A message is set aside.
    pub(crate) fn set_aside(self: &Arc<Self>, message: &Queued) {
        self.log(|| format!("  to the dead-letter queue: {}", message.name));
        self.count("dead letters", 1);
        let letter = Letter {
            message_id: message.id.clone(),
            receipt: message.id.clone(),
            body: message.body.clone(),
            receive_count: message.receives,
            sent_at: (lake::START + self.seconds() as i64) * 1000,
        };
        let first = {
            let mut rest = self.rest();
            rest.letters.push(letter);
            !std::mem::replace(&mut rest.following_letters, true)
        };
        if first {
            tokio::spawn(self.clone().follow_letters());
        }
    }

    /// The job's schedule, from the first letter on.
    async fn follow_letters(self: Arc<Self>) {
        for run in 0.. {
            pause(EVERY).await;
            if self.rest().letters.is_empty() {
                continue;
            }
            let random = Random::new(self.seed, &format!("letters {run}"));
            let hands = Arc::new(Hands::new(
                self.clone(),
                Arc::new(Process::new(random, &self.config)),
            ));
            let drawer = |of_the_queue| {
                Arc::new(Drawer {
                    world: self.clone(),
                    of_the_queue,
                })
            };
            let job = DeadLetters {
                ledger: hands.clone(),
                queue: drawer(true),
                pipe: drawer(false),
                notices: hands.clone(),
                place: Place {
                    stage: "simulation".to_owned(),
                    operator: "operator".to_owned(),
                },
                ready_shards: 1,
                clock: self.clock(0.0),
            };
            let metrics = Metrics::new("simulation", "deadletters");
            let step = job.step(Deadline::after(TIMEOUT), &metrics);
            if let Ok(Ok(summary)) = tokio::time::timeout(TIMEOUT, hands.process.run(step)).await {
                self.count("failed", summary.failed as usize);
            }
        }
    }

    /// A person is told, by a notice or an alarm.
    pub(crate) fn tell(self: &Arc<Self>, what: &str) {
        self.log(|| format!("TOLD {what}"));
        let told = {
            let mut rest = self.rest();
            rest.told += 1;
            rest.told
        };
        tokio::spawn(self.clone().act(told));
    }

    /// A person who was told asks for everything that waits for one to be reprocessed, again while it cannot be done.
    async fn act(self: Arc<Self>, told: usize) {
        let mut random = Random::new(self.seed, &format!("person {told}"));
        pause(random.between(ACTS.0, ACTS.1)).await;
        let mut asked = ["failed", "dead"].into_iter().peekable();
        for _ in 0..PATIENCE {
            let Some(state) = asked.peek() else { return };
            let process = Arc::new(Process::new(
                Random::new(random.unit().to_bits(), "operator"),
                &self.config,
            ));
            let hands = Arc::new(Hands::new(self.clone(), process.clone()));
            let operator = Operator {
                ledger: hands.clone(),
                routes: hands.clone(),
                source: hands,
                config: self.routes_config.clone(),
                settings: self.settings.clone(),
                clock: self.clock(0.0),
                metrics: Metrics::new("simulation", "operator"),
            };
            let request = json!({
                "verb": "reprocess", "state": state, "requester": "a person", "reason": "told so", "dry_run": false,
            });
            let asking = operator.handle(&request, Deadline::after(TIMEOUT));
            match tokio::time::timeout(TIMEOUT, process.run(asking)).await {
                Ok(Ok(Ok(answer))) => {
                    self.log(|| format!("REPROCESS what is {state}: {answer}"));
                    self.count("asked again", answer["count"].as_u64().unwrap_or(0) as usize);
                    asked.next();
                    continue;
                }
                Ok(Ok(Err(error))) => self.log(|| format!("  the operator refuses: {error}")),
                Ok(Err(_)) | Err(_) => self.log(|| "  the operator dies".to_owned()),
            }
            pause(EVERY).await;
        }
    }
}

impl DeadLetterQueue for Drawer {
    async fn receive(&self) -> Result<Vec<Letter>, String> {
        let letters = &mut self.world.rest().letters;
        let shown = if self.of_the_queue {
            RECEIVED_AT_ONCE.min(letters.len())
        } else {
            0
        };
        let received = letters[..shown].to_vec();
        // Hidden for a while: those behind them are received next.
        letters.rotate_left(shown);
        Ok(received)
    }

    async fn delete(&self, letter: &Letter) -> Result<(), String> {
        self.world
            .rest()
            .letters
            .retain(|held| held.message_id != letter.message_id);
        Ok(())
    }

    async fn give_back(&self, _: &Letter) -> Result<(), String> {
        Ok(())
    }
}

impl Notices for Hands {
    async fn publish(&self, notice: &Notice) -> Result<(), String> {
        self.process
            .call(WRITE, async {
                self.world.tell(&notice.subject);
            })
            .await;
        Ok(())
    }
}

impl Letters for Hands {
    async fn item(&self, document_key: &str, sort_key: &str) -> Result<Option<OutboxItem>, LedgerError> {
        self.ask(READ, self.ledger().item(document_key, sort_key)).await
    }

    async fn fail(&self, item: &OutboxItem, reason: &str) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().fail(item, reason).await?;
            self.world.noted(&item.pk);
            self.world
                .log(|| format!("  failed: {} {written:?}", self.world.item(item)));
            Ok(written)
        })
        .await
    }
}

impl Inspection for Hands {
    async fn by_state(
        &self,
        state: &str,
        since: &str,
        limit: u32,
        from: Option<&str>,
    ) -> Result<StatePage, LedgerError> {
        self.ask(READ, self.ledger().by_state(state, since, limit, from))
            .await
    }

    async fn evidence(&self, event_id: &str) -> Result<Option<EventRecord>, LedgerError> {
        self.ask(READ, self.ledger().evidence(event_id)).await
    }

    async fn happened(&self, document_key: &str, limit: u32) -> Result<Vec<Happened>, LedgerError> {
        self.ask(READ, self.ledger().happened(document_key, limit)).await
    }
}

impl Interventions for Hands {
    async fn intervene(&self, request: &Request) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().intervene(request).await?;
            self.world.noted(&request.intervention.pk);
            if written == Written::Done
                && let Some(wake) = &request.wake
            {
                self.world.inserted(wake);
            }
            Ok(written)
        })
        .await
    }
}

/// A reprocess asks the source nothing.
impl Dataset for Hands {
    async fn page(
        &self,
        _: &str,
        _: Option<&str>,
        _: &str,
        _: usize,
        _: Deadline,
    ) -> Result<Vec<Named>, SourceError> {
        Err(SourceError("not asked here".to_owned()))
    }

    async fn rows(&self, _: &str, _: &RoutingQuery, _: Deadline) -> Result<Value, SourceError> {
        Err(SourceError("not asked here".to_owned()))
    }
}
