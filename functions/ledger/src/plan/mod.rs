//! The purge plan (law 8): what to purge is stored before the first route or edge is written, is united with what a retry
//! computes, and shrinks only by confirmation.

mod chunk;
mod entry;
mod key;
mod packed;

use std::collections::BTreeMap;

pub use chunk::{PlanChunk, merge_into_chunks};
pub use entry::{Entry, PlanEntry, Progress};
pub use key::{Key, Layer};
pub use packed::{PackedEntries, UnpackError};

/// A document's plan, all chunks together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    entries: BTreeMap<Key, PlanEntry>,
}

impl Plan {
    /// The plan that `entries` make up.
    pub fn of(entries: impl IntoIterator<Item = PlanEntry>) -> Self {
        Self {
            entries: entries
                .into_iter()
                .map(|entry| (entry.entry.key.clone(), entry))
                .collect(),
        }
    }

    /// Owes `wanted` to the work that `token` names: everything it saw, frontier and source revisions included.
    ///
    /// What was settled for the same work stays settled; what was settled for other work is owed again; what the plan
    /// already holds stays in it.
    pub fn owe(&mut self, wanted: &[Entry], layers: &[Layer], token: &str) {
        for entry in wanted {
            let held = self
                .entries
                .entry(entry.key.clone())
                .or_insert_with(|| PlanEntry {
                    entry: entry.clone(),
                    layers: BTreeMap::new(),
                });
            for behind in &entry.behind {
                if !held.entry.behind.contains(behind) {
                    held.entry.behind.push(behind.clone());
                }
            }
            for layer in entry.key.layers().iter().filter(|layer| layers.contains(layer)) {
                let same = held
                    .layers
                    .get(layer)
                    .is_some_and(|progress| progress.token() == token);
                if !same {
                    held.layers.insert(
                        *layer,
                        Progress::Owed {
                            tries: 0,
                            token: token.to_owned(),
                        },
                    );
                }
            }
        }
    }

    /// Every entry, in the order of its key.
    pub fn entries(&self) -> impl Iterator<Item = &PlanEntry> {
        self.entries.values()
    }

    /// The entry of a key.
    pub fn get(&self, key: &Key) -> Option<&PlanEntry> {
        self.entries.get(key)
    }

    /// Records how far `layer` has come with `key`. A key the plan does not hold is passed over.
    pub fn set(&mut self, key: &Key, layer: Layer, progress: Progress) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.layers.insert(layer, progress);
        }
    }

    /// True when nothing is owed any more.
    pub fn is_settled(&self) -> bool {
        self.entries.values().all(PlanEntry::is_settled)
    }

    /// True when it holds no key at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The keys, without progress: what a repeat carries.
    pub fn keys(&self) -> Vec<Entry> {
        self.entries.values().map(|entry| entry.entry.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slug(slug: &str) -> Entry {
        Entry {
            key: Key::Slug {
                slug: slug.to_owned(),
            },
            behind: vec![],
        }
    }

    fn layer_of(plan: &Plan, key: &Entry, layer: Layer) -> Progress {
        plan.get(&key.key).unwrap().layers[&layer].clone()
    }

    #[test]
    fn law_8_a_retry_is_united_with_what_is_held() {
        let mut plan = Plan::default();
        plan.owe(&[slug("/a")], &Layer::ALL, "first");
        plan.owe(&[slug("/b")], &Layer::ALL, "second");
        assert_eq!(plan.keys(), [slug("/a"), slug("/b")]);
        assert_eq!(layer_of(&plan, &slug("/a"), Layer::Storefront).token(), "first");
    }

    #[test]
    fn law_10_a_confirmation_holds_only_for_the_work_it_was_made_for() {
        let mut plan = Plan::default();
        plan.owe(&[slug("/a")], &Layer::ALL, "first");
        for layer in Layer::ALL {
            plan.set(
                &slug("/a").key,
                layer,
                Progress::Confirmed {
                    token: "first".to_owned(),
                },
            );
        }
        assert!(plan.is_settled());
        plan.owe(&[slug("/a")], &Layer::ALL, "first");
        assert!(plan.is_settled(), "the same work is not repeated");
        plan.owe(&[slug("/a")], &Layer::ALL, "second");
        assert!(!plan.is_settled(), "other work is owed again");
    }

    #[test]
    fn a_layer_without_a_target_owes_nothing_and_objects_stay_in_the_innermost() {
        let object = Entry {
            key: Key::Object {
                graphql_type: "Page".to_owned(),
                id: "page-1".to_owned(),
            },
            behind: vec![],
        };
        let mut plan = Plan::default();
        plan.owe(
            &[object.clone(), slug("/a")],
            &[Layer::GraphqlCdn, Layer::Storefront],
            "t",
        );
        assert_eq!(plan.get(&object.key).unwrap().layers.len(), 1);
        assert_eq!(plan.get(&slug("/a").key).unwrap().layers.len(), 2);
    }
}
