//! A small content lake, a store in memory, and the steps that the consumer takes between them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use ledger::plan::Key;
use platform::Deadline;
use routing::config::{Asks, RoutingQuery};
use routing::store::memory::MemoryStore;
use routing::store::{Outcome, RouteStore};
use routing::{Cascade, Changed, DocumentRef, Entry, Reading, Route, RoutesConfig, affected, cascade};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub(crate) const CONFIG: &str = r#"
[limits]
chunk_size = 100
maximum_width = 60
maximum_dependencies = 60
[graphql]
routing_type = "Routing"
slug_field = "slug"
id_field = "_id"
[routed.page]
graphql_type = "Page"
[routed.product]
graphql_type = "Product"
[components.banner]
graphql_type = "Banner"
[components.menu]
[routing_query]
groq = '''*[_id in $ids]{_id, _type, _rev, _updatedAt, "routes": [], "dependencies": []}'''
"#;

pub(crate) struct World {
    pub(crate) config: RoutesConfig,
    pub(crate) store: MemoryStore,
    /// What the routing query would show, by `_id`.
    lake: BTreeMap<String, Value>,
    /// The documents themselves, where references are followed.
    content: BTreeMap<String, Value>,
    /// How often the source was asked, and for how many documents.
    pub(crate) asked: RefCell<Vec<(Asks, usize)>>,
    revisions: u64,
    second: i64,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// A world with these tables more in its `routes.toml`.
    pub(crate) fn with(tables: &str) -> Self {
        Self {
            config: RoutesConfig::parse(&format!("{CONFIG}{tables}"))
                .unwrap_or_else(|error| panic!("{error}")),
            store: MemoryStore::new(),
            lake: BTreeMap::new(),
            content: BTreeMap::new(),
            asked: RefCell::default(),
            revisions: 0,
            second: 1_900_000_000,
        }
    }

    /// Publishes a document of `document_type` with these routes (name, slug) and dependencies, ten seconds after the last.
    pub(crate) fn publish(
        &mut self,
        id: &str,
        document_type: &str,
        routes: &[(&str, &str)],
        dependencies: &[&str],
    ) {
        self.second += 10;
        self.publish_at(self.second, id, document_type, routes, dependencies);
    }

    pub(crate) fn publish_at(
        &mut self,
        second: i64,
        id: &str,
        document_type: &str,
        routes: &[(&str, &str)],
        dependencies: &[&str],
    ) {
        self.revisions += 1;
        let routes: Vec<Value> = routes
            .iter()
            .map(|(route, slug)| json!({"route": route, "slug": slug}))
            .collect();
        let updated_at = OffsetDateTime::from_unix_timestamp(second)
            .unwrap()
            .format(&Rfc3339)
            .unwrap();
        let row = json!({
            "_id": id, "_type": document_type, "_rev": format!("r{}", self.revisions), "_updatedAt": updated_at,
            "routes": routes, "dependencies": dependencies,
        });
        self.show(id, row);
    }

    /// Publishes a page with one route.
    pub(crate) fn page(&mut self, id: &str, slug: &str, dependencies: &[&str]) {
        self.publish(id, "page", &[("default", slug)], dependencies);
    }

    /// Publishes a banner.
    pub(crate) fn banner(&mut self, id: &str) {
        self.publish(id, "banner", &[], &[]);
    }

    pub(crate) fn delete(&mut self, id: &str) {
        self.content.remove(id);
        self.lake.remove(id);
    }

    /// What the query shows of a document, to show it again later: an index that lags.
    pub(crate) fn shown(&self, id: &str) -> Value {
        self.lake[id].clone()
    }

    pub(crate) fn find(&self, id: &str) -> Option<Value> {
        self.lake.get(id).cloned()
    }

    pub(crate) fn show(&mut self, id: &str, row: Value) {
        self.lake.insert(id.to_owned(), row);
    }

    /// Publishes a document that references others: the routing query shows it without dependencies.
    pub(crate) fn refer(&mut self, id: &str, document_type: &str, slug: Option<&str>, to: &[&str]) {
        let routes: Vec<(&str, &str)> = slug.iter().map(|slug| ("default", *slug)).collect();
        self.publish(id, document_type, &routes, &[]);
        let references: Vec<Value> = to.iter().map(|id| json!({"_ref": id})).collect();
        let content = json!({
            "_id": id, "_type": document_type, "_rev": self.lake[id]["_rev"], "content": references,
        });
        self.content.insert(id.to_owned(), content);
    }

    /// Shows a document in another revision than its row.
    pub(crate) fn tear(&mut self, id: &str) {
        self.content.get_mut(id).unwrap()["_rev"] = "another".into();
    }

    /// What the source answers.
    pub(crate) fn answer(&self, query: &RoutingQuery) -> Value {
        self.asked.borrow_mut().push((query.asks, query.ids.len()));
        let rows: Vec<&Value> = query.ids.iter().filter_map(|id| self.lake.get(id)).collect();
        let documents = query.ids.iter().filter_map(|id| self.content.get(id));
        match query.asks {
            Asks::Rows => json!(rows),
            Asks::RowsAndDocuments => json!({"rows": rows, "documents": documents.collect::<Vec<_>>()}),
            Asks::Documents => {
                let types = query.params["types"].as_array().unwrap();
                let named = !query.groq.contains('!');
                let followed = documents.filter(|document| types.contains(&document["_type"]) == named);
                json!(followed.collect::<Vec<_>>())
            }
        }
    }

    /// The present second of the lake.
    pub(crate) fn second(&self) -> i64 {
        self.second
    }

    /// Computes the cascade of `id`, as the consumer does, and leaves its changes unmade.
    pub(crate) async fn compute(&self, id: &str, document_type: &str, slugs: &[&str]) -> Cascade {
        let (document, deadline) = (document(id), deadline());
        let limits = self.config.limits();
        let mut held = affected(
            &self.store,
            std::slice::from_ref(&document),
            limits.maximum_width,
            &deadline,
        )
        .await
        .unwrap();
        let mut reading = Reading::new(&self.config, &held, "production");
        while let Some(query) = reading.next_query() {
            let answer = self.answer(&query);
            reading.answer(&query, &answer);
        }
        let rows = reading.into_rows();
        held.complete(&self.store, &self.config, &rows, &deadline)
            .await
            .unwrap();
        let changed = Changed {
            document,
            document_type: Some(document_type.to_owned()),
            slugs: slugs.iter().map(ToString::to_string).collect(),
        };
        let cascade = cascade(&self.config, &changed, &held, &rows);
        assert_well_formed(&cascade);
        cascade
    }

    /// Handles a change of `id` to the end.
    pub(crate) async fn handle(&self, id: &str, document_type: &str, slugs: &[&str]) -> Cascade {
        let cascade = self.compute(id, document_type, slugs).await;
        for change in &cascade.changes {
            let outcome = self.store.apply(change, &deadline()).await;
            assert_eq!(outcome, Ok(Outcome::Applied), "{change:?}");
        }
        cascade
    }

    pub(crate) async fn handle_page(&self, id: &str) -> Cascade {
        self.handle(id, "page", &[]).await
    }

    pub(crate) async fn handle_banner(&self, id: &str) -> Cascade {
        self.handle(id, "banner", &[]).await
    }

    /// The routes that exist of a document.
    pub(crate) async fn routes(&self, id: &str) -> Vec<Route> {
        let entries = self.store.routes_of(&document(id), &deadline()).await.unwrap();
        entries.iter().filter_map(Entry::live).cloned().collect()
    }

    /// Documents with an edge to `id`.
    pub(crate) async fn dependants(&self, id: &str) -> Vec<String> {
        let found = self
            .store
            .dependants_of(&document(id), 1000, &deadline())
            .await
            .unwrap();
        found
            .pages
            .into_iter()
            .map(|page| page.document.document_id)
            .collect()
    }

    /// Documents at `slug`.
    pub(crate) async fn at(&self, slug: &str) -> Vec<String> {
        let found = self
            .store
            .pages_at("production", slug, &deadline())
            .await
            .unwrap();
        found.into_iter().map(|pointer| pointer.document_id).collect()
    }
}

pub(crate) fn document(id: &str) -> DocumentRef {
    DocumentRef::new("production", id)
}

pub(crate) fn deadline() -> Deadline {
    Deadline::after(Duration::from_secs(50))
}

/// The purge as lines: `Page:p1`, `/a < Banner:b1 Page:p1` (a slug behind two objects).
pub(crate) fn purged(cascade: &Cascade) -> Vec<String> {
    let name = |key: &Key| match key {
        Key::Object { graphql_type, id } => format!("{graphql_type}:{id}"),
        Key::Slug { slug } => slug.clone(),
    };
    let line = |entry: &routing::PurgeEntry| {
        let behind: Vec<String> = entry.behind.iter().map(name).collect();
        match behind.is_empty() {
            true => name(&entry.key),
            false => format!("{} < {}", name(&entry.key), behind.join(" ")),
        }
    };
    cascade.purge.iter().map(line).collect()
}

/// What holds of every cascade.
fn assert_well_formed(cascade: &Cascade) {
    let keys: Vec<&Key> = cascade.purge.iter().map(|entry| &entry.key).collect();
    assert!(
        keys.is_sorted_by(|one, other| one < other),
        "sorted, each key once: {keys:?}"
    );
    for entry in &cascade.purge {
        assert!(entry.behind.is_sorted_by(|one, other| one < other));
        for key in &entry.behind {
            assert!(
                matches!(key, Key::Object { .. }) && keys.contains(&key),
                "{key:?} is purged as well"
            );
        }
        if let Key::Object { .. } = entry.key {
            assert!(entry.behind.is_empty());
        }
    }
    assert!(cascade.routes.is_sorted());
}
