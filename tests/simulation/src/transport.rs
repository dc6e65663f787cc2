//! The stream, the Pipe and the FIFO queue, as the facts about AWS describe them.
//!
//! The stream keeps the order of one item only, so every record goes its own way. The Pipe forwards inserts that are READY and
//! carry group and deduplication id. The queue delays, forgets an id five minutes after it took it, locks a group while any
//! of its messages is in flight, shows a message again when its visibility expires, and gives up after three receives.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use aws_lambda_events::sqs::SqsEvent;
use ledger::{
    item::{OutboxItem, Status},
    message::Message,
};
use relay::step::Outgoing;
use serde_json::json;

use crate::{process::pause, random::Random, world::World};

const DELAY: f64 = 45.0;
const DEDUPLICATES: f64 = 300.0;
const VISIBILITY: f64 = 360.0;
const RECEIVES: u32 = 3;
const BATCH: usize = 10;

/// The queue.
#[derive(Debug, Default)]
pub struct Queue {
    taken: BTreeMap<String, f64>,
    groups: BTreeMap<String, VecDeque<Queued>>,
    serial: u64,
}

/// A message in the queue.
#[derive(Debug, Clone)]
pub struct Queued {
    /// SQS's id.
    pub id: String,
    /// What is received.
    pub body: String,
    /// Deduplication id.
    pub name: String,
    group: String,
    visible_at: f64,
    /// How often it was received.
    pub receives: u32,
    in_flight: bool,
}

impl World {
    /// The stream shows an insert to the Pipe.
    pub fn inserted(self: &Arc<Self>, item: &OutboxItem) {
        self.note_insert(item);
        if let Some(next) = item.next_attempt {
            self.relay_due(next);
        }
        let (Some(Status::Ready), Some(group), Some(name)) = (
            item.status,
            &item.message_group_id,
            &item.message_deduplication_id,
        ) else {
            return;
        };
        let mut random = Random::new(self.seed, &format!("pipe {}", item.sk));
        let mut at = self.seconds() + random.exponential(0.8);
        if let Some(((from, until), trimmed)) = self.script.pipe_stopped
            && (from..=until).contains(&at)
        {
            if trimmed {
                self.log(|| format!("  trimmed: {}", self.item(item)));
                self.count("trimmed", 1);
                return;
            }
            at = until + random.between(0.0, 30.0);
        }
        let message = Message::new(&item.event_id, &item.pk, &item.sk);
        let outgoing = Outgoing {
            body: serde_json::to_string(&message).unwrap_or_default(),
            group: group.clone(),
            deduplication_id: self.deduplication_id(item, name),
        };
        let again = random
            .chance(self.config.doubled)
            .then(|| at + random.pick(&[1.0, 400.0]));
        for at in std::iter::once(at).chain(again) {
            let (world, outgoing) = (self.clone(), outgoing.clone());
            tokio::spawn(async move {
                pause(at - world.seconds()).await;
                world.send(outgoing);
            });
        }
    }

    /// The id that the Pipe gives to the queue; as article 000 has it, one of the content.
    fn deduplication_id(&self, item: &OutboxItem, name: &str) -> String {
        if self.config.switches.content_hash {
            format!("{} {:?} {:?}", item.pk, item.class, item.slugs)
        } else {
            name.to_owned()
        }
    }

    /// The queue takes a message.
    pub fn send(self: &Arc<Self>, outgoing: Outgoing) {
        let now = self.seconds();
        let Outgoing {
            body,
            group,
            deduplication_id: name,
        } = outgoing;
        let delayed = self.queue(|queue| {
            let known = queue.taken.get(&name).is_some_and(|at| now - at < DEDUPLICATES);
            if known {
                return false;
            }
            queue.taken.insert(name.clone(), now);
            queue.serial += 1;
            queue.groups.entry(group.clone()).or_default().push_back(Queued {
                id: format!("m{}", queue.serial),
                body,
                name: name.clone(),
                group: group.clone(),
                visible_at: now + DELAY,
                receives: 0,
                in_flight: false,
            });
            true
        });
        self.log(|| format!("  queue {} {name}", if delayed { "takes" } else { "swallows" }));
        if delayed {
            self.receive_later(group, DELAY);
        } else {
            self.count("swallowed", 1);
        }
    }

    fn receive_later(self: &Arc<Self>, group: String, wait: f64) {
        let world = self.clone();
        tokio::spawn(async move {
            pause(wait).await;
            world.receive(&group);
        });
    }

    /// A poller receives what a group has ready, possibly with messages of other groups.
    fn receive(self: &Arc<Self>, group: &str) {
        let now = self.seconds();
        let (most, mixed) = self.draw("pollers", |random| (random.whole(1, BATCH), random.chance(0.3)));
        let batch: Vec<Queued> = self.queue(|queue| {
            let mut names = vec![group.to_owned()];
            if mixed {
                names.extend(queue.groups.keys().filter(|name| *name != group).cloned());
            }
            let mut batch = Vec::new();
            for name in names {
                let Some(messages) = queue.groups.get_mut(&name) else {
                    continue;
                };
                // One message in flight locks its group.
                if messages.iter().any(|message| message.in_flight) {
                    continue;
                }
                for message in messages.iter_mut() {
                    if batch.len() == most || message.visible_at > now + 0.001 {
                        break;
                    }
                    message.receives += 1;
                    message.in_flight = true;
                    message.visible_at = now + VISIBILITY;
                    batch.push(message.clone());
                }
            }
            batch
        });
        if batch.is_empty() {
            return;
        }
        let world = self.clone();
        tokio::spawn(async move { world.deliver(batch).await });
    }

    async fn deliver(self: Arc<Self>, batch: Vec<Queued>) {
        for message in &batch {
            let (world, message) = (self.clone(), message.clone());
            tokio::spawn(async move {
                pause(VISIBILITY).await;
                world.expire(&message);
            });
        }
        let first = &batch[0];
        let mut random = Random::new(
            self.seed,
            &format!("invocation {} {}", first.name, first.receives),
        );
        pause(random.exponential(0.2)).await;
        let event = sqs_event(&batch);
        let failed = self.invoke(&batch, event, random).await;
        // No answer at all leaves every message where it is.
        let Some(failed) = failed else { return };
        let mut groups: Vec<String> = batch.iter().map(|message| message.group.clone()).collect();
        groups.dedup();
        self.count("failed records", failed.len());
        self.queue(|queue| {
            for message in batch.iter().filter(|message| !failed.contains(&message.id)) {
                if let Some(held) = queue.groups.get_mut(&message.group) {
                    // A receipt that has expired deletes nothing.
                    held.retain(|it| it.id != message.id || it.receives != message.receives);
                }
            }
        });
        for group in groups {
            self.receive(&group);
        }
    }

    fn expire(self: &Arc<Self>, message: &Queued) {
        let dead = self.queue(|queue| {
            let held = queue.groups.get_mut(&message.group)?;
            let place = held
                .iter()
                .position(|it| it.id == message.id && it.receives == message.receives)?;
            if message.receives >= RECEIVES {
                return held.remove(place);
            }
            held[place].in_flight = false;
            held[place].visible_at = 0.0;
            None
        });
        if let Some(dead) = dead {
            self.set_aside(&dead);
        }
        self.receive(&message.group);
    }
}

fn sqs_event(batch: &[Queued]) -> SqsEvent {
    let record = |message: &Queued| {
        json!({
            "messageId": message.id, "body": message.body, "messageAttributes": {},
            "attributes": {"MessageGroupId": message.group},
        })
    };
    let records: Vec<_> = batch.iter().map(record).collect();
    serde_json::from_value(json!({ "Records": records })).unwrap_or_default()
}
