//! Every document that the table knows, page by page: for a job that compares them all with the source, never for a cascade.

use std::collections::BTreeMap;
use std::future::Future;

use platform::Deadline;

use super::StoreError;
use crate::model::{DocumentRef, Entry};

/// A document that has a page, had one lately, or that a page is made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    /// The document.
    pub document: DocumentRef,
    /// What it is known as.
    pub known_as: KnownAs,
}

/// What a document is known as.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownAs {
    /// It has pages.
    Page {
        /// Its Sanity `_type`.
        document_type: String,
        /// The second of the revision that its newest route was computed from.
        source_second: i64,
        /// That revision.
        source_revision: String,
    },
    /// Pages are made of it.
    Dependency,
    /// Its pages were removed.
    Removed,
}

/// One page of a walk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownPage {
    /// In no order; a document can appear again, on another page or as something else.
    pub documents: Vec<Known>,
    /// Where the next page begins, as text to keep.
    pub next: Option<String>,
}

/// Walks over the whole table. Reads are not consistent: what changes meanwhile is found by the next walk.
pub trait RouteWalk: Send + Sync {
    /// The documents among the next `items` items.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn known(
        &self,
        from: Option<&str>,
        items: u32,
        deadline: &Deadline,
    ) -> impl Future<Output = Result<KnownPage, StoreError>> + Send;
}

/// Collects what a page's items say, each document once a role.
#[derive(Debug, Default)]
pub(crate) struct Gathered(BTreeMap<(DocumentRef, bool), KnownAs>);

impl Gathered {
    pub(crate) fn entry(&mut self, entry: &Entry) {
        let place = self.0.entry((entry.name().document, true));
        let new = match entry {
            Entry::Live(route) => KnownAs::Page {
                document_type: route.document_type.clone(),
                source_second: route.source_second,
                source_revision: route.source_revision.clone(),
            },
            Entry::Gone(_) => KnownAs::Removed,
        };
        let second = |known: &KnownAs| match known {
            KnownAs::Page { source_second, .. } => Some(*source_second),
            _ => None,
        };
        place
            .and_modify(|held| {
                if second(&new) > second(held) {
                    *held = new.clone();
                }
            })
            .or_insert(new);
    }

    pub(crate) fn dependency(&mut self, document: DocumentRef) {
        self.0.entry((document, false)).or_insert(KnownAs::Dependency);
    }

    pub(crate) fn into_documents(self) -> Vec<Known> {
        self.0
            .into_iter()
            .map(|((document, _), known_as)| Known { document, known_as })
            .collect()
    }
}
