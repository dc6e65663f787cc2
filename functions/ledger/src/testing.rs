//! Shared by the tests of this crate.

use crate::{
    identity::{self, MessageGroup},
    item::{Class, Kind, Origin, OutboxItem, State, Status},
    record::Settings,
};

/// A stage with one dataset.
pub(crate) fn settings() -> Settings {
    Settings {
        stage: "test".to_owned(),
        project: "project".to_owned(),
        datasets: vec!["production".to_owned()],
        message_group: MessageGroup::Document,
        ready_shards: 4,
        grace_seconds: 1500,
        retention_days: 30,
    }
}

/// A pending event of document `page-1`.
pub(crate) fn item(second: i64, revision: &str, class: Class) -> OutboxItem {
    let event_id = format!("evt_{revision}_{class:?}");
    OutboxItem {
        pk: identity::document_key("project", "production", "page-1"),
        sk: identity::sort_key(second, &event_id),
        kind: Kind::Event,
        event_id: event_id.clone(),
        status: Some(Status::Ready),
        state: State::Pending,
        reason: None,
        message_group_id: Some("group".to_owned()),
        message_deduplication_id: Some(event_id),
        next_attempt: Some(second + 1500),
        ready_shard: Some("READY#0".to_owned()),
        state_key: None,
        attempts: 0,
        resends: 0,
        defers: 0,
        deliveries: 1,
        project: "project".to_owned(),
        dataset: "production".to_owned(),
        document_id: Some("page-1".to_owned()),
        document_type: Some("page".to_owned()),
        operation: Some("update".to_owned()),
        class,
        revision: Some(revision.to_owned()),
        previous_revision: None,
        second,
        unordered: false,
        slugs: vec![],
        accepted_at: second * 1000,
        received_at: "2026-01-01T00:00:00.000Z".to_owned(),
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
    }
}
