//! Items that wake a document without an event of their own: an operator's reprocess, and what the sweep finds undone.

use time::OffsetDateTime;

use crate::{
    identity,
    item::{Class, Kind, Origin, OutboxItem, State},
    record::{Settings, milliseconds, rfc3339},
};

/// The document that is to be woken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sleeper {
    /// Partition key.
    pub key: String,
    /// Sanity project.
    pub project: String,
    /// Sanity dataset.
    pub dataset: String,
    /// `_id`; without it nothing can be computed anew.
    pub document_id: Option<String>,
    /// `_type`, where it is known.
    pub document_type: Option<String>,
    /// The event that the wake is about.
    pub event_id: String,
    /// That event's second: the wake's sort key begins with it, so that its read shows the event.
    pub second: i64,
}

impl Sleeper {
    /// The document of an item, and the event that it is about.
    pub fn of(item: &OutboxItem) -> Self {
        Self {
            key: item.pk.clone(),
            project: item.project.clone(),
            dataset: item.dataset.clone(),
            document_id: item.document_id.clone(),
            document_type: item.document_type.clone(),
            event_id: item.event_id.clone(),
            second: item.second,
        }
    }

    /// A document of which no event is at hand.
    pub fn named(project: &str, dataset: &str, document_id: &str, document_type: Option<&str>) -> Self {
        let key = identity::document_key(project, dataset, document_id);
        Self {
            event_id: identity::event_id(&["no-event", &key]),
            key,
            project: project.to_owned(),
            dataset: dataset.to_owned(),
            document_id: Some(document_id.to_owned()),
            document_type: document_type.map(str::to_owned),
            second: 0,
        }
    }

    /// A READY item of `kind` that the Pipe forwards at once. `suffix` makes its sort key and its message's deduplication id
    /// distinct: `<event id>#<suffix>`.
    pub fn wake(
        &self,
        kind: Kind,
        suffix: &str,
        source: Origin,
        now: OffsetDateTime,
        settings: &Settings,
    ) -> OutboxItem {
        OutboxItem {
            pk: self.key.clone(),
            sk: format!("{}#{suffix}", identity::sort_key(self.second, &self.event_id)),
            kind,
            event_id: self.event_id.clone(),
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
            deliveries: 0,
            project: self.project.clone(),
            dataset: self.dataset.clone(),
            document_id: self.document_id.clone(),
            document_type: self.document_type.clone(),
            operation: None,
            class: Class::Write,
            revision: None,
            previous_revision: None,
            second: self.second,
            unordered: false,
            slugs: vec![],
            accepted_at: milliseconds(now),
            received_at: rfc3339(now),
            trace_parent: None,
            source,
            last_error: None,
            last_attempt: None,
            applied_at: None,
            routes_affected: None,
            generation: None,
            entries: None,
            from_layer: None,
            seen: None,
            expires_at: None,
        }
        .made_ready(settings, now.unix_timestamp() + settings.grace_seconds, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        item::Status,
        testing::{item, settings},
    };

    #[test]
    fn law_6_a_wake_has_an_id_of_its_own_and_is_forwarded() {
        let settings = settings();
        let now = OffsetDateTime::from_unix_timestamp(1_900_000_000).unwrap();
        let event = item(100, "r1", Class::Write);
        let wake = Sleeper::of(&event).wake(Kind::Reprocess, "g2", Origin::Operator, now, &settings);
        assert_eq!(wake.sk, format!("{}#g2", event.sk));
        assert_eq!(
            wake.message_deduplication_id,
            Some(format!("{}#g2", event.event_id))
        );
        assert_eq!((wake.status, wake.pk), (Some(Status::Ready), event.pk));
        let nobody = Sleeper::named("project", "production", "page-1", None);
        assert_eq!(
            nobody.key,
            identity::document_key("project", "production", "page-1")
        );
        assert!(nobody.event_id.starts_with("evt_"));
    }
}
