//! Reading from a store what a cascade needs: the routes of the changed documents, of the pages that depend on them, and of the
//! pages that they depend on.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join;
use futures::stream::{self, StreamExt, TryStreamExt};
use platform::Deadline;

use crate::config::RoutesConfig;
use crate::model::{DocumentRef, Entry, RouteName, is_document_id};
use crate::row::{RowError, Rows};
use crate::store::{Dependants, RouteStore, StoreError};

/// Documents read at the same time.
const CONCURRENCY: usize = 8;

/// The routes held for some changed documents and for their dependants.
///
/// Of a changed document every route is known; of a dependant those that depend on the changed document, and, after
/// [`Affected::complete`], those that its row names. Of a page that a changed one depends on those that its row names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Affected {
    entries: BTreeMap<DocumentRef, BTreeMap<String, Entry>>,
    dependants: BTreeMap<DocumentRef, BTreeSet<DocumentRef>>,
    joined: BTreeMap<DocumentRef, BTreeSet<DocumentRef>>,
    maximum_width: usize,
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
    let mut affected = Affected {
        maximum_width,
        ..Affected::default()
    };
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
    /// The ids in `dataset` of the documents concerned: the changed ones, their dependants, and, after
    /// [`Affected::complete`], the pages that they depend on.
    pub fn documents(&self, dataset: &str) -> BTreeSet<String> {
        let others = self.dependants.values().chain(self.joined.values()).flatten();
        self.dependants
            .keys()
            .chain(others)
            .filter(|document| document.dataset == dataset)
            .map(|document| document.document_id.clone())
            .collect()
    }

    /// The changed documents of `dataset` that leave room for pages that they depend on.
    pub fn joining(&self, dataset: &str) -> impl Iterator<Item = &DocumentRef> {
        let room = |document: &&DocumentRef| self.room(document) > 0;
        self.dependants
            .keys()
            .filter(move |document| document.dataset == dataset)
            .filter(room)
    }

    /// What the pages held of a changed document depend on.
    pub fn own_dependencies(&self, changed: &DocumentRef) -> impl Iterator<Item = &String> {
        let routes = self.entries_of(changed).filter_map(|(_, entry)| entry.live());
        routes.flat_map(|route| &route.dependencies)
    }

    /// Finds the pages that the changed ones depend on, or did until now, and reads the routes that `rows` name and that are
    /// not known yet. Usually there are none, and nothing is read.
    ///
    /// A dependant's row may name a page that exists already without an edge to the changed document (its last write was
    /// interrupted). A cascade that took it for a new one would never get past its version.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn complete<S: RouteStore>(
        &mut self,
        store: &S,
        config: &RoutesConfig,
        rows: &Rows,
        deadline: &Deadline,
    ) -> Result<(), StoreError> {
        if config.dependencies().refresh_pages {
            self.join(rows);
        }
        let unusable = self.joined.values().flatten();
        let unusable = unusable.filter(|page| rows.get(&page.document_id).is_err());
        let unusable: BTreeSet<DocumentRef> = unusable.cloned().collect();
        for document in unusable {
            let entries = store.routes_of(&document, deadline).await?;
            entries.into_iter().for_each(|entry| self.hold(entry));
        }
        let mut names = BTreeSet::new();
        for document in self
            .dependants
            .values()
            .chain(self.joined.values())
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

    /// The pages that `changed` depends on, or did: those whose rows were read. Itself and its dependants are not among them.
    pub fn joined_with(&self, changed: &DocumentRef) -> impl Iterator<Item = &DocumentRef> {
        self.joined.get(changed).into_iter().flatten()
    }

    /// Whether `changed` concerns more pages than the bound; the rest is not known here.
    pub fn is_cut(&self, changed: &DocumentRef) -> bool {
        self.cut.contains(changed)
    }

    /// How many pages more `changed` may refresh.
    fn room(&self, changed: &DocumentRef) -> usize {
        let taken = self.dependants.get(changed).map_or(0, BTreeSet::len);
        self.maximum_width.saturating_sub(taken)
    }

    /// Joins the pages among the dependencies of the changed documents: those with a row that has pages.
    fn join(&mut self, rows: &Rows) {
        for (changed, dependants) in &self.dependants {
            let shown = rows.get(&changed.document_id).ok().flatten();
            let shown = shown.filter(|row| !row.routes.is_empty());
            let shown = shown.into_iter().flat_map(|row| &row.dependencies);
            let dependencies: BTreeSet<&String> = self.own_dependencies(changed).chain(shown).collect();
            // A row that cannot be used may be a page's: the held one is purged, as a dependant's would be.
            let is_page = |id: &&String| match rows.get(id.as_str()) {
                Ok(row) => row.is_some_and(|row| !row.routes.is_empty()),
                Err(error) => error != RowError::NotAsked,
            };
            let mut pages: BTreeSet<DocumentRef> = dependencies
                .into_iter()
                .filter(is_page)
                .map(|id| DocumentRef::new(&changed.dataset, id))
                .filter(|page| page != changed && !dependants.contains(page))
                .collect();
            let room = self.room(changed);
            if pages.len() > room {
                self.cut.insert(changed.clone());
                pages = pages.into_iter().take(room).collect();
            }
            self.joined.insert(changed.clone(), pages);
        }
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
