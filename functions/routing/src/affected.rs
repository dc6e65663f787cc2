//! Reading from a store what a cascade needs: the routes of the changed documents and of the pages that depend on them.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join;
use futures::stream::{self, StreamExt, TryStreamExt};
use platform::Deadline;

use crate::model::{DocumentRef, Entry, RouteName, is_document_id};
use crate::row::Rows;
use crate::store::{Dependants, RouteStore, StoreError};

/// Documents read at the same time.
const CONCURRENCY: usize = 8;

/// The routes held for some changed documents and for their dependants.
///
/// Of a changed document every route is known; of a dependant those that depend on the changed document, and, after
/// [`Affected::complete`], those that its row names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Affected {
    entries: BTreeMap<DocumentRef, BTreeMap<String, Entry>>,
    dependants: BTreeMap<DocumentRef, BTreeSet<DocumentRef>>,
    cut: BTreeSet<DocumentRef>,
}

/// Reads all of it: per changed document one partition of routes and one of edges, then the dependants' routes in batches.
///
/// `maximum_width` bounds the dependants of each changed document (see [`Affected::is_cut`]). An edge counts only if the
/// route that it leads to names the changed document: a change that was interrupted can leave an edge too many.
///
/// # Errors
/// See [`StoreError`].
pub async fn affected<S: RouteStore>(
    store: &S,
    changed: &[DocumentRef],
    maximum_width: usize,
    deadline: &Deadline,
) -> Result<Affected, StoreError> {
    let changed: BTreeSet<DocumentRef> = changed.iter().cloned().collect();
    let read: Vec<(DocumentRef, Vec<Entry>, Dependants)> = stream::iter(changed)
        .map(|document| read_one(store, document, maximum_width, deadline))
        .buffered(CONCURRENCY)
        .try_collect()
        .await?;
    let mut affected = Affected::default();
    let mut pages = BTreeMap::new();
    for (document, entries, dependants) in read {
        affected.entries.entry(document.clone()).or_default();
        entries.into_iter().for_each(|entry| affected.hold(entry));
        if dependants.more {
            affected.cut.insert(document.clone());
        }
        pages.insert(document, dependants.pages);
    }
    affected
        .load(store, pages.values().flatten().cloned().collect(), deadline)
        .await?;
    for (document, pages) in pages {
        let depends = |name: &RouteName| {
            affected
                .entry(name)
                .and_then(Entry::live)
                .is_some_and(|route| route.dependencies.contains(&document.document_id))
        };
        let dependants = pages
            .iter()
            .filter(|name| depends(name))
            .map(|name| name.document.clone());
        let dependants = dependants.filter(|page| *page != document).collect();
        affected.dependants.insert(document, dependants);
    }
    Ok(affected)
}

async fn read_one<S: RouteStore>(
    store: &S,
    document: DocumentRef,
    maximum_width: usize,
    deadline: &Deadline,
) -> Result<(DocumentRef, Vec<Entry>, Dependants), StoreError> {
    // What cannot be a document's id has no routes, and might not even be a key.
    let (entries, dependants) = if is_document_id(&document.document_id) {
        try_join(
            store.routes_of(&document, deadline),
            store.dependants_of(&document, maximum_width, deadline),
        )
        .await?
    } else {
        Default::default()
    };
    Ok((document, entries, dependants))
}

impl Affected {
    /// The ids in `dataset` to ask the routing query for: the changed documents and their dependants.
    pub fn documents(&self, dataset: &str) -> BTreeSet<String> {
        self.dependants
            .iter()
            .flat_map(|(document, dependants)| dependants.iter().chain([document]))
            .filter(|document| document.dataset == dataset)
            .map(|document| document.document_id.clone())
            .collect()
    }

    /// Reads the routes that `rows` name and that are not known yet. Usually there are none, and nothing is read.
    ///
    /// A dependant's row may name a page that exists already without an edge to the changed document (its last write was
    /// interrupted). A cascade that took it for a new one would never get past its version.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn complete<S: RouteStore>(
        &mut self,
        store: &S,
        rows: &Rows,
        deadline: &Deadline,
    ) -> Result<(), StoreError> {
        let mut names = BTreeSet::new();
        for document in self
            .dependants
            .values()
            .flatten()
            .filter(|page| !self.is_changed(page))
        {
            if let Ok(Some(row)) = rows.get(&document.document_id) {
                names.extend(row.routes.keys().map(|route| RouteName {
                    document: document.clone(),
                    route: route.clone(),
                }));
            }
        }
        self.load(store, names, deadline).await
    }

    /// Everything known of a document's pages, by route.
    pub fn entries_of(&self, document: &DocumentRef) -> impl Iterator<Item = (&String, &Entry)> {
        self.entries.get(document).into_iter().flatten()
    }

    /// The documents with a page that depends on `changed`, itself not among them.
    pub fn dependants_of(&self, changed: &DocumentRef) -> impl Iterator<Item = &DocumentRef> {
        self.dependants.get(changed).into_iter().flatten()
    }

    /// Whether `changed` has more dependants than the bound; the rest is not known here.
    pub fn is_cut(&self, changed: &DocumentRef) -> bool {
        self.cut.contains(changed)
    }

    /// Whether every route of `document` was read.
    fn is_changed(&self, document: &DocumentRef) -> bool {
        self.dependants.contains_key(document)
    }

    fn entry(&self, name: &RouteName) -> Option<&Entry> {
        self.entries.get(&name.document)?.get(&name.route)
    }

    fn hold(&mut self, entry: Entry) {
        let RouteName { document, route } = entry.name();
        self.entries.entry(document).or_default().insert(route, entry);
    }

    /// Reads those of `names` that are not held yet.
    async fn load<S: RouteStore>(
        &mut self,
        store: &S,
        mut names: BTreeSet<RouteName>,
        deadline: &Deadline,
    ) -> Result<(), StoreError> {
        names.retain(|name| self.entry(name).is_none());
        if !names.is_empty() {
            let entries = store.entries(&names, deadline).await?;
            entries.into_iter().for_each(|entry| self.hold(entry));
        }
        Ok(())
    }
}
