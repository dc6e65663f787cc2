//! `routes.toml`: what each document type means, the routing query, and the bounds.
//!
//! The file is embedded at build. It is read as written, checked with every problem reported at once, and used only in its
//! checked form.

mod check;
mod dependencies;
mod groq;
mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ledger::late::LatePolicy;
use serde_json::{Map, Value};

pub use dependencies::Dependencies;

/// The file that the functions are built with.
const EMBEDDED: &str = include_str!("../../routes.toml");

/// The checked `routes.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutesConfig {
    routed: BTreeMap<String, RoutedType>,
    components: BTreeMap<String, Component>,
    ignored: BTreeSet<String>,
    unknown_types: UnknownTypes,
    late: LatePolicy,
    limits: Limits,
    graphql: GraphqlNames,
    dependencies: Dependencies,
    groq: String,
}

/// What happens to the events of a document type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypePolicy {
    /// Its documents have pages.
    Routed,
    /// Its documents appear on pages. Unlisted types are components too, unless `unknown_types = "review"`.
    Component,
    /// Its events are recorded and left alone.
    Ignored,
    /// Nobody has said yet; its events are set aside.
    Review,
}

/// What to do with a type that the file does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnknownTypes {
    Cascade,
    Review,
}

/// A type with pages of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RoutedType {
    graphql_type: String,
    event_paths: Vec<String>,
    late: Option<LatePolicy>,
}

/// A type without pages of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Component {
    graphql_type: Option<String>,
    late: Option<LatePolicy>,
}

/// The bounds of a cascade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Documents asked for in one routing query.
    pub chunk_size: usize,
    /// Pages that one changed document may refresh.
    pub maximum_width: usize,
    /// Documents that one page may depend on.
    pub maximum_dependencies: usize,
}

/// How the GraphQL CDN addresses what it caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphqlNames {
    /// The type that answers which page is at a slug.
    pub routing_type: String,
    /// That type's key field.
    pub slug_field: String,
    /// The key field of all other types.
    pub id_field: String,
}

/// What a query of a cascade asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// Rows: an array.
    Rows,
    /// Rows and the documents they are of: `{"rows": […], "documents": […]}`, in one answer, so that both are of one moment.
    RowsAndDocuments,
    /// Documents whose references are followed: an array.
    Documents,
}

/// One query to the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingQuery {
    /// What it asks for.
    pub asks: Asks,
    /// The documents that it asks for.
    pub ids: Vec<String>,
    /// The query, in GROQ.
    pub groq: String,
    /// `{"ids": […], …}`: names without `$`, as the query API's POST body wants them.
    pub params: Map<String, Value>,
}

/// Everything that is wrong with a `routes.toml`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RoutesConfigError {
    /// In the order of the lines.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong with a `routes.toml`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The line, from 1; of the nearest enclosing thing if something is missing.
    pub line: usize,
    /// The key as a dotted path, e.g. `routed.page.graphql_type`; empty for the file itself.
    pub key: String,
    /// What is wrong and what is allowed.
    pub what: String,
}

impl fmt::Display for RoutesConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "routes.toml has {} problem(s):", self.problems.len())?;
        for problem in &self.problems {
            write!(out, "\n  {problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.as_str() {
            "" => write!(out, "line {}: {}", self.line, self.what),
            key => write!(out, "line {}, {key}: {}", self.line, self.what),
        }
    }
}

impl RoutesConfig {
    /// The `routes.toml` that was embedded at build. A test checks it, so an error here means an untested build.
    ///
    /// # Errors
    /// Every problem of the file.
    pub fn embedded() -> Result<Self, RoutesConfigError> {
        Self::parse(EMBEDDED)
    }

    /// Reads and checks `text`.
    ///
    /// # Errors
    /// Every problem of the file, each with its line and key.
    pub fn parse(text: &str) -> Result<Self, RoutesConfigError> {
        check::check(text)
    }

    /// What happens to the events of `document_type` (a Sanity `_type`).
    pub fn type_policy(&self, document_type: &str) -> TypePolicy {
        if self.routed.contains_key(document_type) {
            TypePolicy::Routed
        } else if self.components.contains_key(document_type) {
            TypePolicy::Component
        } else if self.ignored.contains(document_type) {
            TypePolicy::Ignored
        } else {
            match self.unknown_types {
                UnknownTypes::Cascade => TypePolicy::Component,
                UnknownTypes::Review => TypePolicy::Review,
            }
        }
    }

    /// The GraphQL type of `document_type`, if its objects are known to the GraphQL CDN.
    pub fn graphql_type(&self, document_type: &str) -> Option<&str> {
        match self.routed.get(document_type) {
            Some(routed) => Some(&routed.graphql_type),
            None => self.components.get(document_type)?.graphql_type.as_deref(),
        }
    }

    /// The paths that a slug named by a webhook may stand for.
    ///
    /// A document's slug field seldom holds the whole path; the routing query builds that, but only for the present slug. A
    /// type that is not routed (any more) gets the default, `/{slug}`.
    pub fn event_paths(&self, document_type: Option<&str>, slug: &str) -> Vec<String> {
        if slug.is_empty() {
            return vec![];
        }
        if slug.starts_with('/') {
            return vec![slug.to_owned()];
        }
        match document_type.and_then(|name| self.routed.get(name)) {
            Some(routed) => routed
                .event_paths
                .iter()
                .map(|path| path.replace("{slug}", slug))
                .collect(),
            None => vec![format!("/{slug}")],
        }
    }

    /// What becomes of a late event of `document_type`; without a type, of one that is not listed.
    pub fn late_policy(&self, document_type: Option<&str>) -> LatePolicy {
        let routed = || self.routed.get(document_type?)?.late;
        let component = || self.components.get(document_type?)?.late;
        routed().or_else(component).unwrap_or(self.late)
    }

    /// The bounds of a cascade.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// How the GraphQL CDN addresses what it caches.
    pub fn graphql(&self) -> &GraphqlNames {
        &self.graphql
    }

    /// How it is found out what a page is made of.
    pub fn dependencies(&self) -> &Dependencies {
        &self.dependencies
    }

    /// Whether the references of documents of this type are followed further.
    pub fn follows(&self, document_type: &str) -> bool {
        match &self.dependencies.follow {
            Some(types) => types.contains(document_type),
            None => {
                !self.routed.contains_key(document_type)
                    && !self.ignored.contains(document_type)
                    && !document_type.starts_with("sanity.")
            }
        }
    }

    /// The queries that ask for the rows of `ids`, chunk by chunk; none for no ids.
    pub fn queries(&self, ids: &BTreeSet<String>) -> Vec<RoutingQuery> {
        let (asks, groq) = if self.dependencies.by_references {
            // On lines of its own: the query may end with a comment.
            let groq = format!("{{\"rows\": (\n{}\n), \"documents\": *[_id in $ids]}}", self.groq);
            (Asks::RowsAndDocuments, groq)
        } else {
            (Asks::Rows, self.groq.clone())
        };
        self.chunked(ids, asks, &groq, None)
    }

    /// The queries that ask for those of `ids` whose references are followed, chunk by chunk; none for no ids.
    pub fn document_queries(&self, ids: &BTreeSet<String>) -> Vec<RoutingQuery> {
        let (groq, types) = match &self.dependencies.follow {
            Some(types) => (
                "*[_id in $ids && _type in $types]",
                types.iter().collect::<Vec<_>>(),
            ),
            None => (
                "*[_id in $ids && !(_type in $types) && !string::startsWith(_type, \"sanity.\")]",
                self.routed.keys().chain(&self.ignored).collect(),
            ),
        };
        self.chunked(
            ids,
            Asks::Documents,
            groq,
            Some(Value::from_iter(types.into_iter().cloned())),
        )
    }

    fn chunked(
        &self,
        ids: &BTreeSet<String>,
        asks: Asks,
        groq: &str,
        types: Option<Value>,
    ) -> Vec<RoutingQuery> {
        let ids: Vec<String> = ids.iter().cloned().collect();
        let chunks = ids.chunks(self.limits.chunk_size);
        chunks
            .map(|chunk| {
                let mut params = Map::from_iter([("ids".to_owned(), Value::from(chunk.to_vec()))]);
                params.extend(types.clone().map(|types| ("types".to_owned(), types)));
                RoutingQuery {
                    asks,
                    ids: chunk.to_vec(),
                    groq: groq.to_owned(),
                    params,
                }
            })
            .collect()
    }
}
