//! `list`, `show`, `trace`: nothing is changed.

use std::collections::BTreeSet;

use ledger::{
    item::OutboxItem,
    payload,
    store::{
        DocumentState, Documents,
        jobs::Letters,
        operator::{Happened, Inspection},
    },
};
use platform::Deadline;
use routing::{
    model::{DocumentRef, Entry},
    store::RouteStore,
};
use serde_json::{Value, json};

use crate::{
    Operator,
    answer::{OperatorError, line},
    request::{List, Show, Trace, since},
    target::Target,
};

/// Pages of the index read for one list at the most: a rare type among many is then found over several calls.
const PAGES: usize = 20;
/// Documents whose history is looked through for one slug at the most.
const MADE_OF: usize = 100;
/// Plan entries shown of one document at the most.
const SHOWN: usize = 200;

/// A list under way.
pub(crate) struct Listed {
    pub(crate) items: Vec<OutboxItem>,
    pub(crate) next: Option<String>,
}

impl<L, R, S, C> Operator<L, R, S, C>
where
    L: Documents + Letters + Inspection,
    R: RouteStore,
{
    /// The items of a state, of one type or of all.
    pub(crate) async fn listed(
        &self,
        state: &str,
        document_type: Option<&str>,
        since: &str,
        limit: u32,
        mut from: Option<String>,
    ) -> Result<Listed, OperatorError> {
        let mut items = Vec::new();
        for _ in 0..PAGES {
            let left = limit - u32::try_from(items.len()).unwrap_or(limit).min(limit);
            if left == 0 {
                break;
            }
            let page = self.ledger.by_state(state, since, left, from.as_deref()).await?;
            let wanted = |item: &OutboxItem| {
                document_type.is_none_or(|wanted| item.document_type.as_deref() == Some(wanted))
            };
            items.extend(page.items.into_iter().filter(wanted));
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        Ok(Listed { items, next: from })
    }

    pub(crate) async fn list(&self, asked: List) -> Result<Value, OperatorError> {
        let since = since(asked.since.as_deref())?;
        let listed = self
            .listed(
                &asked.state,
                asked.document_type.as_deref(),
                &since,
                asked.limit,
                asked.from,
            )
            .await?;
        Ok(json!({
            "state": asked.state,
            "items": listed.items.iter().map(line).collect::<Vec<_>>(),
            "next": listed.next,
        }))
    }

    pub(crate) async fn show(&self, asked: Show) -> Result<Value, OperatorError> {
        let record = self.evidence_of(&asked.event_id).await?;
        let item = self
            .ledger
            .item(&record.document_key, &record.outbox_sort_key)
            .await?;
        let body = asked.payload.then(|| {
            let stored = record.payload.as_deref().unwrap_or_default();
            let raw = payload::decode(record.payload_encoding, stored, record.payload_bytes);
            raw.ok()
                .flatten()
                .map(|raw| String::from_utf8_lossy(&raw).into_owned())
        });
        let mut event = serde_json::to_value(&record).unwrap_or_default();
        if let Some(event) = event.as_object_mut() {
            event.remove("payload");
            if let Some(body) = body {
                event.insert("body".to_owned(), json!(body));
            }
        }
        Ok(json!({"event": event, "item": item.as_ref().map(line)}))
    }

    pub(crate) async fn trace(&self, asked: Trace, deadline: Deadline) -> Result<Value, OperatorError> {
        if let Some(event_id) = &asked.event_id {
            let target = self.target_of_event(event_id).await?;
            return self.trace_document(target, asked.limit, &deadline).await;
        }
        let dataset = self.dataset(asked.dataset)?;
        if let Some(document_id) = &asked.document_id {
            let target = self.target_of_document(&dataset, document_id).await?;
            return self.trace_document(target, asked.limit, &deadline).await;
        }
        let slug = asked.slug.unwrap_or_default();
        self.trace_slug(&dataset, &slug, asked.limit, &deadline).await
    }

    async fn trace_document(
        &self,
        target: Target,
        limit: u32,
        deadline: &Deadline,
    ) -> Result<Value, OperatorError> {
        let Target { sleeper, state, .. } = target;
        let routes = match &sleeper.document_id {
            Some(id) => {
                self.routes
                    .routes_of(&DocumentRef::new(&sleeper.dataset, id), deadline)
                    .await?
            }
            None => vec![],
        };
        let happened = self.ledger.happened(&sleeper.key, limit).await?;
        if state == DocumentState::default() && routes.is_empty() && happened.is_empty() {
            return Err(OperatorError::NotFound(
                "nothing is known of this document: no event, no route".to_owned(),
            ));
        }
        Ok(json!({
            "document_id": sleeper.document_id,
            "dataset": sleeper.dataset,
            "document_key": sleeper.key,
            "head": state.head,
            "items": state.items.iter().map(line).collect::<Vec<_>>(),
            "plan": plan(&state)?,
            "history": happened.iter().map(told).collect::<Vec<_>>(),
            "routes": routes.iter().filter_map(Entry::live).collect::<Vec<_>>(),
        }))
    }

    /// Why a page was purged: the page's own history, and that of everything it is made of, as far as it names the slug.
    async fn trace_slug(
        &self,
        dataset: &str,
        slug: &str,
        limit: u32,
        deadline: &Deadline,
    ) -> Result<Value, OperatorError> {
        let pages = self.routes.pages_at(dataset, slug, deadline).await?;
        let mut documents: BTreeSet<String> = BTreeSet::new();
        for page in &pages {
            documents.insert(page.document_id.clone());
            let document = DocumentRef::new(dataset, &page.document_id);
            for entry in self.routes.routes_of(&document, deadline).await? {
                let made_of = entry
                    .live()
                    .filter(|route| route.slug == slug)
                    .map(|route| route.dependencies.clone());
                documents.extend(made_of.into_iter().flatten());
            }
        }
        if documents.is_empty() {
            return Err(OperatorError::NotFound(format!("no page is at {slug:?}")));
        }
        let mut purged = Vec::new();
        for document_id in documents.iter().take(MADE_OF) {
            let key = ledger::identity::document_key(&self.settings.project, dataset, document_id);
            for happened in self.ledger.happened(&key, limit).await? {
                if let Happened::Wake(wake) = &happened
                    && wake.slugs.iter().any(|named| named == slug)
                {
                    purged.push((wake.sk.clone(), json!({"because_of": document_id, "wake": wake})));
                }
            }
        }
        purged.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(json!({
            "slug": slug,
            "dataset": dataset,
            "pages": pages.iter().map(|page| json!({"document_id": page.document_id, "route": page.route})).collect::<Vec<_>>(),
            "looked_at": documents.iter().take(MADE_OF).collect::<Vec<_>>(),
            "purged": purged.into_iter().map(|(_, it)| it).collect::<Vec<_>>(),
        }))
    }
}

fn told(happened: &Happened) -> Value {
    match happened {
        Happened::Wake(wake) => json!({"wake": wake}),
        Happened::Operator(asked) => json!({"operator": asked}),
    }
}

fn plan(state: &DocumentState) -> Result<Value, OperatorError> {
    let plan = state.plan()?;
    let owed: Vec<_> = plan
        .entries()
        .filter(|entry| !entry.is_settled())
        .take(SHOWN)
        .collect();
    Ok(json!({"keys": plan.entries().count(), "owed": owed}))
}
