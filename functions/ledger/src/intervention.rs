//! What an operator asked for, kept below the document beside what the wakes did (law 14): the history only grows.

use serde::{Deserialize, Serialize};

/// One operator's request concerning one document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervention {
    /// Partition key of the document.
    pub pk: String,
    /// `Z#<epoch milliseconds>#operator#<what it is about>`.
    pub sk: String,
    /// `reprocess`, `settle` or `rebuild`.
    pub verb: String,
    /// Who asked.
    pub requester: String,
    /// Why.
    pub because: String,
    /// The event it is about.
    pub event_id: String,
    /// The state that event was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_state: Option<String>,
    /// The generation that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// When, RFC 3339.
    pub at: String,
    /// Version of the function that took the request.
    pub handler_version: String,
}

impl Intervention {
    /// The sort key of a request made at `milliseconds` since the epoch.
    pub fn sort_key(milliseconds: i64, about: &str) -> String {
        format!("Z#{milliseconds:014}#operator#{about}")
    }

    /// Whether a history sort key is one of these.
    pub fn is_sort_key(sort_key: &str) -> bool {
        sort_key.split('#').nth(2) == Some("operator")
    }
}
