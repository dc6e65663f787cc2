//! Finding what a request is about.

use ledger::{
    identity,
    item::{Kind, OutboxItem},
    record::EventRecord,
    store::{DocumentState, Documents, jobs::Letters, operator::Inspection},
    wake::Sleeper,
};

use crate::{Operator, answer::OperatorError};

/// A document, everything that the outbox holds of it, and the item that the request is about.
pub(crate) struct Target {
    pub(crate) sleeper: Sleeper,
    pub(crate) state: DocumentState,
    /// None: its item has expired, or there never was one.
    pub(crate) item: Option<OutboxItem>,
}

impl<L, R, S, C> Operator<L, R, S, C>
where
    L: Documents + Letters + Inspection,
{
    /// Everything below a document, from its first item on.
    pub(crate) async fn whole(&self, document_key: &str) -> Result<DocumentState, OperatorError> {
        Ok(self.ledger.read(document_key, &identity::sort_key(0, "")).await?)
    }

    pub(crate) async fn evidence_of(&self, event_id: &str) -> Result<EventRecord, OperatorError> {
        self.ledger.evidence(event_id).await?.ok_or_else(|| {
            OperatorError::NotFound(format!(
                "there is no event {event_id}; evidence expires after {} days",
                self.settings.retention_days
            ))
        })
    }

    pub(crate) async fn target_of_event(&self, event_id: &str) -> Result<Target, OperatorError> {
        let record = self.evidence_of(event_id).await?;
        let state = self.whole(&record.document_key).await?;
        let item = state
            .items
            .iter()
            .find(|item| item.sk == record.outbox_sort_key)
            .cloned();
        Ok(Target {
            sleeper: Sleeper {
                key: record.document_key,
                project: record.project,
                dataset: record.dataset,
                document_id: record.document_id,
                document_type: record.document_type,
                event_id: record.event_id,
                second: record.second,
            },
            state,
            item,
        })
    }

    /// An item by its keys, as the index named it.
    pub(crate) async fn target_of_item(&self, pk: &str, sk: &str) -> Result<Target, OperatorError> {
        let state = self.whole(pk).await?;
        let item = state.items.iter().find(|item| item.sk == sk).cloned();
        let item =
            item.ok_or_else(|| OperatorError::NotFound(format!("there is no item {sk} below {pk}")))?;
        Ok(Target {
            sleeper: Sleeper::of(&item),
            state,
            item: Some(item),
        })
    }

    /// A document: its newest event, where there is one.
    pub(crate) async fn target_of_document(
        &self,
        dataset: &str,
        document_id: &str,
    ) -> Result<Target, OperatorError> {
        let project = &self.settings.project;
        let key = identity::document_key(project, dataset, document_id);
        let state = self.whole(&key).await?;
        let newest = state.items.iter().rev().find(|item| item.kind == Kind::Event);
        Ok(Target {
            sleeper: newest.map_or_else(
                || Sleeper::named(project, dataset, document_id, None),
                Sleeper::of,
            ),
            state,
            item: None,
        })
    }
}
