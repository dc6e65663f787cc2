//! A minimal stand-in for reconcile and its sweep (law 13), until the real decisions can be called here.
//!
//! **The seam** is [`reconcile_finds`] and [`sweep_finds`]: what the source shows and what the ledger knows go in, what is to
//! be entered comes out. Everything found goes through the same record as a webhook.

use std::{collections::BTreeMap, sync::Arc};

use ledger::{
    head::Head,
    item::{Kind, Origin, OutboxItem, State},
    store::Documents,
};
use routing::{DocumentRef, RouteStore};
use serde_json::Value;

use crate::{
    config::Config,
    lake::{self, DATASET, START, Version},
    process::pause,
    world::World,
};

const EVERY: f64 = 900.0;
const OVERLAP: f64 = 300.0;
const DAY: f64 = 86_400.0;

/// What reconcile enters of a document: what changed since the watermark and has no event.
pub fn reconcile_finds(
    config: &Config,
    document: usize,
    shown: &Version,
    watermark: f64,
    is_known: bool,
) -> Option<Value> {
    let changed = (shown.second - START) as f64 >= watermark - OVERLAP;
    (shown.content.is_some() && changed && !is_known).then(|| write(config, document, shown))
}

/// What the daily sweep enters of a document known as route or dependency. `last` is the revision, and its second, that was
/// applied last.
pub fn sweep_finds(
    config: &Config,
    document: usize,
    shown: &Version,
    last: Option<(String, i64)>,
    is_known: bool,
) -> Option<Value> {
    if shown.content.is_some() {
        return (!is_known).then(|| write(config, document, shown));
    }
    let (revision, second) = last?;
    Some(lake::body(
        config,
        document,
        "delete",
        Some(&revision),
        Some(second),
        [None, None],
        None,
    ))
}

fn write(config: &Config, document: usize, shown: &Version) -> Value {
    let slug = shown
        .content
        .as_ref()
        .and_then(|content| content.slug)
        .map(lake::slug_name);
    lake::body(
        config,
        document,
        "update",
        shown.revision.as_deref(),
        Some(shown.second),
        [slug, None],
        None,
    )
}

impl World {
    /// Reconciles until the history ends.
    pub async fn reconcile(self: Arc<Self>) {
        let mut watermark = 0.0;
        let first = self.draw("reconcile", |random| random.between(0.0, EVERY));
        pause(first).await;
        loop {
            let now = self.seconds();
            let down = self
                .script
                .api_down
                .is_some_and(|(from, until)| (from..=until).contains(&now));
            if !down && !self.draw("reconcile", |random| random.chance(self.config.crash)) {
                for document in 0..self.lake(|lake| lake.documents()) {
                    let shown = self.shown_to("reconcile", document);
                    let known = self.knows(document, shown.revision.as_deref(), "write");
                    if let Some(body) = reconcile_finds(&self.config, document, &shown, watermark, known) {
                        self.count("reconciled", 1);
                        self.enter(body);
                    }
                }
                watermark = now;
            }
            pause(EVERY).await;
        }
    }

    /// Sweeps once a day.
    pub async fn sweep(self: Arc<Self>) {
        let first = self.script.end + self.draw("sweep", |random| random.between(1.0, 24.0)) * 3600.0;
        pause(first).await;
        while self.seconds() < self.script.end + 26.0 * 3600.0 {
            for document in 0..self.lake(|lake| lake.documents()) {
                self.sweep_document(document).await;
            }
            pause(DAY).await;
        }
    }

    async fn sweep_document(self: &Arc<Self>, document: usize) {
        let key = self.document_key(document);
        let Ok(state) = self.ledger.read(&key, "").await else {
            return;
        };
        let of = DocumentRef::new(DATASET, lake::id(&self.config, document));
        let far = platform::Deadline::after(std::time::Duration::from_secs(60));
        let routes = self.routes.routes_of(&of, &far).await.unwrap_or_default();
        let edges = self
            .routes
            .dependants_of(&of, 100, &far)
            .await
            .unwrap_or_default();
        if routes.is_empty() && edges.pages.is_empty() && state.head.second.is_none() {
            return;
        }
        let unsettled = state.plan().is_ok_and(|plan| !plan.is_settled());
        if unsettled
            && !self.is_ready(&key)
            && let Some(last) = state.items.last()
        {
            self.count("swept plans", 1);
            self.wake_again(last);
        }
        let route = routes.iter().find_map(routing::Entry::live);
        let last = match &state.head.seen {
            Some(seen) => Some((seen.revision.clone(), seen.second)),
            None if state.head == Head::default() => Some(match route {
                Some(route) => (route.source_revision.clone(), route.source_second),
                // A dependency that nobody ever told of: all that is known is that it is not there now.
                None => ("absent".to_owned(), START + self.seconds() as i64),
            }),
            None => None,
        };
        let shown = self.shown_to("sweep", document);
        let known = shown.index == 0 || self.knows(document, shown.revision.as_deref(), "write");
        if let Some(body) = sweep_finds(&self.config, document, &shown, last, known) {
            self.count("swept", 1);
            self.enter(body);
        }
    }

    fn shown_to(&self, who: &str, document: usize) -> Version {
        let now = self.seconds();
        self.draw(who, |random| {
            self.lake(|lake| lake.visible(document, now, random).clone())
        })
    }

    fn enter(self: &Arc<Self>, body: Value) {
        let world = self.clone();
        let commit = self.draw("reconcile", |random| random.exponential(0.05));
        tokio::spawn(async move {
            world.accept(&body, Origin::Reconcile, 0.0, commit, None).await;
        });
    }

    /// One more wake for a document whose plan is left over.
    fn wake_again(self: &Arc<Self>, like: &OutboxItem) {
        let now = START + self.seconds() as i64;
        let item = OutboxItem {
            sk: format!(
                "{}#s{now}",
                ledger::identity::sort_key(like.second, &like.event_id)
            ),
            kind: Kind::Repeat,
            state: State::Pending,
            slugs: vec![],
            entries: None,
            defers: 0,
            attempts: 0,
            resends: 0,
            accepted_at: now * 1000,
            expires_at: None,
            ..like.clone()
        }
        .made_ready(&self.settings, now + self.settings.grace_seconds, true);
        self.ledger.put_item(item.clone());
        self.inserted(&item);
    }

    /// An operator's reprocess of a document, as law 14 has it.
    pub async fn reprocess(self: Arc<Self>, at: f64, document: usize) {
        pause(at).await;
        let key = self.document_key(document);
        let Ok(state) = self.ledger.read(&key, "").await else {
            return;
        };
        let items = self.ledger.all_items();
        let wanted = items.iter().filter(|item| item.pk == key);
        let generation = 1 + wanted
            .filter_map(|item| item.generation)
            .max()
            .unwrap_or(state.head.generation);
        let now = START + self.seconds() as i64;
        let event_id = ledger::identity::event_id(&["reprocess", &key, &generation.to_string()]);
        let second = state.head.second.unwrap_or(now);
        let item = OutboxItem {
            sk: format!("{}#g{generation}", ledger::identity::sort_key(second, &event_id)),
            ..self.blank_item(document, &event_id, now)
        };
        let item = OutboxItem {
            kind: Kind::Reprocess,
            source: Origin::Operator,
            generation: Some(generation),
            second,
            ..item
        }
        .made_ready(&self.settings, now + self.settings.grace_seconds, true);
        self.log(|| {
            format!(
                "REPROCESS {} generation {generation}",
                lake::id(&self.config, document)
            )
        });
        self.count("reprocessed", 1);
        self.ledger.put_item(item.clone());
        self.inserted(&item);
    }

    fn blank_item(&self, document: usize, event_id: &str, now: i64) -> OutboxItem {
        // The item of an event, taken over field by field, so that nothing of the item's shape is repeated here.
        let body = lake::body(&self.config, document, "update", None, None, [None, None], None);
        let raw = body.to_string().into_bytes();
        let signed_at = sanity::signature::SignedAt(now.unsigned_abs() * 1000);
        let delivery = sanity::delivery::Delivery::read(&raw, &BTreeMap::new(), signed_at);
        let event = ledger::record::NewEvent::from_delivery(
            delivery,
            raw,
            "current",
            ledger::record::Decision::Pending,
            platform::Clock::now(&self.clock(0.0)),
            &self.settings,
            None,
        );
        OutboxItem {
            event_id: event_id.to_owned(),
            unordered: false,
            ..event.item
        }
    }
}
