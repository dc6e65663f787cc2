//! Dead letters of both kinds, over the ledger in memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use deadletters::{
    letter::Letter,
    notice::{Notice, Place},
    step::{DeadLetterQueue, DeadLetters, Notices, Summary},
};
use ledger::{
    identity::MessageGroup,
    item::{OutboxItem, State},
    message::Message,
    record::{Decision, NewEvent, Settings},
    store::{Documents, Mark, Outbox, Recorder, jobs::Letters, memory::MemoryLedger},
};
use platform::{Deadline, ManualClock, Metrics, fault::watched};
use sanity::{delivery::Delivery, signature::SignedAt};
use time::OffsetDateTime;

const NOW: i64 = 1_900_000_000;

/// A queue whose messages are hidden once received, until they are given back.
#[derive(Debug, Default)]
struct Queue {
    /// By message id: the letter, and whether it is hidden.
    letters: Mutex<BTreeMap<String, (Letter, bool)>>,
}

impl Queue {
    fn put(&self, id: &str, body: &str) {
        let letter = Letter {
            message_id: id.to_owned(),
            receipt: format!("receipt-{id}"),
            body: body.to_owned(),
            receive_count: 3,
            sent_at: NOW * 1000,
        };
        self.letters
            .lock()
            .unwrap()
            .insert(id.to_owned(), (letter, false));
    }

    /// Nobody gave back what a killed run had received: it shows again by itself.
    fn visibility_ends(&self) {
        for (_, hidden) in self.letters.lock().unwrap().values_mut() {
            *hidden = false;
        }
    }

    fn left(&self) -> Vec<String> {
        let letters = self.letters.lock().unwrap();
        assert!(
            letters.values().all(|(_, hidden)| !hidden),
            "what is kept is visible again"
        );
        letters.keys().cloned().collect()
    }
}

impl DeadLetterQueue for Queue {
    async fn receive(&self) -> Result<Vec<Letter>, String> {
        let mut letters = self.letters.lock().unwrap();
        let visible = letters.values_mut().filter(|(_, hidden)| !hidden).take(2);
        Ok(visible
            .map(|(letter, hidden)| {
                *hidden = true;
                letter.clone()
            })
            .collect())
    }

    async fn delete(&self, letter: &Letter) -> Result<(), String> {
        self.letters.lock().unwrap().remove(&letter.message_id);
        Ok(())
    }

    async fn give_back(&self, letter: &Letter) -> Result<(), String> {
        if let Some((_, hidden)) = self.letters.lock().unwrap().get_mut(&letter.message_id) {
            *hidden = false;
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Told {
    notices: Mutex<Vec<Notice>>,
    down: Mutex<bool>,
}

impl Notices for Told {
    async fn publish(&self, notice: &Notice) -> Result<(), String> {
        if *self.down.lock().unwrap() {
            return Err("no topic".to_owned());
        }
        self.notices.lock().unwrap().push(notice.clone());
        Ok(())
    }
}

struct Scene {
    job: DeadLetters<MemoryLedger, Queue, Told, ManualClock>,
    ledger: Arc<MemoryLedger>,
    queue: Arc<Queue>,
    pipe: Arc<Queue>,
    told: Arc<Told>,
}

impl Scene {
    fn new() -> Self {
        let ledger = Arc::new(MemoryLedger::new());
        let (queue, pipe, told) = <(Arc<Queue>, Arc<Queue>, Arc<Told>)>::default();
        let job = DeadLetters {
            ledger: ledger.clone(),
            queue: queue.clone(),
            pipe: pipe.clone(),
            notices: told.clone(),
            place: Place {
                stage: "test".to_owned(),
                operator: "stack-operator".to_owned(),
            },
            ready_shards: 1,
            clock: ManualClock::new(OffsetDateTime::from_unix_timestamp(NOW + 3600).unwrap()),
        };
        Self {
            job,
            ledger,
            queue,
            pipe,
            told,
        }
    }

    async fn accept(&self, id: &str) -> OutboxItem {
        let body = format!(
            r#"{{"_id":"{id}","_type":"page","_rev":"r1","operation":"update","dataset":"production","projectId":"project"}}"#
        );
        let settings = Settings {
            stage: "test".to_owned(),
            project: "project".to_owned(),
            datasets: vec!["production".to_owned()],
            message_group: MessageGroup::Document,
            ready_shards: 1,
            grace_seconds: 1500,
            retention_days: 30,
        };
        let delivery = Delivery::read(body.as_bytes(), &BTreeMap::new(), SignedAt(1_890_000_000_000));
        let now = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
        let raw = body.into_bytes();
        let event =
            NewEvent::from_delivery(delivery, raw, "current", Decision::Pending, now, &settings, None);
        let soon = Deadline::after(Duration::from_secs(5));
        self.ledger.record(&event, soon).await.unwrap();
        event.item
    }

    fn wake_of(&self, letter: &str, item: &OutboxItem) {
        let message = Message::new(&item.event_id, &item.pk, &item.sk);
        self.queue.put(letter, &serde_json::to_string(&message).unwrap());
    }

    async fn run(&self) -> Summary {
        let metrics = Metrics::new("test", "deadletters");
        self.job
            .step(Deadline::after(Duration::from_secs(60)), &metrics)
            .await
    }

    async fn held(&self, item: &OutboxItem) -> OutboxItem {
        self.ledger.item(&item.pk, &item.sk).await.unwrap().unwrap()
    }

    async fn apply(&self, item: &OutboxItem) {
        let mark = Mark {
            reason: "applied".to_owned(),
            applied_at: "then".to_owned(),
            routes_affected: None,
            expires_at: NOW,
        };
        self.ledger.mark(item, &mark).await.unwrap();
    }

    fn notices(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.told.notices.lock().unwrap())
    }
}

#[tokio::test]
async fn law_15_a_dead_letter_fails_its_event_tells_once_and_stays_until_it_is_settled() {
    let scene = Scene::new();
    let item = scene.accept("page-1").await;
    scene.wake_of("m1", &item);
    scene.wake_of("m2", &item);
    let summary = scene.run().await;
    assert_eq!(
        (summary.failed, summary.told, summary.settled, summary.faults),
        (1, 1, 0, 0)
    );
    let held = scene.held(&item).await;
    assert_eq!((held.state, held.status), (State::Failed, None));
    assert!(held.reason.unwrap().contains("3 receives"));
    let due = scene.ledger.due("READY#0", i64::MAX, None).await.unwrap();
    assert!(due.keys.is_empty(), "out of READY");
    let notices = scene.notices();
    let text = &notices[0].text;
    for part in [
        "page-1",
        "type page",
        "after 3 receives",
        "stack-operator",
        &item.event_id,
        "\"verb\":\"reprocess\"",
    ] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    for _ in 0..3 {
        let summary = scene.run().await;
        assert_eq!((summary.failed, summary.told), (0, 0), "one notice an event");
    }
    assert_eq!(scene.queue.left(), ["m1", "m2"]);
    scene.apply(&item).await;
    assert_eq!(scene.run().await.settled, 2);
    assert!(scene.queue.left().is_empty());
}

#[tokio::test]
async fn law_12_a_letter_of_an_applied_event_just_leaves() {
    let scene = Scene::new();
    let item = scene.accept("page-1").await;
    scene.apply(&item).await;
    scene.wake_of("m1", &item);
    let summary = scene.run().await;
    assert_eq!((summary.failed, summary.told, summary.settled), (0, 0, 1));
    assert_eq!(scene.held(&item).await.state, State::Applied);
}

#[tokio::test]
async fn law_15_foreign_letters_are_told_once_and_kept_and_stop_no_other() {
    let scene = Scene::new();
    scene.queue.put("a", "not json");
    scene.queue.put("b", "{\"version\":\"9\"}");
    let unknown =
        r#"{"version":"1","event_id":"evt_1","document_key":"DOC#1","sort_key":"E#000000000001#evt_1"}"#;
    scene.queue.put("c", unknown);
    let item = scene.accept("page-1").await;
    scene.wake_of("d", &item);
    let summary = scene.run().await;
    assert_eq!(
        (summary.foreign, summary.failed, summary.told, summary.faults),
        (3, 1, 4, 0)
    );
    assert_eq!(scene.run().await.told, 0);
    assert_eq!(scene.queue.left(), ["a", "b", "c", "d"]);
    let notices = scene.notices();
    assert!(
        notices.iter().all(|notice| !notice.text.contains("not json\"")),
        "no bodies"
    );
}

const RANGE: &str = r#"{"context":{"condition":"RetryAttemptsExhausted"},"version":"1.0","DDBStreamBatchInfo":{
    "approximateArrivalOfLastRecord":"2030-03-17T17:47:00Z","batchSize":1}}"#;

#[tokio::test]
async fn law_12_the_pipes_letter_stays_while_what_it_stands_for_is_ready() {
    let scene = Scene::new();
    let item = scene.accept("page-1").await;
    scene.pipe.put("p", RANGE);
    let summary = scene.run().await;
    assert_eq!((summary.told, summary.settled), (1, 0));
    assert!(scene.notices()[0].text.contains("RetryAttemptsExhausted"));
    assert_eq!(scene.run().await.told, 0);
    assert_eq!(scene.pipe.left(), ["p"]);
    assert_eq!(
        scene.held(&item).await.state,
        State::Pending,
        "the relay sends it; nothing failed"
    );
    scene.apply(&item).await;
    assert_eq!(scene.run().await.settled, 1);
    assert!(scene.pipe.left().is_empty());
}

#[tokio::test]
async fn the_pipes_probe_leaves_without_a_word() {
    let scene = Scene::new();
    for (id, body) in [("a", ""), ("b", "{}"), ("c", "probe")] {
        scene.pipe.put(id, body);
    }
    let summary = scene.run().await;
    assert_eq!((summary.foreign, summary.settled, summary.told), (3, 3, 0));
    assert!(scene.pipe.left().is_empty());
}

#[tokio::test]
async fn law_15_a_notice_that_could_not_be_sent_is_sent_by_the_next_run() {
    let scene = Scene::new();
    let item = scene.accept("page-1").await;
    scene.wake_of("m1", &item);
    *scene.told.down.lock().unwrap() = true;
    let summary = scene.run().await;
    assert_eq!((summary.failed, summary.told, summary.faults), (1, 0, 1));
    *scene.told.down.lock().unwrap() = false;
    assert_eq!(scene.run().await.told, 1);
    assert_eq!(scene.queue.left(), ["m1"]);
}

/// What a run that is killed at its point number `dies_at`, and two more, make of letters of every kind: the points passed, who
/// was told, and what is left of the letters.
async fn play(dies_at: Option<usize>) -> (Vec<String>, Vec<String>, [Vec<String>; 2]) {
    let scene = Scene::new();
    let (open, done) = (scene.accept("page-1").await, scene.accept("page-2").await);
    scene.apply(&done).await;
    scene.wake_of("a", &open);
    scene.wake_of("b", &done);
    scene.queue.put("c", "not json");
    scene.pipe.put("d", "probe");
    // The Pipe's letter stands for this one: the failed item is not READY any more.
    let ready = scene.accept("page-3").await;
    scene.pipe.put("e", RANGE);
    let killed = watched(scene.run(), dies_at).await;
    assert_eq!(killed.end.is_none(), dies_at.is_some());
    for _ in 0..2 {
        scene.queue.visibility_ends();
        scene.pipe.visibility_ends();
        assert_eq!(scene.run().await.faults, 0);
    }
    assert_eq!(scene.held(&open).await.state, State::Failed);
    assert_eq!(scene.held(&ready).await.state, State::Pending);
    let mut told: Vec<String> = scene.notices().into_iter().map(|notice| notice.text).collect();
    told.sort();
    (killed.reached, told, [scene.queue.left(), scene.pipe.left()])
}

#[tokio::test]
async fn law_15_a_run_killed_at_any_step_tells_of_every_letter_and_keeps_what_is_not_settled() {
    let (points, whole, left) = play(None).await;
    assert_eq!(left, [vec!["a", "c"], vec!["e"]]);
    assert_eq!(whole.len(), 3);
    for (place, point) in points.iter().enumerate() {
        let (_, mut told, kept) = play(Some(place)).await;
        let times = told.len();
        told.dedup();
        assert_eq!(told, whole, "killed at {point}");
        assert_eq!(kept, left, "killed at {point}");
        let twice = usize::from(point == "deadletters.told");
        assert_eq!(
            times - told.len(),
            twice,
            "told twice only between the two writes: {point}"
        );
    }
    for point in ["failed", "told", "noted", "deleted"] {
        assert!(points.contains(&format!("deadletters.{point}")), "{points:?}");
    }
}
