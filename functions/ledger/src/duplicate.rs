//! What a webhook adds to an event that is recorded already.
//!
//! Nearly always nothing. Slugs that a reconciled event could not know are said again (law 8), and what the same hook says
//! differently of one revision is an impossible order: kept, and in review.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    identity,
    item::{Origin, OutboxItem, State},
    record::{EventRecord, NewEvent},
    resend,
};

/// The reason of a revision that was seen before with other content.
pub const OTHER_CONTENT: &str = "revision_with_other_content";
const HOOK: &str = "sanity-webhook-id";

/// The recorded evidence, as far as a second telling is compared with it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Held {
    source: Origin,
    #[serde(default)]
    slugs: Vec<String>,
    #[serde(default)]
    operation: Option<String>,
    #[serde(default)]
    content_fingerprint: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl From<&EventRecord> for Held {
    fn from(record: &EventRecord) -> Self {
        Self {
            source: record.source,
            slugs: record.slugs.clone(),
            operation: record.operation.clone(),
            content_fingerprint: record.content_fingerprint.clone(),
            headers: record.headers.clone(),
        }
    }
}

/// An event of its own for what a duplicate adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addition {
    /// Slugs that the reconciled event could not know, such as the one before a rename.
    Slugs(NewEvent),
    /// The same revision with other content, in review.
    Contradiction(NewEvent),
}

impl Addition {
    /// The event to record.
    pub fn event(&self) -> &NewEvent {
        match self {
            Self::Slugs(event) | Self::Contradiction(event) => event,
        }
    }
}

impl NewEvent {
    /// What this telling adds to the one that is held; none where it adds nothing.
    #[must_use]
    pub fn adds_to(&self, held: &Held) -> Option<Addition> {
        if self.item.source != Origin::Webhook || self.item.state != State::Pending {
            return None;
        }
        match held.source {
            Origin::Reconcile => self.new_slugs(held).map(Addition::Slugs),
            Origin::Webhook => self.contradiction(held).map(Addition::Contradiction),
            Origin::Operator | Origin::Consumer => None,
        }
    }

    fn new_slugs(&self, held: &Held) -> Option<Self> {
        if self.item.slugs.iter().all(|slug| held.slugs.contains(slug)) {
            return None;
        }
        let mut parts = vec!["said-again", self.event_id()];
        parts.extend(self.item.slugs.iter().map(String::as_str));
        let mut again = self.under(identity::event_id(&parts));
        again.item.message_deduplication_id = Some(again.item.event_id.clone());
        Some(again)
    }

    /// Two hooks, or a create and an update, describe one revision in different words: no contradiction.
    fn contradiction(&self, held: &Held) -> Option<Self> {
        let (told, known) = (
            self.record.content_fingerprint.as_deref()?,
            held.content_fingerprint.as_deref()?,
        );
        let same_hook = self.record.headers.get(HOOK) == held.headers.get(HOOK);
        if told == known || !same_hook || self.record.operation != held.operation {
            return None;
        }
        let mut other = self.under(identity::event_id(&["other-content", self.event_id(), told]));
        other.item = OutboxItem {
            state: State::InReview,
            reason: Some(OTHER_CONTENT.to_owned()),
            state_key: Some(resend::state_key("in_review")),
            status: None,
            next_attempt: None,
            ready_shard: None,
            message_group_id: None,
            message_deduplication_id: None,
            ..other.item
        };
        Some(other)
    }

    /// The same event under another id.
    fn under(&self, event_id: String) -> Self {
        let mut again = self.clone();
        again.item.sk = identity::sort_key(again.item.second, &event_id);
        again.record.outbox_sort_key = again.item.sk.clone();
        again.record.event_id.clone_from(&event_id);
        again.item.event_id = event_id;
        again
    }
}

#[cfg(test)]
mod tests {
    use sanity::{delivery::Delivery, signature::SignedAt};
    use time::OffsetDateTime;

    use super::*;
    use crate::{
        item::{Class, Seen},
        observed::Observation,
        record::Decision,
        testing::settings,
    };

    fn told(operation: &str, hook: &str, rest: &str) -> NewEvent {
        let body = format!(
            r#"{{"_id":"page-1","_type":"page","_rev":"r1","_updatedAt":"2030-03-17T17:30:00Z","operation":"{operation}",
                "projectId":"project","dataset":"production"{rest}}}"#
        );
        let headers = BTreeMap::from([(HOOK.to_owned(), hook.to_owned())]);
        let delivery = Delivery::read(body.as_bytes(), &headers, SignedAt(1_890_000_000_000));
        let now = OffsetDateTime::from_unix_timestamp(1_900_000_100).unwrap();
        let (raw, settings) = (body.into_bytes(), settings());
        NewEvent::from_delivery(delivery, raw, "current", Decision::Pending, now, &settings, None)
    }

    #[test]
    fn law_8_only_what_a_reconciled_event_did_not_know_is_said_again() {
        let observation = Observation {
            dataset: "production".to_owned(),
            document_id: "page-1".to_owned(),
            document_type: Some("page".to_owned()),
            class: Class::Write,
            seen: Some(Seen {
                revision: "r1".to_owned(),
                second: 1_899_999_000,
            }),
            slugs: vec!["a".to_owned()],
        };
        let now = OffsetDateTime::from_unix_timestamp(1_900_000_000).unwrap();
        let reconciled = NewEvent::observed(&observation, Decision::Pending, now, &settings());
        let held = Held::from(&reconciled.record);
        let renamed = told("update", "hook", r#","slug":"a","previousSlug":"b""#);
        let Some(Addition::Slugs(again)) = renamed.adds_to(&held) else {
            panic!("the slug before the rename")
        };
        assert_eq!(again.item.slugs, ["a", "b"]);
        assert_ne!(again.event_id(), renamed.event_id());
        assert_eq!(again.item.revision, renamed.item.revision);
        assert_eq!(again.item.message_base(), again.event_id());
        assert_eq!(again.record.outbox_sort_key, again.item.sk);
        let ordinary = renamed.adds_to(&Held::from(&renamed.record));
        assert_eq!(ordinary, None, "an ordinary duplicate");
        let same = told("update", "hook", r#","slug":"a""#);
        assert_eq!(same.adds_to(&held), None, "nothing new");
    }

    #[test]
    fn law_5_a_revision_seen_before_with_other_content_is_in_review() {
        let first = told("update", "hook", r#","slug":"a""#);
        let held = Held::from(&first.record);
        let other = told("update", "hook", r#","slug":"z""#);
        assert_eq!(other.event_id(), first.event_id(), "one revision is one event");
        let Some(Addition::Contradiction(kept)) = other.adds_to(&held) else {
            panic!("a contradiction")
        };
        assert_eq!(kept.item.state, State::InReview);
        assert_eq!(kept.item.reason.as_deref(), Some(OTHER_CONTENT));
        assert_eq!((kept.item.status, kept.item.ready_shard.clone()), (None, None));
        assert_ne!(kept.event_id(), first.event_id());
        assert_eq!(kept.record.payload, other.record.payload, "the evidence is kept");
        assert_eq!(
            other.adds_to(&held),
            other.adds_to(&held),
            "once, however often it is said"
        );
    }

    #[test]
    fn law_5_two_hooks_and_two_words_for_a_write_are_no_contradiction() {
        let held = Held::from(&told("update", "hook", r#","slug":"a""#).record);
        assert_eq!(told("update", "another", r#","title":"A""#).adds_to(&held), None);
        assert_eq!(told("create", "hook", r#","slug":"a""#).adds_to(&held), None);
        assert_eq!(told("update", "hook", r#"  ,  "slug":"a""#).adds_to(&held), None);
    }
}
