use std::sync::{Mutex, atomic::AtomicBool, atomic::Ordering};

use ledger::{
    item::{Class, Kind, Origin, State, Status},
    store::{Documents, memory::MemoryLedger},
};
use platform::{ManualClock, fault::watched};
use time::OffsetDateTime;

use super::*;

#[derive(Default)]
struct FakeQueue {
    sent: Mutex<Vec<Outgoing>>,
    refuses: AtomicBool,
}

impl Queue for FakeQueue {
    async fn send(&self, messages: &[Outgoing]) -> Vec<Option<String>> {
        if self.refuses.load(Ordering::SeqCst) {
            return messages.iter().map(|_| Some("AccessDenied".to_owned())).collect();
        }
        self.sent.lock().unwrap().extend_from_slice(messages);
        vec![None; messages.len()]
    }
}

struct FakePipe(Result<bool, String>);

impl Pipe for FakePipe {
    async fn is_running(&self) -> Result<bool, String> {
        self.0.clone()
    }
}

type TestRelay = Relay<MemoryLedger, FakeQueue, FakePipe, ManualClock>;

const START: i64 = 1_800_000_000;

fn relay() -> TestRelay {
    Relay {
        outbox: Arc::new(MemoryLedger::new()),
        queue: FakeQueue::default(),
        pipe: FakePipe(Ok(true)),
        clock: ManualClock::new(OffsetDateTime::from_unix_timestamp(START).unwrap()),
        settings: Settings {
            ready_shards: 4,
            limits: ResendLimits {
                max_attempts: 3,
                grace_seconds: 1500,
            },
            message_group: MessageGroup::Document,
        },
    }
}

fn item(name: &str) -> OutboxItem {
    let event_id = format!("evt_{name}");
    OutboxItem {
        pk: ledger::identity::document_key("p", "d", name),
        sk: ledger::identity::sort_key(START, &event_id),
        kind: Kind::Event,
        status: Some(Status::Ready),
        state: State::Pending,
        reason: None,
        message_group_id: None,
        message_deduplication_id: None,
        next_attempt: Some(START + 1500),
        ready_shard: Some(ledger::identity::ready_shard(&event_id, 4)),
        state_key: None,
        attempts: 0,
        resends: 0,
        defers: 0,
        deliveries: 1,
        project: "p".to_owned(),
        dataset: "d".to_owned(),
        document_id: Some(name.to_owned()),
        document_type: Some("page".to_owned()),
        operation: None,
        class: Class::Write,
        revision: Some("r1".to_owned()),
        previous_revision: None,
        second: START,
        unordered: false,
        slugs: vec![],
        accepted_at: START * 1000,
        received_at: String::new(),
        trace_parent: None,
        source: Origin::Webhook,
        last_error: None,
        last_attempt: None,
        applied_at: None,
        routes_affected: None,
        generation: None,
        entries: None,
        from_layer: None,
        seen: None,
        expires_at: None,
        event_id,
    }
}

async fn step(relay: &TestRelay) -> (Summary, Metrics) {
    let metrics = Metrics::new("test", "relay");
    let summary = relay
        .step(Deadline::after(Duration::from_secs(50)), &metrics)
        .await;
    (summary, metrics)
}

async fn held(relay: &TestRelay, item: &OutboxItem) -> OutboxItem {
    relay
        .outbox
        .item_and_head(&item.pk, &item.sk)
        .await
        .unwrap()
        .unwrap()
        .0
}

#[tokio::test]
async fn law_12_nothing_is_sent_before_its_time_and_everything_after() {
    let relay = relay();
    for number in 0..25 {
        relay.outbox.put_item(item(&format!("page-{number}")));
    }
    assert_eq!(step(&relay).await.0.resent, 0);
    relay.clock.advance(Duration::from_secs(1500));
    let (summary, metrics) = step(&relay).await;
    assert_eq!((summary.resent, summary.ready, summary.complete), (25, 25, true));
    assert_eq!(metrics.sum("OutboxOldestReadyAge"), 1500.0);
    let sent = relay.queue.sent.lock().unwrap().clone();
    let ids: std::collections::BTreeSet<&str> = sent.iter().map(|it| it.deduplication_id.as_str()).collect();
    assert_eq!(ids.len(), 25);
    let message = Message::read(&sent[0].body).unwrap();
    assert_eq!(format!("{}#a1", message.event_id), sent[0].deduplication_id);
    assert_eq!(
        step(&relay).await.0.resent,
        0,
        "claimed for the length of the grace"
    );
}

#[tokio::test]
async fn law_12_dead_after_three_sends_that_nobody_answered_and_an_answer_starts_again() {
    let relay = relay();
    let lonely = item("lonely");
    let answered = item("answered");
    relay.outbox.put_item(lonely.clone());
    relay.outbox.put_item(answered.clone());
    for round in 1..=4 {
        relay.clock.advance(Duration::from_secs(1500));
        step(&relay).await;
        let deferral = ledger::store::Deferral {
            next_attempt: relay.clock.now().unix_timestamp() + 60,
            error: "target is out".to_owned(),
            at: String::new(),
        };
        let item = held(&relay, &answered).await;
        assert_eq!(item.resends, round);
        relay.outbox.defer(&item, &deferral).await.unwrap();
    }
    assert_eq!(held(&relay, &lonely).await.status, Some(Status::Dead));
    assert_eq!(
        held(&relay, &lonely).await.state,
        State::Pending,
        "DEAD can still end applied"
    );
    assert_eq!(held(&relay, &answered).await.status, Some(Status::Ready));
}

#[tokio::test]
async fn law_12_a_send_the_queue_refused_consumes_no_attempt() {
    let relay = relay();
    let item = item("page");
    relay.outbox.put_item(item.clone());
    relay.queue.refuses.store(true, Ordering::SeqCst);
    relay.clock.advance(Duration::from_secs(1500));
    for _ in 0..10 {
        assert_eq!(step(&relay).await.0.unsent, 1);
        relay.clock.advance(Duration::from_secs(60));
    }
    relay.queue.refuses.store(false, Ordering::SeqCst);
    assert_eq!(step(&relay).await.0.resent, 1);
    let held = held(&relay, &item).await;
    assert_eq!((held.attempts, held.resends), (1, 11), "every try had a fresh id");
}

#[tokio::test]
async fn law_12_two_relays_at_once_send_once() {
    let relay = relay();
    relay.outbox.put_item(item("page"));
    relay.clock.advance(Duration::from_secs(1500));
    let (one, two) = tokio::join!(step(&relay), step(&relay));
    assert_eq!(one.0.resent + two.0.resent, 1);
}

#[tokio::test]
async fn law_15_the_state_of_the_pipe_is_a_metric_and_not_knowing_it_is_a_fault() {
    for (pipe, value, faults) in [
        (Ok(true), 1.0, 0),
        (Ok(false), 0.0, 0),
        (Err("denied".to_owned()), f64::NAN, 1),
    ] {
        let relay = TestRelay {
            pipe: FakePipe(pipe),
            ..relay()
        };
        let (summary, metrics) = step(&relay).await;
        assert_eq!(summary.faults, faults);
        let collected = metrics.collected();
        match collected.get("PipeRunning") {
            Some(values) => assert_eq!(values, &[value]),
            None => assert!(value.is_nan(), "missing only where the state is not known"),
        }
    }
}

/// Claimed and not sent, sent and not noted: an item waits for its grace, and is sent then.
#[tokio::test]
async fn law_12_a_relay_killed_at_any_step_leaves_nothing_unsent() {
    let items: Vec<OutboxItem> = (0..12).map(|number| item(&format!("page-{number}"))).collect();
    let due = || {
        let relay = relay();
        for item in &items {
            relay.outbox.put_item(item.clone());
        }
        relay.clock.advance(Duration::from_secs(1500));
        relay
    };
    let whole = watched(step(&due()), None).await.reached;
    assert!(whole.contains(&"relay.claimed".to_owned()) && whole.contains(&"relay.sent".to_owned()));
    for (place, point) in whole.iter().enumerate() {
        let relay = due();
        assert!(watched(step(&relay), Some(place)).await.end.is_none());
        step(&relay).await;
        relay.clock.advance(Duration::from_secs(1500));
        step(&relay).await;
        let sent = relay.queue.sent.lock().unwrap().clone();
        let ids: std::collections::BTreeSet<&str> =
            sent.iter().map(|it| it.deduplication_id.as_str()).collect();
        assert_eq!(ids.len(), sent.len(), "{point}: each send has an id of its own");
        for item in &items {
            let read = |outgoing: &Outgoing| Message::read(&outgoing.body).unwrap().sort_key == item.sk;
            assert!(sent.iter().any(read), "{point}: {} was not sent", item.sk);
            let held = held(&relay, item).await;
            assert_eq!(held.status, Some(Status::Ready), "{point}");
        }
    }
}
