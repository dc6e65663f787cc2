//! One key of a plan and how far each layer has come with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Key, Layer};

/// How far one layer has come with one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "progress", rename_all = "snake_case")]
pub enum Progress {
    /// Still to be purged.
    Owed {
        /// Refusals of this key so far; at the limit it is settled as refused.
        #[serde(default, skip_serializing_if = "is_zero")]
        tries: u32,
        /// The work it is owed to, see [`super::Plan::owe`].
        token: String,
    },
    /// The layer has confirmed the purge.
    Confirmed {
        /// The work it was confirmed for. A confirmation holds for no other (law 10).
        token: String,
    },
    /// The layer refused this very key; nothing else waits for it.
    Refused {
        /// The work it was refused for.
        token: String,
        /// Why.
        reason: String,
    },
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Progress {
    /// True when nothing is left to do.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Owed { .. })
    }

    /// The work it belongs to.
    pub fn token(&self) -> &str {
        match self {
            Self::Owed { token, .. } | Self::Confirmed { token } | Self::Refused { token, .. } => token,
        }
    }
}

/// A key to purge, without progress: what a cascade computes and what a wake carries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// What to purge.
    pub key: Key,
    /// Objects that the GraphQL CDN must have let go before an outer layer purges this key, or that layer refills from
    /// stale answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Key>,
}

impl Entry {
    /// The slug, where it is one of the document's own pages: nothing but the document's own objects is behind it. Behind a
    /// dependant's page is that page's object, too. A slug that both share is taken for the dependant's.
    pub fn own_slug(&self, document_id: &str) -> Option<&str> {
        match &self.key {
            Key::Slug { slug } if self.behind.iter().all(|key| key.is_object_of(document_id)) => Some(slug),
            _ => None,
        }
    }
}

/// A key to purge and how far each of its layers has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What to purge, and behind what.
    #[serde(flatten)]
    pub entry: Entry,
    /// By layer. A layer without a target is absent.
    pub layers: BTreeMap<Layer, Progress>,
}

impl PlanEntry {
    /// True when every layer is settled.
    pub fn is_settled(&self) -> bool {
        self.layers.values().all(Progress::is_settled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_the_documents_own_where_no_other_documents_object_is_behind_it() {
        let object = |id: &str| Key::Object {
            graphql_type: "Page".to_owned(),
            id: id.to_owned(),
        };
        let slug = |behind: &[&str]| Entry {
            key: Key::Slug {
                slug: "/a".to_owned(),
            },
            behind: behind.iter().map(|id| object(id)).collect(),
        };
        for own in [slug(&["home"]), slug(&[])] {
            assert_eq!(own.own_slug("home"), Some("/a"));
        }
        let key = object("home");
        let behind = vec![];
        for other in [slug(&["home", "about"]), slug(&["about"]), Entry { key, behind }] {
            assert_eq!(other.own_slug("home"), None, "{other:?}");
        }
    }
}
