//! What the source itself shows becomes an event, through the same reading as a webhook (law 13).
//!
//! An observation is written down as the body that a webhook with everything signed would have had, and read by the same
//! code. So the event of a revision that both bring has one id, whoever comes first.

use std::collections::BTreeMap;

use sanity::{delivery::Delivery, signature::SignedAt};
use serde_json::json;
use time::OffsetDateTime;

use crate::{
    item::{Class, Origin, Seen},
    record::{Decision, NewEvent, Settings, milliseconds, rfc3339},
};

/// What stands in the evidence's `verified_by` of an event that no webhook brought.
pub const QUERY_API: &str = "query-api";
/// Stands for the idempotency key of an absence whose revision nobody knows.
const ABSENT: &str = "absent";

/// A document as the source shows it, or its absence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The dataset.
    pub dataset: String,
    /// `_id`.
    pub document_id: String,
    /// `_type`, where it is known.
    pub document_type: Option<String>,
    /// Whether the document is there.
    pub class: Class,
    /// Revision and second shown; of an absent document the last ones applied. None: absent, and never seen here.
    pub seen: Option<Seen>,
    /// The slugs it is known by.
    pub slugs: Vec<String>,
}

impl Observation {
    /// The body that a webhook with everything signed would have had.
    fn body(&self, project: &str) -> Vec<u8> {
        let operation = match self.class {
            Class::Write => "update",
            Class::Delete => "delete",
        };
        let mut body = json!({
            "_id": self.document_id, "operation": operation, "projectId": project, "dataset": self.dataset,
        });
        if let Some(object) = body.as_object_mut() {
            let mut add = |name: &str, value: serde_json::Value| object.insert(name.to_owned(), value);
            if let Some(document_type) = &self.document_type {
                add("_type", json!(document_type));
            }
            if let Some(seen) = &self.seen {
                add("_rev", json!(seen.revision));
                if let Ok(updated) = OffsetDateTime::from_unix_timestamp(seen.second) {
                    add("_updatedAt", json!(rfc3339(updated)));
                }
            }
            // A document has one slug, of several pages the one of each.
            match self.slugs.as_slice() {
                [] => None,
                [slug] => add("slug", json!(slug)),
                [slug, previous, ..] => {
                    add("slug", json!(slug));
                    add("previousSlug", json!(previous))
                }
            };
        }
        body.to_string().into_bytes()
    }
}

impl NewEvent {
    /// Makes an event of what the source showed at `observed_at`.
    pub fn observed(
        observation: &Observation,
        decision: Decision,
        observed_at: OffsetDateTime,
        settings: &Settings,
    ) -> Self {
        let body = observation.body(&settings.project);
        let signed_at = SignedAt(u64::try_from(milliseconds(observed_at)).unwrap_or(0));
        let mut delivery = Delivery::read(&body, &BTreeMap::new(), signed_at);
        if observation.seen.is_none() {
            delivery.idempotency_key = Some(ABSENT.to_owned());
        }
        let mut event = Self::from_delivery(delivery, body, QUERY_API, decision, observed_at, settings, None);
        event.record.source = Origin::Reconcile;
        event.item.source = Origin::Reconcile;
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{item::Status, testing::settings};

    fn observed(class: Class, seen: Option<Seen>) -> NewEvent {
        let observation = Observation {
            dataset: "production".to_owned(),
            document_id: "page-1".to_owned(),
            document_type: Some("page".to_owned()),
            class,
            seen,
            slugs: vec!["a".to_owned()],
        };
        let now = OffsetDateTime::from_unix_timestamp(1_900_000_000).unwrap();
        NewEvent::observed(&observation, Decision::Pending, now, &settings())
    }

    fn seen() -> Option<Seen> {
        Some(Seen {
            revision: "r1".to_owned(),
            second: 1_899_999_000,
        })
    }

    fn delivered(operation: &str, rest: &str) -> NewEvent {
        let body = format!(
            r#"{{"_id":"page-1","_type":"page","_rev":"r1","_updatedAt":"2030-03-17T17:30:00Z","operation":"{operation}",
                "projectId":"project","dataset":"production"{rest}}}"#
        );
        let delivery = Delivery::read(body.as_bytes(), &BTreeMap::new(), SignedAt(1_890_000_000_000));
        let now = OffsetDateTime::from_unix_timestamp(1_900_000_100).unwrap();
        let (raw, settings) = (body.into_bytes(), settings());
        NewEvent::from_delivery(delivery, raw, "current", Decision::Pending, now, &settings, None)
    }

    #[test]
    fn law_3_webhook_and_reconcile_agree_on_the_event() {
        let reconciled = observed(Class::Write, seen());
        for operation in ["create", "update"] {
            assert_eq!(
                reconciled.event_id(),
                delivered(operation, "").event_id(),
                "{operation}"
            );
        }
        let deleted = observed(Class::Delete, seen());
        assert_eq!(deleted.event_id(), delivered("delete", "").event_id());
        assert_ne!(deleted.event_id(), reconciled.event_id());
        assert_eq!(reconciled.item.pk, delivered("update", "").item.pk);
        assert_eq!(reconciled.item.second, 1_899_999_000);
    }

    #[test]
    fn law_4_a_reconciled_event_says_who_brought_it() {
        let event = observed(Class::Write, seen());
        assert_eq!(
            (event.record.source, event.item.source),
            (Origin::Reconcile, Origin::Reconcile)
        );
        assert_eq!(event.record.verified_by, QUERY_API);
        assert_eq!(event.item.status, Some(Status::Ready));
        assert_eq!(event.item.slugs, ["a"]);
    }

    #[test]
    fn law_13_an_absence_without_a_revision_is_one_event_however_often_it_is_seen() {
        let first = observed(Class::Delete, None);
        assert_eq!(first.event_id(), observed(Class::Delete, None).event_id());
        assert!(first.item.unordered);
        assert_eq!(first.item.class, Class::Delete);
    }
}
