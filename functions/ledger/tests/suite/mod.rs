//! The cases, generic over the ledger.

mod jobs;
mod operating;
mod recording;
mod relaying;
mod waking;

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

pub use jobs::*;
use ledger::{
    identity::MessageGroup,
    item::OutboxItem,
    record::{Decision, NewEvent, Settings},
    store::{Deferral, Mark, dynamo::DynamoLedger},
};
pub use operating::*;
use platform::Deadline;
pub use recording::*;
pub use relaying::*;
use sanity::{delivery::Delivery, signature::SignedAt};
use time::OffsetDateTime;
pub use waking::*;

pub const NOW: i64 = 1_900_000_000;

/// A ledger on fresh tables of an emulator, if there is one.
pub async fn dynamo(case: &str) -> Option<DynamoLedger> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let url = std::env::var("CASCATA_TEST_DYNAMODB_URL").ok()?;
    let credentials = aws_sdk_dynamodb::config::Credentials::new("test", "test", None, None, "test");
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(aws_sdk_dynamodb::config::BehaviorVersion::latest())
        .endpoint_url(url)
        .region(aws_sdk_dynamodb::config::Region::new("eu-west-1"))
        .credentials_provider(credentials)
        .build();
    let client = aws_sdk_dynamodb::Client::from_conf(config);
    let name = format!(
        "{case}-{}-{}",
        std::process::id(),
        SERIAL.fetch_add(1, Ordering::Relaxed)
    );
    let (events, outbox) = (format!("events-{name}"), format!("outbox-{name}"));
    ledger::store::dynamo::create_tables(&client, &events, &outbox)
        .await
        .expect("fresh tables");
    Some(DynamoLedger::new(client, events, outbox))
}

pub fn settings() -> Settings {
    Settings {
        stage: "test".to_owned(),
        project: "project".to_owned(),
        datasets: vec!["production".to_owned()],
        message_group: MessageGroup::Document,
        ready_shards: 1,
        grace_seconds: 1500,
        retention_days: 30,
    }
}

/// The event of a signed body, received at [`NOW`].
pub fn event_of(body: &[u8], decision: Decision) -> NewEvent {
    let headers = BTreeMap::from([
        ("sanity-dataset".to_owned(), "production".to_owned()),
        ("idempotency-key".to_owned(), "key-1".to_owned()),
    ]);
    let delivery = Delivery::read(body, &headers, SignedAt(1_890_000_000_000));
    let received = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
    NewEvent::from_delivery(
        delivery,
        body.to_vec(),
        "current",
        decision,
        received,
        &settings(),
        None,
    )
}

/// A pending write of `document` with this revision; its `_updatedAt` is `second`.
pub fn event(document: &str, revision: &str, second: i64) -> NewEvent {
    let updated = ledger::record::rfc3339(OffsetDateTime::from_unix_timestamp(second).unwrap());
    let body = format!(
        r#"{{"_id":"{document}","_type":"page","_rev":"{revision}","_updatedAt":"{updated}",
            "operation":"update","slug":"/{document}","projectId":"project","dataset":"production"}}"#
    );
    event_of(body.as_bytes(), Decision::Pending)
}

pub fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

pub fn mark() -> Mark {
    Mark {
        reason: "applied".to_owned(),
        applied_at: "2030-01-01T00:00:00.000Z".to_owned(),
        routes_affected: Some(2),
        expires_at: NOW + 86_400,
    }
}

/// Put off for a minute at that time.
pub fn deferral(at: &str) -> Deferral {
    Deferral {
        next_attempt: NOW + 60,
        error: "Stellate: 503".to_owned(),
        at: at.to_owned(),
    }
}

pub fn only(items: &[OutboxItem]) -> &OutboxItem {
    assert_eq!(items.len(), 1, "{items:?}");
    &items[0]
}
