//! Routes, and the changes made to them.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A published document of one dataset.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentRef {
    /// The dataset, e.g. `production`.
    pub dataset: String,
    /// The document's `_id`, without `drafts.` or `versions.<release>.`.
    pub document_id: String,
}

impl DocumentRef {
    /// The document `document_id` of `dataset`.
    pub fn new(dataset: impl Into<String>, document_id: impl Into<String>) -> Self {
        Self {
            dataset: dataset.into(),
            document_id: document_id.into(),
        }
    }
}

/// Names one route: a document has one a page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteName {
    /// The page's document.
    pub document: DocumentRef,
    /// The page among the document's pages, e.g. a language.
    pub route: String,
}

/// Whether Sanity could have given this id to a document: letters, digits, `.`, `_` and `-`, at most 128 of them.
///
/// Source: <https://www.sanity.io/docs/ids>. No other id can be found, referenced, or collide in a key of the table.
pub fn is_document_id(id: &str) -> bool {
    (1..=128).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// The published document that a reference to a draft or a version means.
pub(crate) fn published(id: &str) -> &str {
    if let Some(id) = id.strip_prefix("drafts.") {
        return id;
    }
    match id.strip_prefix("versions.").and_then(|rest| rest.split_once('.')) {
        Some((_release, id)) => id,
        None => id,
    }
}

/// One page: which document it shows, where, and what it is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Route {
    /// The dataset of the document and of its dependencies.
    pub dataset: String,
    /// The page's document.
    pub document_id: String,
    /// Its Sanity `_type`.
    pub document_type: String,
    /// Its type in the GraphQL schema.
    pub graphql_type: String,
    /// Names the page among the document's pages; stays when the slug changes.
    pub route: String,
    /// The page's path, unencoded.
    pub slug: String,
    /// Documents whose change makes the page stale, besides its own: sorted, without duplicates.
    pub dependencies: Vec<String>,
    /// The `_rev` of the document that this was computed from.
    pub source_revision: String,
    /// The document's `_updatedAt`, in epoch seconds.
    pub source_second: i64,
    /// SHA-256 in hex over all of the above. Equal hashes need no write.
    pub item_hash: String,
    /// Counts the writes of this route, from 1. Every write names the version that it replaces.
    pub version: u64,
}

impl Route {
    /// The document that the page shows.
    pub fn document(&self) -> DocumentRef {
        DocumentRef::new(&self.dataset, &self.document_id)
    }

    /// This route's name.
    pub fn name(&self) -> RouteName {
        RouteName {
            document: self.document(),
            route: self.route.clone(),
        }
    }

    /// The hash of this route's content, source revision included: a handled edit always leaves another hash, so that two
    /// consumers at one route meet in its version.
    pub fn content_hash(&self) -> String {
        let canonical = serde_json::json!([
            "route/1",
            self.dataset,
            self.document_id,
            self.document_type,
            self.graphql_type,
            self.route,
            self.slug,
            self.dependencies,
            self.source_revision,
            self.source_second,
        ])
        .to_string();
        Sha256::digest(canonical.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// What remains of a removed route for a while, so that a late writer cannot bring it back.
///
/// Without it, a consumer that read "no such route", froze, and woke after the page had been created and removed again
/// would pass its condition and write the removed page.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GoneRoute {
    /// The dataset of the document.
    pub dataset: String,
    /// The document whose page it was.
    pub document_id: String,
    /// The page among the document's pages.
    pub route: String,
    /// The revision that no longer has the page; `None` if the document itself is gone.
    pub source_revision: Option<String>,
    /// The second of that revision; of the last one seen if the document itself is gone.
    pub source_second: i64,
    /// Goes on counting from the removed route's.
    pub version: u64,
}

/// What a store holds under a route's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Entry {
    /// The page exists.
    Live(Route),
    /// The page was removed.
    Gone(GoneRoute),
}

impl Entry {
    /// The version to name when replacing this entry.
    pub fn version(&self) -> u64 {
        match self {
            Self::Live(route) => route.version,
            Self::Gone(gone) => gone.version,
        }
    }

    /// The same entry with another version.
    #[must_use]
    pub fn with_version(mut self, version: u64) -> Self {
        match &mut self {
            Self::Live(route) => route.version = version,
            Self::Gone(gone) => gone.version = version,
        }
        self
    }

    /// This entry's name.
    pub fn name(&self) -> RouteName {
        match self {
            Self::Live(route) => route.name(),
            Self::Gone(gone) => RouteName {
                document: DocumentRef::new(&gone.dataset, &gone.document_id),
                route: gone.route.clone(),
            },
        }
    }

    /// The route, if the page exists.
    pub fn live(&self) -> Option<&Route> {
        match self {
            Self::Live(route) => Some(route),
            Self::Gone(_) => None,
        }
    }

    /// Second and revision that the entry was computed from.
    pub fn source(&self) -> (i64, Option<&str>) {
        match self {
            Self::Live(route) => (route.source_second, Some(&route.source_revision)),
            Self::Gone(gone) => (gone.source_second, gone.source_revision.as_deref()),
        }
    }
}

/// One change of one route with its edges and its slug pointer. A store makes it wholly or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RouteChange {
    /// The page exists and something about it is new.
    Write(Box<RouteWrite>),
    /// The page no longer exists.
    Delete(RouteDelete),
}

/// See [`RouteChange::Write`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RouteWrite {
    /// The route as it will be. A change too large for one transaction adds one more to its version.
    pub route: Route,
    /// What was read and must still be there; `None` if there was nothing.
    pub replaces: Option<Entry>,
    /// Dependencies that the page did not have before.
    pub add_edges: Vec<String>,
    /// Dependencies that it no longer has.
    pub remove_edges: Vec<String>,
    /// The slug that it leaves, if it had another one.
    pub old_slug: Option<String>,
}

/// See [`RouteChange::Delete`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RouteDelete {
    /// What stays in the route's place.
    pub gone: GoneRoute,
    /// The version that was read.
    pub expected_version: u64,
    /// The page's dependencies.
    pub remove_edges: Vec<String>,
    /// The page's slug.
    pub old_slug: String,
}

impl RouteChange {
    /// The route's name.
    pub fn name(&self) -> RouteName {
        self.entry().name()
    }

    /// What the store will hold.
    pub fn entry(&self) -> Entry {
        match self {
            Self::Write(write) => Entry::Live(write.route.clone()),
            Self::Delete(delete) => Entry::Gone(delete.gone.clone()),
        }
    }

    /// The version that must be there for the change to be made.
    pub fn expected_version(&self) -> Option<u64> {
        match self {
            Self::Write(write) => write.replaces.as_ref().map(Entry::version),
            Self::Delete(delete) => Some(delete.expected_version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route() -> Route {
        Route {
            dataset: "production".into(),
            document_id: "p1".into(),
            document_type: "page".into(),
            graphql_type: "Page".into(),
            route: "default".into(),
            slug: "/a".into(),
            dependencies: vec!["b1".into()],
            source_revision: "r1".into(),
            source_second: 100,
            item_hash: String::new(),
            version: 1,
        }
    }

    #[test]
    fn the_hash_covers_all_content_and_only_content() {
        let hash = route().content_hash();
        // Fixed: another value would rewrite every route of every table once.
        assert_eq!(
            hash,
            "51d7be5c81615d2c22779fd7e23a6df1d4e0cda4e33edd748c26f800900b1cd8"
        );
        let changes: [fn(&mut Route); 10] = [
            |route| route.dataset.push('x'),
            |route| route.document_id.push('x'),
            |route| route.document_type.push('x'),
            |route| route.graphql_type.push('x'),
            |route| route.route.push('x'),
            |route| route.slug.push('x'),
            |route| route.dependencies.push("b2".into()),
            |route| route.dependencies.clear(),
            |route| route.source_revision.push('x'),
            |route| route.source_second += 1,
        ];
        for change in changes {
            let mut other = route();
            change(&mut other);
            assert_ne!(other.content_hash(), hash, "{other:?}");
        }
        let mut other = route();
        other.version = 9;
        other.item_hash = "anything".into();
        assert_eq!(other.content_hash(), hash);
    }

    #[test]
    fn ids_that_sanity_gives() {
        for id in ["a", "4f0c-1", "a.b_c-D", &"x".repeat(128)] {
            assert!(is_document_id(id), "{id}");
        }
        for id in ["", "a b", "a#b", "é", &"x".repeat(129)] {
            assert!(!is_document_id(id), "{id}");
        }
    }
}
