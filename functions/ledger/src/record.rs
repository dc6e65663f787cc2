//! A verified delivery becomes an event and its outbox item (laws 2, 3, 4).

use std::collections::BTreeMap;

use platform::Environment;
use sanity::delivery::{Class as DeliveryClass, Delivery, Operation};
use serde::{Deserialize, Serialize};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    identity::{self, MessageGroup},
    item::{Class, Kind, Origin, OutboxItem, State, Status},
    payload::{self, Encoding},
    resend,
};

/// Version of the reading of a webhook body; stored with each event, so that a later reading can tell.
pub const PARSER_VERSION: &str = "1";
const SECONDS_A_DAY: i64 = 86_400;

/// What a stage knows before any delivery arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The stage, stored as the environment of each event.
    pub stage: String,
    /// The Sanity project taken when neither body nor header names one.
    pub project: String,
    /// The datasets served; the first is taken when neither body nor header names one.
    pub datasets: Vec<String>,
    /// How the queue's messages are grouped.
    pub message_group: MessageGroup,
    /// Shards of the READY index.
    pub ready_shards: u32,
    /// Seconds before the relay takes an item that nobody has settled.
    pub grace_seconds: i64,
    /// Days that evidence is kept.
    pub retention_days: i64,
}

impl Settings {
    /// Reads them from the environment; what is wrong is noted there.
    pub fn read(env: &mut Environment) -> Self {
        Self {
            stage: env.text("STAGE"),
            project: env.text("SANITY_PROJECT_ID"),
            datasets: env.list("SANITY_DATASETS"),
            message_group: MessageGroup::read(env),
            ready_shards: env.number("READY_SHARDS", 1..=64),
            grace_seconds: env.number("OUTBOX_GRACE_SECONDS", 0..=86_400),
            retention_days: env.number("RETENTION_DAYS", 30..=3650),
        }
    }
}

/// What is to become of an event when it is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It is handled.
    Pending,
    /// Stored, not handled.
    Ignored {
        /// Why.
        reason: String,
    },
    /// Stored for a person to look at.
    InReview {
        /// Why.
        reason: String,
    },
}

/// Immutable evidence of one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "each field is the item's attribute of the same name, listed in ARCHITECTURE.md"
)]
pub struct EventRecord {
    pub event_id: String,
    pub provider: String,
    pub environment: String,
    pub project: String,
    pub dataset: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    pub class: Class,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    pub second: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slugs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_time: Option<String>,
    pub headers: BTreeMap<String, String>,
    /// The raw bytes, see [`Self::payload_encoding`].
    #[serde(default, with = "serde_bytes", skip_serializing_if = "Option::is_none")]
    pub payload: Option<Vec<u8>>,
    pub payload_encoding: Encoding,
    pub payload_bytes: u64,
    pub sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_fingerprint: Option<String>,
    pub received_at: String,
    pub declared_at: String,
    pub verified_by: String,
    pub parser_version: String,
    pub source: Origin,
    pub document_key: String,
    pub outbox_sort_key: String,
    pub expires_at: i64,
}

/// An event about to be committed: the two puts of law 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The evidence.
    pub record: EventRecord,
    /// Its outbox item.
    pub item: OutboxItem,
}

impl NewEvent {
    /// The event id.
    pub fn event_id(&self) -> &str {
        &self.record.event_id
    }

    /// Makes an event of a verified delivery.
    pub fn from_delivery(
        delivery: Delivery,
        raw: Vec<u8>,
        verified_by: &str,
        decision: Decision,
        received_at: OffsetDateTime,
        settings: &Settings,
        trace_parent: Option<String>,
    ) -> Self {
        let operation = delivery.operation.as_ref().map(|operation| operation.value);
        let class = match operation.map(Operation::class) {
            Some(DeliveryClass::Delete) => Class::Delete,
            Some(DeliveryClass::Write) | None => Class::Write,
        };
        let value_or = |fact: &Option<sanity::delivery::Fact<String>>, default: &str| {
            fact.as_ref()
                .map_or_else(|| default.to_owned(), |fact| fact.value.clone())
        };
        let project = value_or(&delivery.project, &settings.project);
        let dataset = value_or(
            &delivery.dataset,
            settings.datasets.first().map_or("", String::as_str),
        );
        let event_id = identify(&delivery, &project, &dataset, class);
        let document_key = match &delivery.document_id {
            Some(document_id) => identity::document_key(&project, &dataset, document_id),
            None => identity::own_document_key(&event_id),
        };
        let received_second = received_at.unix_timestamp();
        let unordered = delivery.updated_at.is_none();
        let second = delivery
            .updated_at
            .map_or(received_second, OffsetDateTime::unix_timestamp)
            .max(0);
        let outbox_sort_key = identity::sort_key(second, &event_id);
        let expires_at = received_second + settings.retention_days * SECONDS_A_DAY;
        let received = rfc3339(received_at);
        let (payload_encoding, payload) = payload::encode(&raw);
        let operation = operation.map(|operation| operation.as_str().to_owned());

        let item = OutboxItem {
            pk: document_key.clone(),
            sk: outbox_sort_key.clone(),
            kind: Kind::Event,
            event_id: event_id.clone(),
            status: None,
            state: State::Pending,
            reason: None,
            message_group_id: None,
            message_deduplication_id: None,
            next_attempt: None,
            ready_shard: None,
            state_key: None,
            attempts: 0,
            resends: 0,
            defers: 0,
            deliveries: 1,
            project: project.clone(),
            dataset: dataset.clone(),
            document_id: delivery.document_id.clone(),
            document_type: delivery.document_type.clone(),
            operation: operation.clone(),
            class,
            revision: delivery.revision.clone(),
            previous_revision: delivery.previous_revision.clone(),
            second,
            unordered,
            slugs: delivery.slugs.clone(),
            accepted_at: milliseconds(received_at),
            received_at: received.clone(),
            trace_parent,
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
        };
        let item = match decision {
            Decision::Pending => item.made_ready(settings, received_second + settings.grace_seconds, true),
            Decision::Ignored { reason } => OutboxItem {
                state: State::Ignored,
                reason: Some(reason),
                expires_at: Some(expires_at),
                ..item
            },
            Decision::InReview { reason } => OutboxItem {
                state: State::InReview,
                reason: Some(reason),
                state_key: Some(resend::state_key("in_review")),
                ..item
            },
        };
        let record = EventRecord {
            event_id,
            provider: "sanity".to_owned(),
            environment: settings.stage.clone(),
            project,
            dataset,
            document_id: delivery.document_id,
            document_type: delivery.document_type,
            operation,
            class,
            revision: delivery.revision,
            previous_revision: delivery.previous_revision,
            updated_at: delivery.updated_at.map(rfc3339),
            second,
            slugs: delivery.slugs,
            idempotency_key: delivery.idempotency_key,
            transaction_id: delivery.transaction_id,
            transaction_time: delivery.transaction_time,
            headers: delivery.headers,
            payload,
            payload_encoding,
            payload_bytes: raw.len() as u64,
            sha256: delivery.body_sha256,
            content_fingerprint: delivery.content_fingerprint,
            received_at: received,
            declared_at: declared(delivery.signed_at.milliseconds()),
            verified_by: verified_by.to_owned(),
            parser_version: PARSER_VERSION.to_owned(),
            source: Origin::Webhook,
            document_key,
            outbox_sort_key,
            expires_at,
        };
        Self { record, item }
    }
}

impl OutboxItem {
    /// Makes the item READY, for `next_attempt` (epoch seconds). With `forwarded` the Pipe forwards its insert at once;
    /// without, it waits for the relay (law 12).
    pub fn made_ready(self, settings: &Settings, next_attempt: i64, forwarded: bool) -> Self {
        let group = settings.message_group.id(&self.pk, self.document_type.as_deref());
        Self {
            status: Some(Status::Ready),
            next_attempt: Some(next_attempt),
            ready_shard: Some(identity::ready_shard(&self.event_id, settings.ready_shards)),
            message_group_id: forwarded.then_some(group),
            message_deduplication_id: forwarded.then(|| self.message_base().to_owned()),
            ..self
        }
    }
}

/// Law 3: identity comes from the signed body. Whatever an unsigned header decides brings the signed time into the hash, so
/// that a forged header can add an event and never swallow one.
fn identify(delivery: &Delivery, project: &str, dataset: &str, class: Class) -> String {
    let signed_at = delivery.signed_at.milliseconds().to_string();
    let class = match class {
        Class::Write => "write",
        Class::Delete => "delete",
    };
    let document_id = delivery.document_id.as_deref().unwrap_or("");
    let mut parts = vec!["1", project, dataset, document_id, class];
    let unsigned = |fact: Option<bool>| !fact.unwrap_or(false);
    let leans_on_header = unsigned(delivery.operation.as_ref().map(|fact| fact.signed))
        || unsigned(delivery.project.as_ref().map(|fact| fact.signed))
        || unsigned(delivery.dataset.as_ref().map(|fact| fact.signed));
    match (&delivery.revision, &delivery.idempotency_key) {
        (Some(revision), _) if delivery.document_id.is_some() => {
            parts.extend(["revision", revision]);
            if leans_on_header {
                parts.extend(["signed", &signed_at]);
            }
        }
        (_, Some(key)) => parts.extend(["idempotency-key", key, &delivery.body_sha256]),
        (_, None) => parts.extend(["signed", &signed_at, &delivery.body_sha256]),
    }
    identity::event_id(&parts)
}

/// Epoch milliseconds of an instant.
pub fn milliseconds(instant: OffsetDateTime) -> i64 {
    i64::try_from(instant.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

/// An instant in RFC 3339, to the millisecond, so that texts of one length sort by time.
pub fn rfc3339(instant: OffsetDateTime) -> String {
    let instant = instant.to_offset(time::UtcOffset::UTC);
    let format = time::macros::format_description!(
        "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z"
    );
    instant
        .format(format)
        .or_else(|_| instant.format(&Rfc3339))
        .unwrap_or_default()
}

fn declared(signed_at: u64) -> String {
    i128::from(signed_at)
        .checked_mul(1_000_000)
        .and_then(|nanoseconds| OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).ok())
        .map_or_else(|| format!("{signed_at} ms"), rfc3339)
}
