//! What happens to the way from the outbox to the consumer, and that nothing is lost or done twice by it (laws 6 and 12).
//!
//! Relay, consumer and ledger are real; the stream, the Pipe and the queue are modelled, the queue with its memory of five
//! minutes. The clock moves by itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

#[path = "../../consumer/tests/world/mod.rs"]
mod world;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use ledger::{
    identity::MessageGroup,
    item::{OutboxItem, Status},
    message::Message,
    plan::Layer,
    resend::ResendLimits,
    store::memory::MemoryLedger,
};
use platform::{Deadline, Metrics};
use relay::step::{Outgoing, Pipe, Queue, Relay, Settings, Summary};
use tokio::time::Instant;
use world::{SharedClock, World};

/// How long a FIFO queue remembers a deduplication id, consumed or not.
const REMEMBERED: Duration = Duration::from_secs(300);
const MINUTE: Duration = Duration::from_secs(60);

/// The queue.
#[derive(Debug, Default)]
struct Line {
    waiting: Mutex<VecDeque<Message>>,
    remembered: Mutex<BTreeMap<String, Instant>>,
    denied: Mutex<bool>,
}

impl Line {
    fn take_in(&self, message: Message, id: &str) -> Option<String> {
        if *self.denied.lock().unwrap() {
            return Some("AccessDenied".to_owned());
        }
        let mut remembered = self.remembered.lock().unwrap();
        let now = Instant::now();
        let known = remembered
            .insert(id.to_owned(), now)
            .is_some_and(|sent| now - sent < REMEMBERED);
        if !known {
            self.waiting.lock().unwrap().push_back(message);
        }
        None
    }
}

#[derive(Debug, Clone)]
struct ToLine(Arc<Line>);

impl Queue for ToLine {
    async fn send(&self, messages: &[Outgoing]) -> Vec<Option<String>> {
        let taken = |it: &Outgoing| {
            self.0
                .take_in(Message::read(&it.body).unwrap(), &it.deduplication_id)
        };
        messages.iter().map(taken).collect()
    }
}

/// A Pipe that nobody has to describe.
struct Described;

impl Pipe for Described {
    async fn is_running(&self) -> Result<bool, String> {
        Ok(true)
    }
}

struct Scene {
    world: World,
    line: Arc<Line>,
    relay: Relay<MemoryLedger, ToLine, Described, SharedClock>,
    /// The inserts of the last 24 hours, as they were written.
    stream: Vec<OutboxItem>,
    /// How far the Pipe has come.
    position: usize,
}

impl Scene {
    fn new() -> Self {
        let (world, line) = (World::new(), Arc::new(Line::default()));
        let relay = Relay {
            outbox: world.ledger.clone(),
            queue: ToLine(line.clone()),
            pipe: Described,
            clock: world.clock.clone(),
            settings: Settings {
                ready_shards: 1,
                limits: ResendLimits {
                    max_attempts: 3,
                    grace_seconds: 1500,
                },
                message_group: MessageGroup::Document,
            },
        };
        Self {
            world,
            line,
            relay,
            stream: vec![],
            position: 0,
        }
    }

    async fn edit(&mut self, id: &str) -> OutboxItem {
        let slug = format!("/{id}");
        let change = self.world.lake.write("page", id, Some(&slug), &[]);
        let item = self.world.deliver(&change).await;
        self.stream.push(item.clone());
        item
    }

    async fn edits(&mut self, count: usize) -> Vec<OutboxItem> {
        let mut items = Vec::new();
        for number in 0..count {
            items.push(self.edit(&format!("page-{number:02}")).await);
        }
        items
    }

    /// The Pipe forwards what it has not forwarded yet, `but` for what cannot be sent.
    fn forward(&mut self, but: &[&OutboxItem]) {
        for image in &self.stream[self.position..] {
            if let Some(id) = &image.message_deduplication_id
                && !but.iter().any(|it| it.sk == image.sk)
            {
                let message = Message::new(&image.event_id, &image.pk, &image.sk);
                self.line.take_in(message, id);
            }
        }
        self.position = self.stream.len();
    }

    /// The consumer takes everything that waits.
    async fn consume(&self) {
        while let Some(message) = { self.line.waiting.lock().unwrap().pop_front() } {
            let deadline = Deadline::after(MINUTE);
            let named = [message.sort_key];
            let answer = self.world.consumer.wake(&message.document_key, &named, deadline);
            assert_eq!(answer.await.unwrap().unknown, Vec::<String>::new());
        }
    }

    /// Minutes with the relay's schedule, and with a consumer.
    async fn pass(&self, minutes: u64) -> Summary {
        let mut sum = Summary::default();
        for _ in 0..minutes {
            tokio::time::advance(MINUTE).await;
            let metrics = Metrics::new("test", "relay");
            let done = self.relay.step(Deadline::after(MINUTE), &metrics).await;
            assert_eq!((done.faults, done.died), (0, 0));
            sum.resent += done.resent;
            sum.unsent += done.unsent;
            self.consume().await;
        }
        sum
    }

    /// Everything is applied, and every page was purged once a layer.
    fn assert_once(&self, items: &[OutboxItem]) {
        self.world.assert_applied(&items.iter().collect::<Vec<_>>());
        let mut expected: Vec<String> = items
            .iter()
            .map(|item| format!("/{}", item.document_id.as_deref().unwrap()))
            .collect();
        expected.sort();
        for layer in [Layer::GraphqlCdn, Layer::Storefront] {
            let mut slugs = self.world.slugs(layer);
            slugs.sort();
            assert_eq!(slugs, expected, "{layer:?}");
        }
    }

    fn assert_nothing_more(&self) {
        assert!(self.world.asked.layers().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn law_12_the_pipe_stopped_for_a_day() {
    let mut scene = Scene::new();
    let mut items = Vec::new();
    for hour in 0..24 {
        items.push(scene.edit(&format!("page-{hour:02}")).await);
        scene.pass(60).await;
    }
    scene.assert_once(&items);
    // It starts again where it stood: the stream still holds the whole day.
    scene.forward(&[]);
    assert_eq!(
        scene.line.waiting.lock().unwrap().len(),
        24,
        "the ids are forgotten"
    );
    scene.consume().await;
    scene.pass(60).await;
    scene.assert_nothing_more();
}

#[tokio::test(start_paused = true)]
async fn law_12_the_pipe_deleted_and_recreated() {
    let mut scene = Scene::new();
    let mut items = scene.edits(5).await;
    tokio::time::advance(MINUTE).await;
    scene.forward(&[]);
    scene.consume().await;
    scene.assert_once(&items);
    // Nothing forwards while it is gone; the new one begins with everything the stream holds.
    let between = [scene.edit("between-1").await, scene.edit("between-2").await];
    scene.pass(10).await;
    scene.position = 0;
    scene.forward(&[]);
    scene.consume().await;
    scene.assert_once(&between);
    items.extend(between);
    assert_eq!(scene.pass(60).await.resent, 0, "nothing was left to the relay");
    scene.assert_nothing_more();
}

#[tokio::test(start_paused = true)]
async fn law_12_the_stream_trimmed_before_the_pipe_read_it() {
    let mut scene = Scene::new();
    let items = scene.edits(30).await;
    scene.stream.clear();
    scene.forward(&[]);
    scene.consume().await;
    scene.assert_nothing_more();
    assert_eq!(scene.pass(26).await.resent, 30);
    scene.assert_once(&items);
    assert_eq!(scene.pass(60).await.resent, 0);
    scene.assert_nothing_more();
}

#[tokio::test(start_paused = true)]
async fn law_12_a_record_that_the_pipe_cannot_send() {
    let mut scene = Scene::new();
    let mut items = scene.edits(5).await;
    tokio::time::advance(MINUTE).await;
    let unsendable = items.remove(2);
    // It ends in the Pipe's dead-letter queue, without its payload; the others are not held up.
    scene.forward(&[&unsendable]);
    scene.consume().await;
    scene.assert_once(&items);
    assert_eq!(scene.world.item(&unsendable).status, Some(Status::Ready));
    assert_eq!(scene.pass(26).await.resent, 1);
    scene.assert_once(&[unsendable]);
}

#[tokio::test(start_paused = true)]
async fn law_12_the_queue_denied_for_a_while() {
    let mut scene = Scene::new();
    let items = scene.edits(12).await;
    *scene.line.denied.lock().unwrap() = true;
    scene.forward(&[]);
    let summary = scene.pass(180).await;
    assert_eq!(summary.resent, 0);
    assert!(summary.unsent > 12 * 100, "tried each minute: {}", summary.unsent);
    for item in &items {
        assert_eq!(
            scene.world.item(item).attempts,
            0,
            "a send that was refused is no attempt"
        );
    }
    *scene.line.denied.lock().unwrap() = false;
    assert_eq!(scene.pass(2).await.resent, 12);
    scene.assert_once(&items);
    assert_eq!(scene.pass(60).await.resent, 0);
    scene.assert_nothing_more();
}
