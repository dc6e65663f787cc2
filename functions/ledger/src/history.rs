//! What a wake did, kept below the document for whoever asks why a page was purged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{fence::Passed, item::OutboxItem, plan::Layer};

/// Slugs and objects named in one record at the most; the numbers are always whole.
const NAMED: usize = 200;

/// How one layer came off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerOutcome {
    /// Keys confirmed by this wake.
    pub confirmed: u32,
    /// Keys settled as refused by this wake, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// When the layer's last call of this wake came back, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// One wake that changed the head.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// Partition key of the document.
    pub pk: String,
    /// `Z#<epoch milliseconds>#<message>`.
    pub sk: String,
    /// Sort key of the item whose message woke the consumer.
    pub wake: String,
    /// The events handled together.
    pub events: Vec<String>,
    /// Events covered by them, repeats and late ones.
    #[serde(default)]
    pub covered: Vec<String>,
    /// When the consumer began to read, RFC 3339.
    pub began_at: String,
    /// When the fence opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fenced_at: Option<String>,
    /// How sure the fence was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Passed>,
    /// Milliseconds spent waiting for the fence.
    #[serde(default)]
    pub fence_waited: u64,
    /// When the plan was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_at: Option<String>,
    /// Routes the cascade touched.
    #[serde(default)]
    pub routes_affected: u32,
    /// Routes whose item had changed and was written.
    #[serde(default)]
    pub routes_written: u32,
    /// The cascade reached a bound and left out what lies beyond.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bound_hit: bool,
    /// By layer, innermost first.
    #[serde(default)]
    pub layers: BTreeMap<Layer, LayerOutcome>,
    /// The slugs purged.
    #[serde(default)]
    pub slugs: Vec<String>,
    /// The objects purged, `Type:id`.
    #[serde(default)]
    pub objects: Vec<String>,
    /// Version of the function that did it.
    pub handler_version: String,
    /// Time to live, epoch seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

impl History {
    /// A record for the wake of `sort_key` that began at `milliseconds` since the epoch.
    pub fn new(document_key: &str, sort_key: &str, milliseconds: i64, began_at: String) -> Self {
        let message = sort_key.splitn(3, '#').nth(2).unwrap_or(sort_key);
        Self {
            pk: document_key.to_owned(),
            sk: format!("Z#{milliseconds:014}#{message}"),
            wake: sort_key.to_owned(),
            began_at,
            handler_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Self::default()
        }
    }

    /// Names the events handled and covered.
    pub fn name_events<'a>(
        &mut self,
        handled: impl IntoIterator<Item = &'a OutboxItem>,
        covered: impl IntoIterator<Item = &'a OutboxItem>,
    ) {
        let ids = |items: &mut dyn Iterator<Item = &'a OutboxItem>| {
            items.take(NAMED).map(|item| item.event_id.clone()).collect()
        };
        self.events = ids(&mut handled.into_iter());
        self.covered = ids(&mut covered.into_iter());
    }

    /// Names a purged slug or object, up to a bound.
    pub fn name_key(&mut self, key: &crate::plan::Key) {
        let (list, name) = match key {
            crate::plan::Key::Slug { slug } => (&mut self.slugs, slug.clone()),
            crate::plan::Key::Object { graphql_type, id } => {
                (&mut self.objects, format!("{graphql_type}:{id}"))
            }
        };
        if list.len() < NAMED && !list.contains(&name) {
            list.push(name);
        }
    }
}
