//! The functions at work: the real webhook record, the real consumer, the real relay, each in processes that may die.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use aws_lambda_events::sqs::SqsEvent;
use consumer::{document::Consumer, handler, settings::Settings, source::Observer};
use ledger::{
    record::{Decision, NewEvent},
    resend::ResendLimits,
    store::{LedgerError, Outbox, Recorded, Recorder},
};
use platform::{Deadline, Metrics};
use relay::step::{Outgoing, Pipe, Queue, Relay};
use sanity::{delivery::Delivery, signature::SignedAt};
use serde_json::Value;

use crate::{
    lake,
    ports::Hands,
    process::{Process, pause},
    random::Random,
    script::{Edit, Hook},
    targets::targets,
    transport::Queued,
    world::{Clock, World},
};

/// The consumer's and the relay's timeout.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Seconds between two steps of the relay.
const RELAY: i64 = 60;
/// A frozen process's own clock may stand still with it.
const FROZEN: Duration = Duration::from_secs(800);

impl World {
    /// Makes a change, and delivers its webhook.
    pub fn edit(self: &Arc<Self>, edit: &Edit) {
        let Some(change) = self.lake_mut(|lake| lake.change(edit, &self.config)) else {
            return;
        };
        self.log(|| {
            let version = self.lake(|lake| lake.latest(edit.document).clone());
            format!(
                "EDIT e{} {} {} slug {:?} shows {:?}; the index shows it at {:.2}; webhooks at {:?}",
                edit.number,
                lake::id(&self.config, edit.document),
                change.body["operation"],
                version
                    .content
                    .as_ref()
                    .and_then(|it| it.slug)
                    .map(lake::slug_name),
                version.content.as_ref().map(|it| &it.shows),
                version.visible,
                edit.hook
                    .deliveries
                    .iter()
                    .map(|it| edit.at + it)
                    .collect::<Vec<_>>(),
            )
        });
        for delay in edit.hook.deliveries.clone() {
            let (world, body, hook) = (self.clone(), change.body.clone(), edit.hook.clone());
            let version = (edit.document, change.index);
            tokio::spawn(async move {
                pause(delay).await;
                world.accept(&body, &hook, version).await;
            });
        }
    }

    /// A verified delivery is recorded, as the webhook does it.
    async fn accept(self: &Arc<Self>, body: &Value, hook: &Hook, version: (usize, usize)) {
        let raw = body.to_string().into_bytes();
        let signed_at = SignedAt((lake::START as u64 + self.seconds() as u64) * 1000);
        let delivery = Delivery::read(&raw, &BTreeMap::new(), signed_at);
        let received_at = platform::Clock::now(&self.clock(hook.skew));
        let event = NewEvent::from_delivery(
            delivery,
            raw,
            "current",
            Decision::Pending,
            received_at,
            &self.settings,
            None,
        );
        pause(hook.commit).await;
        if let Err(error) = self.record(&event, Deadline::after(TIMEOUT)).await {
            self.problem(format!("record: {error}"));
        }
        self.lake_mut(|lake| lake.delivered.insert(version));
    }

    /// An event is committed, and the stream shows what was inserted.
    pub async fn record(
        self: &Arc<Self>,
        event: &NewEvent,
        deadline: Deadline,
    ) -> Result<Recorded, LedgerError> {
        let recorded = self.ledger.record(event, deadline).await?;
        self.noted(&event.item.pk);
        self.log(|| {
            format!(
                "RECORDED {} {} by {:?}: {recorded:?} slugs {:?}",
                self.name_of(&event.item.pk),
                self.item(&event.item),
                event.item.source,
                event.item.slugs
            )
        });
        match recorded {
            Recorded::New => {
                self.count("events", 1);
                self.inserted(&event.item);
            }
            Recorded::Duplicate | Recorded::Contradiction => {
                self.count("duplicates", 1);
                // It may have brought an item of its own (law 8).
                let items = self.ledger.all_items();
                for item in items.iter().filter(|item| item.pk == event.item.pk) {
                    if !self.is_inserted(item) {
                        self.count("said again", 1);
                        self.inserted(item);
                    }
                }
            }
        }
        Ok(recorded)
    }

    /// The consumer is invoked with a batch; the ids of the messages that failed, or none if it gave no answer.
    pub async fn invoke(
        self: &Arc<Self>,
        batch: &[Queued],
        event: SqsEvent,
        mut random: Random,
    ) -> Option<BTreeSet<String>> {
        self.count("invocations", 1);
        self.log(|| {
            let names: Vec<&str> = batch.iter().map(|message| message.name.as_str()).collect();
            format!("WAKE {names:?}")
        });
        let skew = *random.pick(&[-0.05, 0.0, 0.05]);
        let generous = random.chance(0.5);
        let process = Arc::new(Process::new(random, &self.config));
        let frozen = process.will_freeze() && generous;
        let hands = Arc::new(Hands::new(self.clone(), process.clone()));
        let consumer = Arc::new(Consumer {
            ledger: hands.clone(),
            routes: hands.clone(),
            source: hands.clone(),
            observer: Observer::new(hands.clone()),
            targets: targets(&hands),
            config: self.routes_config.clone(),
            settings: Settings {
                repeat_young: Duration::from_secs_f64(self.config.repeat_young),
                repeat_outer_layers: self.config.repeat_outer,
                ..Settings::new(self.settings.clone())
            },
            clock: self.clock(skew),
            metrics: Metrics::new("simulation", "consumer"),
        });
        let left = if frozen { TIMEOUT + FROZEN } else { TIMEOUT };
        let work = handler::handle(consumer, event, Deadline::after(left));
        match tokio::time::timeout(left, process.run(work)).await {
            Ok(Ok(Ok(answer))) => {
                let failed = answer
                    .batch_item_failures
                    .into_iter()
                    .map(|it| it.item_identifier);
                Some(failed.collect())
            }
            Ok(Ok(Err(error))) => {
                self.problem(format!("handler: {error}"));
                None
            }
            Ok(Err(_)) => {
                self.log(|| "  the process dies".to_owned());
                self.count("deaths", 1);
                None
            }
            Err(_) => {
                self.log(|| "  the invocation times out".to_owned());
                self.count("timeouts", 1);
                None
            }
        }
    }

    /// Something is due at this epoch second; the relay's next step sees to it.
    pub fn relay_due(self: &Arc<Self>, next_attempt: i64) {
        if self.config.switches.no_relay {
            return;
        }
        let now = self.seconds();
        let due = ((next_attempt - lake::START) as f64).max(now);
        let tick = (due / RELAY as f64).floor() as i64 * RELAY + RELAY;
        if !self.relay_scheduled(tick) {
            return;
        }
        let world = self.clone();
        tokio::spawn(async move {
            pause(tick as f64 - world.seconds()).await;
            if world.relay_begins(tick) {
                world.relay(tick).await;
            }
        });
    }

    async fn relay(self: &Arc<Self>, tick: i64) {
        // Now and then two relays run at once.
        let both = Random::new(self.seed, &format!("relays {tick}")).chance(0.05);
        let other = both.then(|| {
            let world = self.clone();
            tokio::spawn(async move { world.relay_once(tick, "other").await })
        });
        self.relay_once(tick, "one").await;
        if let Some(other) = other {
            let _ = other.await;
        }
        // What is still due is the next step's.
        let due = self.ledger.due("READY#0", i64::MAX, None).await;
        if let Some(next) = due
            .ok()
            .and_then(|page| page.keys.iter().map(|(_, _, next)| *next).min())
        {
            self.relay_due(next);
        }
    }

    async fn relay_once(self: &Arc<Self>, tick: i64, which: &str) {
        let random = Random::new(self.seed, &format!("relay {tick} {which}"));
        let process = Arc::new(Process::new(random, &self.config));
        let hands = Hands::new(self.clone(), process.clone());
        let relay = Relay {
            outbox: Arc::new(hands.clone()),
            queue: hands.clone(),
            pipe: hands,
            clock: self.clock(0.0),
            settings: relay::step::Settings {
                ready_shards: 1,
                limits: ResendLimits {
                    max_attempts: 3,
                    grace_seconds: self.settings.grace_seconds,
                },
                message_group: self.settings.message_group,
            },
        };
        let metrics = Metrics::new("simulation", "relay");
        let step = relay.step(Deadline::after(TIMEOUT), &metrics);
        if let Ok(Ok(summary)) = tokio::time::timeout(TIMEOUT, process.run(step)).await {
            self.count("resent", summary.resent as usize);
        }
    }
}

impl Queue for Hands {
    async fn send(&self, messages: &[Outgoing]) -> Vec<Option<String>> {
        let refused = self.world.config.refused_sends;
        self.process
            .call((0.01, 0.05), async {
                messages
                    .iter()
                    .map(|message| {
                        if self.process.draw(|random| random.chance(refused)) {
                            return Some("throttled".to_owned());
                        }
                        self.world.send(message.clone());
                        None
                    })
                    .collect()
            })
            .await
    }
}

impl Pipe for Hands {
    async fn is_running(&self) -> Result<bool, String> {
        let now = self.world.seconds();
        Ok(!self
            .world
            .script
            .pipe_stopped
            .is_some_and(|((from, until), _)| (from..=until).contains(&now)))
    }
}

/// The clock of a process, a little off.
impl platform::Clock for Clock {
    fn now(&self) -> time::OffsetDateTime {
        self.start + self.origin.elapsed()
    }
}
