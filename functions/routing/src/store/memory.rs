//! Routes in memory, for tests: the layout's items and transactions, without the network.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use platform::Deadline;

use super::actions::{Action, Edge, TRANSACTION_SIZE};
use super::apply::{Transact, Verdict, apply};
use super::walk::{Gathered, KnownPage, RouteWalk};
use super::{Dependants, Outcome, Pointer, RouteStore, StoreError};
use crate::model::{DocumentRef, Entry, RouteChange, RouteName};

/// What was asked of a [`MemoryStore`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requests {
    /// Partitions read.
    pub queries: usize,
    /// Batches of routes read.
    pub batch_reads: usize,
    /// Transactions tried.
    pub transactions: usize,
    /// Items put or deleted.
    pub items_written: usize,
}

/// A store whose contents end with it.
#[derive(Debug, Default)]
pub struct MemoryStore {
    inner: Mutex<(Tables, Requests)>,
    transaction_size: Option<usize>,
}

/// The items of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tables {
    pub(crate) routes: BTreeMap<RouteName, Entry>,
    pub(crate) edges: BTreeSet<Edge>,
    /// Dataset and slug, then owner.
    pub(crate) pointers: BTreeMap<(String, String), BTreeMap<RouteName, Pointer>>,
}

impl Tables {
    /// Makes all of `actions` or none; the number of items written.
    pub(crate) fn transact(&mut self, actions: &[Action]) -> Result<usize, Option<Box<Entry>>> {
        for action in actions {
            let (name, expected) = match action {
                Action::PutRoute { entry, expected } => (entry.name(), expected),
                Action::CheckRoute { name, expected } => (name.clone(), expected),
                _ => continue,
            };
            let found = self.routes.get(&name);
            if found.map(Entry::version) != *expected {
                return Err(found.cloned().map(Box::new));
            }
        }
        for action in actions {
            self.make(action.clone());
        }
        let checks = actions
            .iter()
            .filter(|action| matches!(action, Action::CheckRoute { .. }))
            .count();
        Ok(actions.len() - checks)
    }

    fn make(&mut self, action: Action) {
        match action {
            Action::PutRoute { entry, .. } => {
                self.routes.insert(entry.name(), entry);
            }
            Action::CheckRoute { .. } => {}
            Action::PutEdge(edge) => {
                self.edges.insert(edge);
            }
            Action::DeleteEdge(edge) => {
                self.edges.remove(&edge);
            }
            Action::PutPointer { slug, name, pointer } => {
                let key = (name.document.dataset.clone(), slug);
                self.pointers.entry(key).or_default().insert(name, pointer);
            }
            Action::DeletePointer { slug, name } => {
                let key = (name.document.dataset.clone(), slug);
                if let Some(owners) = self.pointers.get_mut(&key) {
                    owners.remove(&name);
                    if owners.is_empty() {
                        self.pointers.remove(&key);
                    }
                }
            }
        }
    }

    pub(crate) fn routes_of(&self, document: &DocumentRef) -> Vec<Entry> {
        let first = RouteName {
            document: document.clone(),
            route: String::new(),
        };
        self.routes
            .range(first..)
            .take_while(|(name, _)| name.document == *document)
            .map(|(_, entry)| entry.clone())
            .collect()
    }

    pub(crate) fn dependants_of(&self, document: &DocumentRef, limit: usize) -> Dependants {
        let mut found = Dependants::default();
        let mut documents = BTreeSet::new();
        let first = Edge {
            dependency: document.clone(),
            page: RouteName {
                document: DocumentRef::new("", ""),
                route: String::new(),
            },
        };
        let edges = self.edges.range(first..);
        for edge in edges.take_while(|edge| edge.dependency == *document) {
            if !documents.contains(&edge.page.document) && documents.len() == limit {
                found.more = true;
                break;
            }
            documents.insert(edge.page.document.clone());
            found.pages.insert(edge.page.clone());
        }
        found
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same store with transactions of at most `actions` actions (at least 4) instead of DynamoDB's 100, to see a change
    /// that does not fit in one.
    #[must_use]
    pub fn with_transaction_size(mut self, actions: usize) -> Self {
        self.transaction_size = Some(actions.max(4));
        self
    }

    /// What was asked so far.
    pub fn requests(&self) -> Requests {
        self.lock().1
    }

    fn lock(&self) -> MutexGuard<'_, (Tables, Requests)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transact for MemoryStore {
    async fn transact(&self, actions: &[Action], _deadline: &Deadline) -> Result<Verdict, StoreError> {
        let (tables, requests) = &mut *self.lock();
        requests.transactions += 1;
        Ok(match tables.transact(actions) {
            Ok(written) => {
                requests.items_written += written;
                Verdict::Done
            }
            Err(found) => Verdict::Found(found),
        })
    }
}

impl RouteStore for MemoryStore {
    async fn routes_of(
        &self,
        document: &DocumentRef,
        _deadline: &Deadline,
    ) -> Result<Vec<Entry>, StoreError> {
        let (tables, requests) = &mut *self.lock();
        requests.queries += 1;
        Ok(tables.routes_of(document))
    }

    async fn dependants_of(
        &self,
        document: &DocumentRef,
        limit: usize,
        _deadline: &Deadline,
    ) -> Result<Dependants, StoreError> {
        let (tables, requests) = &mut *self.lock();
        requests.queries += 1;
        Ok(tables.dependants_of(document, limit))
    }

    async fn entries(
        &self,
        names: &BTreeSet<RouteName>,
        _deadline: &Deadline,
    ) -> Result<Vec<Entry>, StoreError> {
        if names.is_empty() {
            return Ok(vec![]);
        }
        let (tables, requests) = &mut *self.lock();
        requests.batch_reads += 1;
        Ok(names
            .iter()
            .filter_map(|name| tables.routes.get(name).cloned())
            .collect())
    }

    async fn pages_at(
        &self,
        dataset: &str,
        slug: &str,
        _deadline: &Deadline,
    ) -> Result<Vec<Pointer>, StoreError> {
        let (tables, requests) = &mut *self.lock();
        requests.queries += 1;
        let owners = tables.pointers.get(&(dataset.to_owned(), slug.to_owned()));
        Ok(owners
            .into_iter()
            .flat_map(|owners| owners.values().cloned())
            .collect())
    }

    async fn apply(&self, change: &RouteChange, deadline: &Deadline) -> Result<Outcome, StoreError> {
        apply(
            self,
            change,
            self.transaction_size.unwrap_or(TRANSACTION_SIZE),
            deadline,
        )
        .await
    }
}

impl RouteWalk for MemoryStore {
    async fn known(
        &self,
        from: Option<&str>,
        items: u32,
        _deadline: &Deadline,
    ) -> Result<KnownPage, StoreError> {
        let skipped: usize = from.and_then(|from| from.parse().ok()).unwrap_or(0);
        let (tables, _) = &*self.lock();
        let mut gathered = Gathered::default();
        let end = skipped + items as usize;
        let routes = tables.routes.len();
        for entry in tables.routes.values().take(end).skip(skipped) {
            gathered.entry(entry);
        }
        let (first, last) = (skipped.saturating_sub(routes), end.saturating_sub(routes));
        for edge in tables.edges.iter().take(last).skip(first) {
            gathered.dependency(edge.dependency.clone());
        }
        Ok(KnownPage {
            documents: gathered.into_documents(),
            next: (end < routes + tables.edges.len()).then(|| end.to_string()),
        })
    }
}
