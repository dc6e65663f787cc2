//! What the webhook function reads: a signature, a signed body, a whole event of API Gateway.

use std::time::Duration;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use hmac::{Hmac, KeyInit, Mac};
use ledger::{identity::MessageGroup, record::Settings, store::memory::MemoryLedger};
use platform::{Deadline, FixedSecrets, ManualClock, Metrics, Secret, SecretCache};
use routing::RoutesConfig;
use sanity::signature::{self, Claim};
use serde_json::{Value, json};
use sha2::Sha256;
use time::OffsetDateTime;
use webhook::{answer::Answer, handler::Handler};

use crate::server;

/// What everything is signed with.
pub const SECRET: &str = "whsec_fuzz";
/// When everything is signed, unix milliseconds.
pub const SIGNED_AT: u64 = 1_773_379_770_000;
/// What the webhook may answer, whatever it is sent.
const CONTRACT: [u16; 6] = [200, 400, 401, 405, 415, 503];

/// The header of a body signed with [`SECRET`].
pub fn signed(body: &[u8], milliseconds: u64) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key of any length");
    mac.update(format!("{milliseconds}.").as_bytes());
    mac.update(body);
    let signature = URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
    format!("t={milliseconds},v1={signature}")
}

/// The header's line, then the body. Only the one right header passes.
pub fn signature_header(input: &[u8]) {
    let end = input
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(input.len());
    let header = String::from_utf8_lossy(&input[..end]);
    let body = input.get(end + 1..).unwrap_or_default();
    let _ = Claim::parse(body, &header);
    if let Ok(at) = signature::verify(body, &header, SECRET.as_bytes()) {
        assert_eq!(header, signed(body, at.milliseconds()), "a forged header passes");
    }
}

/// A body that is signed rightly is committed and answered 200, whatever it says.
pub fn webhook_body(input: &[u8]) {
    let event = json!({
        "version": "2.0",
        "requestContext": {"http": {"method": "POST"}},
        "headers": {"content-type": "application/json", "sanity-webhook-signature": signed(input, SIGNED_AT)},
        "body": STANDARD.encode(input),
        "isBase64Encoded": true,
    });
    let (answer, stored) = answered(event);
    let expected = if input.is_empty() { (400, 0) } else { (200, 1) };
    assert_eq!((answer.status, stored), expected, "{:?}", answer.body);
}

/// Any JSON that the runtime hands over: an answer of the contract, and 200 only for what is stored.
pub fn http_event(input: &[u8]) {
    let Ok(event) = serde_json::from_slice::<Value>(input) else {
        return;
    };
    let (answer, stored) = answered(event);
    assert!(CONTRACT.contains(&answer.status), "{answer:?}");
    assert_eq!(answer.status == 200, stored == 1, "{answer:?}");
    answer.into_response();
}

/// What the real handler answers, and how many events it then holds.
fn answered(event: Value) -> (Answer, usize) {
    let handler = Handler {
        recorder: MemoryLedger::new(),
        secrets: SecretCache::with_source(
            FixedSecrets {
                current: Secret::new(SECRET),
                previous: None,
            },
            Duration::from_secs(300),
        ),
        clock: ManualClock::new(
            OffsetDateTime::from_unix_timestamp_nanos(i128::from(SIGNED_AT) * 1_000_000).expect("a time"),
        ),
        metrics: Metrics::new("fuzz", "webhook"),
        routes: RoutesConfig::embedded().expect("routes.toml"),
        settings: Settings {
            stage: "fuzz".to_owned(),
            project: "localproject".to_owned(),
            datasets: vec!["production".to_owned()],
            message_group: MessageGroup::Document,
            ready_shards: 4,
            grace_seconds: 1500,
            retention_days: 90,
        },
        signature_max_age: None,
    };
    let deadline = Deadline::after(Duration::from_secs(60));
    let answer = server::block_on(handler.handle(event, None, deadline));
    (answer, handler.recorder.event_count())
}
