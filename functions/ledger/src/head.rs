//! The head of a document: what was applied last (law 5).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    identity,
    item::{Class, OutboxItem, Seen},
    slugs::SlugsEver,
};

/// One revision in one class that the head's second has seen handled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Handled {
    /// `_rev`, or the event id where the event names no revision.
    pub revision: String,
    /// Write or delete.
    pub class: Class,
}

impl Handled {
    /// What `item` adds to the set.
    pub fn of(item: &OutboxItem) -> Self {
        Self {
            revision: item.revision_or_event().to_owned(),
            class: item.class,
        }
    }
}

/// What was applied last to a document. Absent from the table, it equals [`Head::default`] with version 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The newest applied second; none when only unordered events were applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<i64>,
    /// What was handled in that second. One-second times and unordered revisions are no order, so it is a set.
    #[serde(default)]
    pub handled: BTreeSet<Handled>,
    /// The generation an operator's reprocess has reached (law 14).
    #[serde(default)]
    pub generation: u64,
    /// Sort keys of items this head covers and whose marks may still be missing (law 12: head first, then marks).
    #[serde(default)]
    pub marks_owed: Vec<String>,
    /// The lowest second that may still hold an open item; a wake reads from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_second: Option<i64>,
    /// What the source showed at the last cascade; absent: no document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
    /// Every slug that the document's pages ever had.
    #[serde(default, skip_serializing_if = "SlugsEver::is_empty")]
    pub slugs: SlugsEver,
    /// Grows by one with every change; 0 means that there is no head yet.
    #[serde(default)]
    pub version: u64,
}

impl Head {
    /// Sort key from which a wake for `sort_key` reads: the lower of the open second and the message's, so that what the
    /// frontier covers is seen. Without an open second everything may be open.
    pub fn read_from(&self, sort_key: &str) -> String {
        let open = self.open_second.unwrap_or(0);
        identity::sort_key(
            identity::second_of(sort_key).map_or(open, |second| second.min(open)),
            "",
        )
    }

    /// True when this head's last change covered `sort_key`.
    pub fn owes_mark(&self, sort_key: &str) -> bool {
        self.marks_owed.iter().any(|owed| owed == sort_key)
    }
}
