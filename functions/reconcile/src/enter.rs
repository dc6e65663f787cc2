//! Entering into the ledger what the source shows and the ledger has not seen.

use ledger::{
    head::{Handled, Head},
    identity,
    item::{Class, Kind, OutboxItem, Seen},
    observed::Observation,
    record::{Decision, NewEvent},
    store::{Documents, LedgerError, Recorded, Recorder},
};
use platform::{Clock, Deadline, fault_point};
use routing::{RoutesConfig, TypePolicy};

use crate::{run::Reconcile, source::Shown};

/// Whether a draft or a document of a release. The API is asked for published documents; ids are looked at all the same.
pub(crate) fn is_unpublished(id: &str) -> bool {
    id.starts_with("drafts.") || id.starts_with("versions.")
}

/// What becomes of a type's events; none for a type that is left out.
pub(crate) fn decision(config: &RoutesConfig, document_type: &str) -> Option<Decision> {
    match config.type_policy(document_type) {
        TypePolicy::Routed | TypePolicy::Component => Some(Decision::Pending),
        TypePolicy::Review => Some(Decision::InReview {
            reason: "unknown_type".to_owned(),
        }),
        TypePolicy::Ignored => None,
    }
}

/// Whether the ledger knows that the document was once as `seen` says: by an event that says so, by what was applied, or
/// because the last cascade read it so.
pub(crate) fn knows(head: &Head, items: &[OutboxItem], class: Class, seen: &Seen) -> bool {
    let told = |item: &OutboxItem| {
        item.kind == Kind::Event
            && item.class == class
            && item.revision.as_deref() == Some(seen.revision.as_str())
    };
    let handled = Handled {
        revision: seen.revision.clone(),
        class,
    };
    let read = class == Class::Write
        && head
            .seen
            .as_ref()
            .is_some_and(|last| last.revision == seen.revision);
    read || items.iter().any(told) || head.handled.contains(&handled)
}

/// The observation of a document that is there.
pub(crate) fn present(dataset: &str, shown: &Shown) -> Observation {
    Observation {
        dataset: dataset.to_owned(),
        document_id: shown.place.id.clone(),
        document_type: Some(shown.document_type.clone()),
        class: Class::Write,
        seen: Some(shown.seen.clone()),
        slugs: shown.slug.iter().cloned().collect(),
    }
}

impl<L, R, S, C> Reconcile<L, R, S, C>
where
    L: Documents + Recorder,
    C: Clock,
{
    /// Enters a changed document unless the ledger has seen it. True: it had not.
    pub(crate) async fn enter_changed(
        &self,
        dataset: &str,
        shown: &Shown,
        deadline: Deadline,
    ) -> Result<bool, LedgerError> {
        let Some(decision) = decision(&self.config, &shown.document_type) else {
            return Ok(false);
        };
        let key = identity::document_key(&self.settings.ledger.project, dataset, &shown.place.id);
        let state = self
            .ledger
            .read(&key, &identity::sort_key(shown.seen.second, ""))
            .await?;
        if knows(&state.head, &state.items, Class::Write, &shown.seen) {
            return Ok(false);
        }
        self.record(&present(dataset, shown), decision, deadline).await
    }

    /// Records an observation. True: the ledger had not seen it.
    pub(crate) async fn record(
        &self,
        observation: &Observation,
        decision: Decision,
        deadline: Deadline,
    ) -> Result<bool, LedgerError> {
        let event = NewEvent::observed(observation, decision, self.clock.now(), &self.settings.ledger);
        let new = self.ledger.record(&event, deadline).await? == Recorded::New;
        fault_point!("reconcile.entered");
        if new {
            self.metrics.count("EventsReconciled", 1);
            tracing::warn!(
                event_id = event.event_id(),
                document_id = observation.document_id,
                class = ?observation.class,
                "entered what no webhook brought"
            );
        }
        Ok(new)
    }
}
