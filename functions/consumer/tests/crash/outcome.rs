//! Where a run ended, as lines that compare and read well. What counts versions or tells when something was done is left out: a
//! crash may cost a round more.

use std::{collections::BTreeSet, time::Duration};

use ledger::{
    identity,
    item::{OutboxItem, Status},
    store::{Breakers, Documents, Outbox, Recorder},
};
use platform::Deadline;
use routing::{DocumentRef, affected, store::RouteStore};

use crate::case::{DOCUMENTS, SLUGS, Site};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome(pub BTreeSet<String>);

impl Outcome {
    pub async fn read<L, R>(site: &Site<'_, L, R>, events: &[OutboxItem], purged: BTreeSet<String>) -> Self
    where
        L: Documents + Breakers + Recorder + Outbox,
        R: RouteStore,
    {
        let (ledger, routes) = (&site.world.ledger, &site.world.routes);
        let deadline = Deadline::after(Duration::from_secs(30));
        let mut lines = Vec::from_iter(purged);
        for name in DOCUMENTS {
            let document = DocumentRef::new("production", site.id(name));
            let key = identity::document_key("project", "production", &document.document_id);
            let state = ledger.read(&key, &identity::sort_key(0, "")).await.unwrap();
            let head = &state.head;
            let slugs = BTreeSet::from_iter(head.slugs.as_slice());
            lines.push(format!(
                "head of {name}: second {:?}, handled {:?}, generation {}, seen {:?}, slugs {slugs:?}",
                head.second, head.handled, head.generation, head.seen
            ));
            if !state.chunks.is_empty() {
                lines.push(format!("plan of {name}: left over"));
            }
            for (number, event) in events.iter().enumerate() {
                let held = state.items.iter().find(|item| item.sk == event.sk);
                if let Some(held) = held.filter(|_| event.pk == key) {
                    lines.push(format!(
                        "event {number} of {name}: {:?} {:?}",
                        held.state, held.status
                    ));
                }
            }
            if state.items.iter().any(|item| item.status == Some(Status::Ready)) {
                lines.push(format!("something of {name} is still READY"));
            }
            let entries = routes.routes_of(&document, &deadline).await.unwrap();
            for route in entries.iter().filter_map(|entry| entry.live()) {
                lines.push(format!(
                    "route of {name}: {} {} {:?} {} {}",
                    route.route, route.slug, route.dependencies, route.source_revision, route.source_second
                ));
            }
            // As the cascade reads them: an edge counts only if its page names the document.
            let only = std::slice::from_ref(&document);
            let held = affected(&**routes, only, 1000, &deadline).await.unwrap();
            for page in held.dependants_of(&document) {
                lines.push(format!("edge: {} shows {name}", page.document_id));
            }
        }
        for slug in SLUGS {
            let pages = routes
                .pages_at("production", &site.slug(slug), &deadline)
                .await
                .unwrap();
            for page in pages {
                lines.push(format!("pointer: {slug} to {page:?}"));
            }
        }
        Self(
            lines
                .into_iter()
                .map(|line| line.replace(&site.prefix, ""))
                .collect(),
        )
    }
}
