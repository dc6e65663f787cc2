//! Inside out, key by key (law 10).
//!
//! An outer layer that is purged before the inner one refills from the stale inner one. So a key goes to a layer only when every
//! layer inside has settled it, and has settled what the key stands behind: a page's slug stands behind the objects that the page
//! shows. What was refused is settled too, or one poison key would hold its pages for ever. A layer without a target settles nothing
//! and waits for nothing.
//!
//! Waiting only ever points inwards, so there is no circle, whatever stands behind what.

use std::collections::{BTreeMap, BTreeSet};

use ledger::plan::Layer;

use crate::KeyOutcome;

/// How far one layer has come with one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Still to be purged.
    Open {
        /// Refusals of this key so far.
        tries: u32,
    },
    /// Confirmed, or refused for good.
    Settled,
}

/// One key of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<K> {
    /// The key.
    pub key: K,
    /// Keys that the inner layers must have settled first. One that is not in the plan is settled: a plan shrinks only by
    /// confirmation.
    pub behind: Vec<K>,
    /// The layers that the key concerns, and how far each has come.
    pub layers: BTreeMap<Layer, Progress>,
}

impl<K> Entry<K> {
    fn is_open(&self, layer: Layer, configured: &[Layer]) -> bool {
        configured.contains(&layer) && matches!(self.layers.get(&layer), Some(Progress::Open { .. }))
    }

    /// True when no layer that has a target still has to purge it.
    pub fn is_settled(&self, configured: &[Layer]) -> bool {
        !Layer::ALL
            .into_iter()
            .any(|layer| self.is_open(layer, configured))
    }
}

/// The keys that may go to `layer` now, in the order of the plan, each once. `configured` are the layers that have a target.
///
/// The caller goes once through [`Layer::ALL`], innermost first, and records each layer's outcomes before it asks for the next: a
/// key that is confirmed inside goes on outwards in the same pass, one that is not waits for a later pass.
pub fn sendable<K: Ord + Clone>(entries: &[Entry<K>], layer: Layer, configured: &[Layer]) -> Vec<K> {
    let inside: Vec<Layer> = Layer::ALL.into_iter().filter(|inner| *inner < layer).collect();
    let held: BTreeSet<&K> = entries
        .iter()
        .filter(|entry| inside.iter().any(|inner| entry.is_open(*inner, configured)))
        .map(|entry| &entry.key)
        .collect();
    let mut seen = BTreeSet::new();
    entries
        .iter()
        .filter(|entry| entry.is_open(layer, configured))
        .filter(|entry| !held.contains(&entry.key) && !entry.behind.iter().any(|key| held.contains(key)))
        .filter(|entry| seen.insert(&entry.key))
        .map(|entry| entry.key.clone())
        .collect()
}

/// The progress after an outcome. A refusal settles a key at its `most_tries`th; a failure changes nothing.
pub fn after(progress: Progress, outcome: &KeyOutcome, most_tries: u32) -> Progress {
    match (progress, outcome) {
        (Progress::Settled, _) | (_, KeyOutcome::Confirmed) => Progress::Settled,
        (Progress::Open { tries }, KeyOutcome::Refused { .. }) if tries + 1 >= most_tries => {
            Progress::Settled
        }
        (Progress::Open { tries }, KeyOutcome::Refused { .. }) => Progress::Open { tries: tries + 1 },
        (open, KeyOutcome::Failed { .. }) => open,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OPEN: Progress = Progress::Open { tries: 0 };
    const ALL: &[Layer] = &Layer::ALL;

    fn object(key: &'static str) -> Entry<&'static str> {
        Entry {
            key,
            behind: vec![],
            layers: BTreeMap::from([(Layer::GraphqlCdn, OPEN)]),
        }
    }

    fn slug(key: &'static str, behind: &[&'static str]) -> Entry<&'static str> {
        let layers = Layer::ALL.into_iter().map(|layer| (layer, OPEN)).collect();
        Entry {
            key,
            behind: behind.to_vec(),
            layers,
        }
    }

    fn settle(entries: &mut [Entry<&'static str>], key: &str, layer: Layer) {
        for entry in entries.iter_mut().filter(|entry| entry.key == key) {
            entry.layers.insert(layer, Progress::Settled);
        }
    }

    #[test]
    fn law_10_an_outer_layer_waits_for_the_key_and_for_what_it_stands_behind() {
        let mut plan = [object("page"), slug("/a", &["page"]), slug("/b", &[])];
        assert_eq!(sendable(&plan, Layer::GraphqlCdn, ALL), ["page", "/a", "/b"]);
        assert!(sendable(&plan, Layer::Storefront, ALL).is_empty());
        settle(&mut plan, "/a", Layer::GraphqlCdn);
        assert!(
            sendable(&plan, Layer::Storefront, ALL).is_empty(),
            "the object is not purged yet"
        );
        settle(&mut plan, "/b", Layer::GraphqlCdn);
        assert_eq!(
            sendable(&plan, Layer::Storefront, ALL),
            ["/b"],
            "one key does not wait for another's"
        );
        settle(&mut plan, "page", Layer::GraphqlCdn);
        assert_eq!(sendable(&plan, Layer::Storefront, ALL), ["/a", "/b"]);
        assert!(sendable(&plan, Layer::HtmlCdn, ALL).is_empty());
        settle(&mut plan, "/a", Layer::Storefront);
        assert_eq!(sendable(&plan, Layer::HtmlCdn, ALL), ["/a"]);
    }

    #[test]
    fn a_layer_without_a_target_is_passed_over() {
        let plan = [object("page"), slug("/a", &["page"])];
        assert_eq!(sendable(&plan, Layer::Storefront, &[Layer::Storefront]), ["/a"]);
        assert!(sendable(&plan, Layer::GraphqlCdn, &[Layer::Storefront]).is_empty());
        assert!(plan[0].is_settled(&[Layer::Storefront]));
        assert!(!plan[1].is_settled(&[Layer::Storefront]));
        assert!(plan[1].is_settled(&[]));
    }

    #[test]
    fn what_is_refused_for_good_holds_nothing_up_and_circles_do_no_harm() {
        let mut plan = [slug("/a", &["/b", "/a", "gone"]), slug("/b", &["/a"])];
        settle(&mut plan, "/a", Layer::GraphqlCdn);
        settle(&mut plan, "/b", Layer::GraphqlCdn);
        assert_eq!(sendable(&plan, Layer::Storefront, ALL), ["/a", "/b"]);
    }

    #[test]
    fn a_key_is_settled_as_refused_after_three_tries() {
        let refused = KeyOutcome::Refused { reason: "no".into() };
        let failed = KeyOutcome::Failed {
            reason: "down".into(),
        };
        let one = after(OPEN, &refused, 3);
        assert_eq!(one, Progress::Open { tries: 1 });
        assert_eq!(after(one, &failed, 3), one, "an outage consumes no try");
        let two = after(one, &refused, 3);
        assert_eq!(after(two, &refused, 3), Progress::Settled);
        assert_eq!(after(two, &KeyOutcome::Confirmed, 3), Progress::Settled);
        assert_eq!(after(Progress::Settled, &failed, 3), Progress::Settled);
    }

    /// A plan over keys 0..n: who is an object, who stands behind whom.
    fn plans() -> impl Strategy<Value = Vec<Entry<usize>>> {
        let entry = (any::<bool>(), proptest::collection::vec(0usize..14, 0..4));
        proptest::collection::vec(entry, 0..12).prop_map(|list| {
            let entry = |(key, (is_object, behind)): (usize, (bool, Vec<usize>))| {
                let layers = if is_object {
                    &Layer::ALL[..1]
                } else {
                    &Layer::ALL[..]
                };
                Entry {
                    key,
                    behind,
                    layers: layers.iter().map(|layer| (*layer, OPEN)).collect(),
                }
            };
            list.into_iter().enumerate().map(entry).collect()
        })
    }

    proptest! {
        /// Whatever targets answer: no key reaches a layer before the layers inside have settled it and what it stands behind, no
        /// settled key is sent again, and when answers stop failing everything is settled within as many passes as there are tries.
        #[test]
        fn inside_out_always_and_to_the_end(
            mut plan in plans(), configured in proptest::sample::subsequence(Layer::ALL.to_vec(), 0..=3),
            answers in proptest::collection::vec(0u8..3, 1..60), bad_passes in 0usize..6,
        ) {
            let mut asked = 0;
            for pass in 0..bad_passes + 9 {
                for layer in Layer::ALL {
                    let before = plan.clone();
                    let keys = sendable(&plan, layer, &configured);
                    prop_assert!(keys.is_empty() || configured.contains(&layer));
                    for key in &keys {
                        let entry = &before[*key];
                        let is_open = |key: usize, layer: &Layer| {
                            let progress = before.get(key).and_then(|entry| entry.layers.get(layer));
                            matches!(progress, Some(Progress::Open { .. }))
                        };
                        prop_assert!(is_open(*key, &layer));
                        for inner in configured.iter().filter(|inner| **inner < layer) {
                            for behind in entry.behind.iter().chain([key]) {
                                prop_assert!(!is_open(*behind, inner));
                            }
                        }
                        asked += 1;
                        let outcome = match answers[asked % answers.len()] {
                            0 => KeyOutcome::Confirmed,
                            1 => KeyOutcome::Refused { reason: "r".into() },
                            _ if pass >= bad_passes => KeyOutcome::Refused { reason: "r".into() },
                            _ => KeyOutcome::Failed { reason: "f".into() },
                        };
                        if let Some(progress) = plan[*key].layers.get_mut(&layer) {
                            *progress = after(*progress, &outcome, 3);
                        }
                    }
                }
            }
            prop_assert!(plan.iter().all(|entry| entry.is_settled(&configured)));
        }
    }
}
