//! Targets that keep what they were asked and can be told to fail.

use std::sync::{Arc, Mutex};

use ledger::plan::{Key, Layer};
use platform::Deadline;
use purge::{KeyOutcome, Outage, PurgeReport, Target};

use super::source::Lake;

/// Every purge that was asked of any target, in order.
#[derive(Debug, Default)]
pub struct Asked {
    calls: Mutex<Vec<(Layer, Vec<Key>)>>,
}

impl Asked {
    /// The keys asked of a layer since the last call.
    pub fn take(&self, layer: Layer) -> Vec<Key> {
        let mut calls = self.calls.lock().unwrap();
        let (taken, left) = std::mem::take(&mut *calls)
            .into_iter()
            .partition(|(of, _)| *of == layer);
        *calls = left;
        let taken: Vec<(Layer, Vec<Key>)> = taken;
        taken.into_iter().flat_map(|(_, keys)| keys).collect()
    }

    /// How many calls there were, by layer, in order.
    pub fn layers(&self) -> Vec<Layer> {
        self.calls
            .lock()
            .unwrap()
            .iter()
            .map(|(layer, _)| *layer)
            .collect()
    }

    pub fn clear(&self) {
        self.calls.lock().unwrap().clear();
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mood {
    Works,
    Out,
    /// Refuses these keys.
    Refuses(Vec<Key>),
    /// Purges and then the process dies.
    PanicsAfter,
    /// Panics when asked for this key.
    PanicsAt(Key),
}

/// Reads one document from the lake right after each purge, as a cache does that fills up again.
#[derive(Debug)]
struct Visitor {
    lake: Arc<Lake>,
    id: String,
    seen: Vec<Option<String>>,
}

#[derive(Debug)]
pub struct FakeTarget {
    name: &'static str,
    layer: Layer,
    asked: Arc<Asked>,
    mood: Mutex<Mood>,
    visitor: Mutex<Option<Visitor>>,
}

impl FakeTarget {
    pub fn new(name: &'static str, layer: Layer, asked: Arc<Asked>) -> Self {
        Self {
            name,
            layer,
            asked,
            mood: Mutex::new(Mood::Works),
            visitor: Mutex::default(),
        }
    }

    /// From now on a visitor reads the document right after each purge.
    pub fn visit(&self, lake: Arc<Lake>, id: &str) {
        *self.visitor.lock().unwrap() = Some(Visitor {
            lake,
            id: id.to_owned(),
            seen: vec![],
        });
    }

    /// The revisions that the visitor saw, one a purge.
    pub fn visits(&self) -> Vec<Option<String>> {
        let visitor = self.visitor.lock().unwrap();
        visitor
            .as_ref()
            .map(|visitor| visitor.seen.clone())
            .unwrap_or_default()
    }

    pub fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }
}

/// What the consumer holds of a target that the test keeps a hand on.
#[derive(Debug, Clone)]
pub struct Held(pub Arc<FakeTarget>);

impl Target for Held {
    fn layer(&self) -> Layer {
        self.0.layer
    }

    fn name(&self) -> &str {
        self.0.name
    }

    async fn purge(&self, keys: &[Key], _: Deadline) -> PurgeReport {
        assert!(!keys.is_empty(), "law 10: an empty key list is never sent");
        self.0
            .asked
            .calls
            .lock()
            .unwrap()
            .push((self.0.layer, keys.to_vec()));
        if let Some(visitor) = &mut *self.0.visitor.lock().unwrap() {
            visitor.seen.push(visitor.lake.shown(&visitor.id));
        }
        let mood = self.0.mood.lock().unwrap().clone();
        if let Mood::PanicsAt(key) = &mood {
            assert!(!keys.contains(key), "a bug that one page meets");
        }
        let outcome = |key: &Key| match &mood {
            Mood::Out => KeyOutcome::Failed {
                reason: "HTTP 503".into(),
            },
            Mood::Refuses(refused) if refused.contains(key) => KeyOutcome::Refused {
                reason: "HTTP 400".into(),
            },
            _ => KeyOutcome::Confirmed,
        };
        assert!(mood != Mood::PanicsAfter, "the process dies after the purge");
        PurgeReport {
            outcomes: keys.iter().map(|key| (key.clone(), outcome(key))).collect(),
            outage: (mood == Mood::Out).then(|| Outage {
                retry_after: None,
                what: "HTTP 503".into(),
            }),
            calls: 1,
            suspects: vec![],
        }
    }
}
