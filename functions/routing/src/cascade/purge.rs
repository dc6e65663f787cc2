//! Which keys a cascade purges, and what must be purged before each.

use std::collections::{BTreeMap, BTreeSet};

use ledger::plan::Key;

use super::Changed;
use crate::config::RoutesConfig;
use crate::model::{DocumentRef, Entry};
use crate::row::Row;

/// A key to purge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PurgeEntry {
    /// The key.
    pub key: Key,
    /// Keys of an inner layer that must be confirmed before `key` goes to an outer one, or it refills from what they hold:
    /// the objects that the page shows. Sorted; empty for an object.
    pub behind: Vec<Key>,
}

/// The keys collected so far.
pub(super) struct Purge<'a> {
    config: &'a RoutesConfig,
    changed: &'a Changed,
    /// The changed document's objects; complete once its own page was added.
    own_objects: BTreeSet<Key>,
    entries: BTreeMap<Key, BTreeSet<Key>>,
}

impl<'a> Purge<'a> {
    pub(super) fn new(config: &'a RoutesConfig, changed: &'a Changed) -> Self {
        Self {
            config,
            changed,
            own_objects: BTreeSet::new(),
            entries: BTreeMap::new(),
        }
    }

    /// Adds a document's objects and the slugs of its pages, those it had and those it has. The changed document comes
    /// first.
    pub(super) fn page(
        &mut self,
        page: &DocumentRef,
        entries: &BTreeMap<&String, &Entry>,
        row: Option<&Row>,
    ) {
        let held = || entries.values().filter_map(|entry| entry.live());
        let own = *page == self.changed.document;
        let told = self.changed.document_type.as_deref().filter(|_| own);
        let shown = row.map(|row| row.document_type.as_str());
        // Both types of a document that changed its type: the old one's object is cached, too.
        let objects: BTreeSet<Key> = [told, shown]
            .into_iter()
            .flatten()
            .filter_map(|document_type| self.config.graphql_type(document_type))
            .chain(held().map(|route| route.graphql_type.as_str()))
            .map(|graphql_type| Key::Object {
                graphql_type: graphql_type.to_owned(),
                id: page.document_id.clone(),
            })
            .collect();
        if own {
            self.own_objects = objects.clone();
        }
        let behind: BTreeSet<Key> = objects.union(&self.own_objects).cloned().collect();
        let slugs = held()
            .map(|route| &route.slug)
            .chain(row.into_iter().flat_map(|row| row.routes.values()));
        for slug in slugs {
            self.slug(slug.clone(), &behind);
        }
        for object in objects {
            self.entries.entry(object).or_default();
        }
    }

    fn slug(&mut self, slug: String, behind: &BTreeSet<Key>) {
        let before = self.entries.entry(Key::Slug { slug }).or_default();
        before.extend(behind.iter().cloned());
    }

    /// All keys, those of the slugs that events named included.
    pub(super) fn into_entries(mut self) -> Vec<PurgeEntry> {
        let own_objects = std::mem::take(&mut self.own_objects);
        for slug in &self.changed.slugs {
            let document_type = self.changed.document_type.as_deref();
            for path in self.config.event_paths(document_type, slug) {
                self.slug(path, &own_objects);
            }
        }
        let entries = self.entries.into_iter();
        entries
            .map(|(key, behind)| PurgeEntry {
                key,
                behind: behind.into_iter().collect(),
            })
            .collect()
    }
}
