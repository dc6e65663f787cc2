//! A webhook function on a ledger in memory, with a clock, secrets and faults that a test sets.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use ledger::identity::MessageGroup;
use ledger::record::{NewEvent, Settings};
use ledger::store::memory::MemoryLedger;
use ledger::store::{LedgerError, Recorded, Recorder};
use platform::{
    Deadline, ManualClock, Metrics, Secret, SecretCache, SecretError, SecretSource, SecretVersion,
};
use routing::RoutesConfig;
use serde_json::{Value, json};
use sha2::Sha256;
use time::OffsetDateTime;
use webhook::answer::Answer;
use webhook::handler::Handler;

pub(crate) const SECRET: &str = "whsec_current";
pub(crate) const PREVIOUS: &str = "whsec_previous";
/// The signed time of every request, and the clock's.
pub(crate) const NOW_MS: i128 = 1_773_379_770_000;

/// Secrets Manager, as far as the function knows.
pub(crate) struct Secrets {
    pub(crate) versions: Mutex<Result<(String, Option<String>), SecretError>>,
    pub(crate) reads: AtomicUsize,
}

impl SecretSource for &Secrets {
    async fn fetch(&self, version: SecretVersion) -> Result<Option<Secret>, SecretError> {
        let versions = self.versions.lock().unwrap().clone()?;
        Ok(match version {
            SecretVersion::Current => {
                self.reads.fetch_add(1, Ordering::SeqCst);
                Some(Secret::new(versions.0))
            }
            SecretVersion::Previous => versions.1.map(Secret::new),
        })
    }
}

/// What the ledger does before it does what it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    Busy,
    Denied,
    Corrupt,
    Hangs,
    CountFails,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) memory: MemoryLedger,
    pub(crate) fault: Mutex<Fault>,
}

impl Recorder for &Ledger {
    async fn record(&self, event: &NewEvent, deadline: Deadline) -> Result<Recorded, LedgerError> {
        let fault = *self.fault.lock().unwrap();
        match fault {
            Fault::None | Fault::CountFails => self.memory.record(event, deadline).await,
            Fault::Busy => Err(LedgerError::Busy("ThrottlingException".into())),
            Fault::Denied => Err(LedgerError::Denied("AccessDeniedException".into())),
            Fault::Corrupt => Err(LedgerError::Corrupt("half".into())),
            Fault::Hangs => std::future::pending().await,
        }
    }

    async fn count_delivery(&self, event: &NewEvent) -> Result<(), LedgerError> {
        if *self.fault.lock().unwrap() == Fault::CountFails {
            std::future::pending::<()>().await;
        }
        self.memory.count_delivery(event).await
    }
}

/// What stands around the function.
pub(crate) struct World {
    pub(crate) secrets: Secrets,
    pub(crate) ledger: Ledger,
    pub(crate) clock: ManualClock,
    pub(crate) routes: RoutesConfig,
    pub(crate) max_age: Option<Duration>,
}

pub(crate) type Function<'a> = Handler<&'a Ledger, &'a Secrets, ManualClock>;

impl World {
    pub(crate) fn new() -> Self {
        let now = OffsetDateTime::from_unix_timestamp_nanos(NOW_MS * 1_000_000).unwrap();
        Self {
            secrets: Secrets {
                versions: Mutex::new(Ok((SECRET.to_owned(), None))),
                reads: AtomicUsize::new(0),
            },
            ledger: Ledger {
                memory: MemoryLedger::new(),
                fault: Mutex::new(Fault::None),
            },
            clock: ManualClock::new(now),
            routes: RoutesConfig::parse(ROUTES).unwrap(),
            max_age: None,
        }
    }

    pub(crate) fn function(&self) -> Function<'_> {
        Handler {
            recorder: &self.ledger,
            secrets: SecretCache::with_source(&self.secrets, Duration::from_secs(300)),
            clock: self.clock.clone(),
            metrics: Metrics::new("test", "webhook"),
            routes: self.routes.clone(),
            settings: Settings {
                stage: "test".into(),
                project: "abc123".into(),
                datasets: vec!["production".into(), "staging".into()],
                message_group: MessageGroup::Document,
                ready_shards: 4,
                grace_seconds: 1500,
                retention_days: 90,
            },
            signature_max_age: self.max_age,
        }
    }

    pub(crate) fn set_secrets(&self, versions: Result<(&str, Option<&str>), SecretError>) {
        *self.secrets.versions.lock().unwrap() =
            versions.map(|(current, previous)| (current.to_owned(), previous.map(str::to_owned)));
    }

    pub(crate) fn set_fault(&self, fault: Fault) {
        *self.ledger.fault.lock().unwrap() = fault;
    }

    pub(crate) fn stored(&self) -> usize {
        self.ledger.memory.event_count()
    }
}

pub(crate) const ROUTES: &str = include_str!("../../../routing/routes.toml");

/// Time enough.
pub(crate) fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}

/// Sends an event and says what was answered.
pub(crate) async fn send(function: &Function<'_>, event: Value) -> Answer {
    function.handle(event, None, soon()).await
}

/// The one metric that a request counted.
pub(crate) fn counted(function: &Function<'_>) -> String {
    let collected = function.metrics.collected();
    let names: Vec<&String> = collected.keys().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(function.metrics.sum(names[0]), 1.0);
    let name = names[0].clone();
    function.metrics.take_lines(OffsetDateTime::UNIX_EPOCH);
    name
}

pub(crate) fn signature(body: &[u8], secret: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{NOW_MS}.").as_bytes());
    mac.update(body);
    format!(
        "t={NOW_MS},v1={}",
        URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    )
}

/// API Gateway's event of a request as Sanity sends it, signed with `secret`.
pub(crate) fn event(body: &[u8], secret: &str) -> Value {
    let (text, is_base64) = match std::str::from_utf8(body) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (STANDARD.encode(body), true),
    };
    json!({
        "version": "2.0",
        "requestContext": {"http": {"method": "POST", "path": "/webhooks/sanity"}},
        "headers": {
            "content-type": "application/json",
            "idempotency-key": "\"key-1\"",
            "sanity-webhook-signature": signature(body, secret),
            "user-agent": "Sanity.io webhook delivery",
        },
        "body": text,
        "isBase64Encoded": is_base64,
    })
}

/// A projection's body, with changes.
pub(crate) fn projection(changes: Value) -> Vec<u8> {
    let mut body = json!({
        "_id": "page-1", "_type": "page", "_rev": "r2", "_updatedAt": "2026-03-13T05:29:29Z",
        "operation": "update", "slug": "new", "previousSlug": "old", "previousRev": "r1",
        "project": "abc123", "dataset": "production",
    });
    body.as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    body.to_string().into_bytes()
}

/// The event of a projection, signed with the current secret.
pub(crate) fn edit(changes: Value) -> Value {
    event(&projection(changes), SECRET)
}

/// Replaces or, with null, removes a header.
pub(crate) fn with_header(mut event: Value, name: &str, value: impl Into<Value>) -> Value {
    event["headers"][name] = value.into();
    event
}
