use futures::future::join_all;
use ledger::{
    item::{Class, Seen, State, Status},
    observed::Observation,
    payload::Encoding,
    record::{Decision, NewEvent},
    store::{Documents, Recorded, Recorder},
};
use time::OffsetDateTime;

use super::{NOW, event, event_of, only, settings, soon};

pub async fn law_2_an_event_is_recorded_once_however_often_it_is_sent(ledger: &(impl Recorder + Documents)) {
    let first = event("page-1", "r1", 100);
    assert_eq!(ledger.record(&first, soon()).await.unwrap(), Recorded::New);
    for _ in 0..3 {
        assert_eq!(ledger.record(&first, soon()).await.unwrap(), Recorded::Duplicate);
    }
    let second = event("page-1", "r2", 100);
    assert_ne!(first.event_id(), second.event_id());
    assert_eq!(ledger.record(&second, soon()).await.unwrap(), Recorded::New);
    let state = ledger.read(&first.item.pk, &first.item.sk).await.unwrap();
    assert_eq!(state.items.len(), 2);
    assert!(state.items.iter().all(|item| item.status == Some(Status::Ready)));
    assert!(ledger.event_exists(first.event_id()).await.unwrap());
    assert!(!ledger.event_exists("evt_other").await.unwrap());
}

pub async fn law_2_twenty_at_once_leave_one_event_and_one_item(ledger: &(impl Recorder + Documents)) {
    let event = event("page-1", "r1", 100);
    let answers = join_all((0..20).map(|_| ledger.record(&event, soon()))).await;
    let new = answers
        .iter()
        .filter(|answer| matches!(answer, Ok(Recorded::New)))
        .count();
    let duplicate = answers
        .iter()
        .filter(|answer| matches!(answer, Ok(Recorded::Duplicate)))
        .count();
    assert_eq!((new, duplicate), (1, 19), "{answers:?}");
    let state = ledger.read(&event.item.pk, &event.item.sk).await.unwrap();
    only(&state.items);
}

pub async fn law_2_a_delivery_is_counted_on_an_existing_item_only(ledger: &(impl Recorder + Documents)) {
    let event = event("page-1", "r1", 100);
    ledger.count_delivery(&event).await.unwrap();
    assert!(
        ledger
            .read(&event.item.pk, &event.item.sk)
            .await
            .unwrap()
            .items
            .is_empty()
    );
    ledger.record(&event, soon()).await.unwrap();
    ledger.count_delivery(&event).await.unwrap();
    ledger.count_delivery(&event).await.unwrap();
    let state = ledger.read(&event.item.pk, &event.item.sk).await.unwrap();
    assert_eq!(only(&state.items).deliveries, 3);
}

pub async fn law_4_a_large_event_is_recorded(ledger: &(impl Recorder + Documents)) {
    let mut noise = String::new();
    let mut number = 1u64;
    while noise.len() < 2_000_000 {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        noise.push_str(&format!("{number:016x}"));
    }
    for (text, encoding) in [("x".repeat(2_000_000), Encoding::Gzip), (noise, Encoding::Absent)] {
        let body = format!(
            r#"{{"_id":"page-{}","_type":"page","_rev":"r1","text":"{text}"}}"#,
            &text[..4]
        );
        let event = event_of(
            body.as_bytes(),
            Decision::InReview {
                reason: "test".to_owned(),
            },
        );
        assert_eq!(event.record.payload_encoding, encoding);
        assert_eq!(ledger.record(&event, soon()).await.unwrap(), Recorded::New);
        let state = ledger.read(&event.item.pk, &event.item.sk).await.unwrap();
        let item = only(&state.items);
        assert_eq!((item.state, item.status), (State::InReview, None));
        assert_eq!(item.state_key.as_deref(), Some("STATE#in_review"));
    }
}

pub async fn law_5_a_revision_told_again_with_other_content_is_kept_once_and_in_review(
    ledger: &(impl Recorder + Documents),
) {
    let told = |slug: &str| {
        let body = format!(
            r#"{{"_id":"page-1","_type":"page","_rev":"r1","_updatedAt":"2026-01-01T00:00:00Z","operation":"update",
                "projectId":"project","dataset":"production","slug":"{slug}"}}"#
        );
        event_of(body.as_bytes(), Decision::Pending)
    };
    let first = told("a");
    assert_eq!(ledger.record(&first, soon()).await.unwrap(), Recorded::New);
    let mut answers = Vec::new();
    for slug in ["a", "b", "b"] {
        answers.push(ledger.record(&told(slug), soon()).await.unwrap());
    }
    use Recorded::{Contradiction, Duplicate};
    assert_eq!(answers, [Duplicate, Contradiction, Duplicate]);
    let state = ledger.read(&first.item.pk, &first.item.sk).await.unwrap();
    let states: Vec<State> = state.items.iter().map(|item| item.state).collect();
    assert_eq!(states.len(), 2);
    assert!(states.contains(&State::Pending) && states.contains(&State::InReview));
}

/// The same revision as [`event`] has it, seen by reconcile before any webhook came.
fn reconciled(document: &str, revision: &str, second: i64) -> NewEvent {
    let observation = Observation {
        dataset: "production".to_owned(),
        document_id: document.to_owned(),
        document_type: Some("page".to_owned()),
        class: Class::Write,
        seen: Some(Seen {
            revision: revision.to_owned(),
            second,
        }),
        slugs: vec![],
    };
    let now = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
    NewEvent::observed(&observation, Decision::Pending, now, &settings())
}

pub async fn law_8_a_webhook_of_a_reconciled_event_still_brings_its_slugs(
    ledger: &(impl Recorder + Documents),
) {
    let webhook = event("page-1", "r1", 100);
    let seen = reconciled("page-1", "r1", 100);
    assert_eq!(seen.event_id(), webhook.event_id());
    assert_eq!(ledger.record(&seen, soon()).await.unwrap(), Recorded::New);
    for _ in 0..3 {
        assert_eq!(
            ledger.record(&webhook, soon()).await.unwrap(),
            Recorded::Duplicate
        );
    }
    let state = ledger.read(&webhook.item.pk, &webhook.item.sk).await.unwrap();
    let state_items = state.items;
    assert_eq!(
        state_items.len(),
        2,
        "the reconciled event and, once, what the webhook knew more"
    );
    let more = state_items.iter().find(|item| !item.slugs.is_empty()).unwrap();
    assert_eq!(more.slugs, ["/page-1"]);
    assert_eq!(
        (more.revision.as_deref(), more.second, more.status),
        (Some("r1"), 100, Some(Status::Ready))
    );
    assert!(
        ledger.event_exists(&more.event_id).await.unwrap(),
        "with its own evidence"
    );
}

pub async fn law_8_a_reconciled_duplicate_of_a_webhook_adds_nothing(ledger: &(impl Recorder + Documents)) {
    let webhook = event("page-1", "r1", 100);
    ledger.record(&webhook, soon()).await.unwrap();
    assert_eq!(
        ledger
            .record(&reconciled("page-1", "r1", 100), soon())
            .await
            .unwrap(),
        Recorded::Duplicate
    );
    let state = ledger.read(&webhook.item.pk, &webhook.item.sk).await.unwrap();
    only(&state.items);
}
