//! What the routing query answered, read leniently: one bad row is an error of its own document only.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::model::{is_document_id, published};

/// The route's name where the query gives none.
pub const DEFAULT_ROUTE: &str = "default";

/// Bytes that a slug may have: it is part of a partition key of DynamoDB, which holds 2,048.
pub const MAXIMUM_SLUG_BYTES: usize = 1800;

/// Bytes that a route's name may have: it is part of a sort key of DynamoDB, which holds 1,024.
pub const MAXIMUM_ROUTE_BYTES: usize = 256;

/// One document as the routing query shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// `_id`.
    pub document_id: String,
    /// `_type`.
    pub document_type: String,
    /// `_rev`.
    pub revision: String,
    /// `_updatedAt`.
    pub updated_at: OffsetDateTime,
    /// The document's pages, by name, with their slugs.
    pub routes: BTreeMap<String, String>,
    /// What the pages depend on, without the document itself: sorted, without duplicates.
    pub dependencies: Vec<String>,
    /// How many dependencies were left out because the bound was hit.
    pub dependencies_beyond_bound: usize,
    /// Whether references were left alone because they lie too deep.
    pub beyond_depth: bool,
    /// Whether documents were not followed because there were too many.
    pub beyond_width: bool,
}

impl Row {
    /// The second that orders (law 5).
    pub fn second(&self) -> i64 {
        self.updated_at.unix_timestamp()
    }

    /// Adds dependencies, the first first, as long as there are no more than `maximum`.
    pub(crate) fn depend_on(&mut self, found: &[String], maximum: usize) {
        let mut dependencies: BTreeSet<String> = std::mem::take(&mut self.dependencies).into_iter().collect();
        for id in found {
            if dependencies.len() < maximum {
                dependencies.insert(id.clone());
            } else if !dependencies.contains(id) {
                self.dependencies_beyond_bound += 1;
            }
        }
        self.dependencies = dependencies.into_iter().collect();
    }
}

/// Why a row cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The query's result is not an array.
    #[error("the routing query answered no array")]
    NotAnArray,
    /// A row that names no document could be any document's.
    #[error(
        "the routing query answered a row without a usable _id, so what it left out is not known to be absent"
    )]
    Unattributed,
    /// A field has another type than it must have.
    #[error("the routing query answered {field} that is not {expected}")]
    Field {
        /// The field, e.g. `routes[2].slug`.
        field: String,
        /// What it must be.
        expected: &'static str,
    },
    /// Two different rows or two different slugs claim one name.
    #[error("the routing query answered two different {0}")]
    Twice(String),
    /// A slug or a route's name is longer than a key can hold.
    #[error("{field} has {bytes} bytes; at most {maximum} can be stored")]
    TooLong {
        /// The field.
        field: String,
        /// Its length.
        bytes: usize,
        /// The longest allowed.
        maximum: usize,
    },
    /// The query gave pages to a type that `routes.toml` does not list under `routed`.
    #[error("the routing query gives pages to type {0:?}, which routes.toml does not list under [routed]")]
    NotRouted(String),
    /// Row and document were answered as of different moments, or not both.
    #[error("the document was answered in another revision than its row")]
    OtherRevision,
    /// The document's row was never asked for.
    #[error("the routing query was not asked for this document")]
    NotAsked,
}

/// The rows of one or several answers, by document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    by_document: BTreeMap<String, Result<Option<Row>, RowError>>,
}

impl Rows {
    /// Adds the `answer` (the `result` of the query API) to a query for the ids in `asked`.
    ///
    /// An id without a row is absent, unless the answer holds something that could have been its row. Dependencies beyond
    /// `maximum_dependencies` are left out and counted in the row. Rows nobody asked for are ignored.
    pub fn read(&mut self, asked: &[String], answer: &Value, maximum_dependencies: usize) {
        let mut found: BTreeMap<&str, Result<Option<Row>, RowError>> = BTreeMap::new();
        let mut missing = Ok(None);
        match answer.as_array() {
            None => missing = Err(RowError::NotAnArray),
            Some(rows) => {
                for row in rows {
                    let Some(id) = row.get("_id").and_then(Value::as_str) else {
                        missing = Err(RowError::Unattributed);
                        continue;
                    };
                    let read = read_row(id, row, maximum_dependencies).map(Some);
                    found
                        .entry(id)
                        .and_modify(|before| {
                            if *before != read {
                                *before = Err(RowError::Twice(format!("rows for {id}")));
                            }
                        })
                        .or_insert(read);
                }
            }
        }
        for id in asked {
            let row = found.remove(id.as_str()).unwrap_or_else(|| missing.clone());
            self.by_document.insert(id.clone(), row);
        }
    }

    /// The rows of documents with pages.
    pub(crate) fn pages_mut(
        &mut self,
    ) -> impl Iterator<Item = (&String, &mut Result<Option<Row>, RowError>)> {
        let is_page =
            |row: &Result<Option<Row>, RowError>| matches!(row, Ok(Some(row)) if !row.routes.is_empty());
        self.by_document.iter_mut().filter(move |(_, row)| is_page(row))
    }

    /// What the query showed of a document: its row, or `None` if there is no such published document.
    ///
    /// # Errors
    /// The row cannot be used, or was never asked for.
    pub fn get(&self, document_id: &str) -> Result<Option<&Row>, RowError> {
        match self.by_document.get(document_id) {
            Some(Ok(row)) => Ok(row.as_ref()),
            Some(Err(error)) => Err(error.clone()),
            None => Err(RowError::NotAsked),
        }
    }
}

fn read_row(id: &str, row: &Value, maximum_dependencies: usize) -> Result<Row, RowError> {
    let text = |field: &str, expected: &'static str| {
        row.get(field)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .ok_or(RowError::Field {
                field: field.into(),
                expected,
            })
    };
    if !is_document_id(id) {
        return Err(RowError::Field {
            field: "_id".into(),
            expected: "a document id",
        });
    }
    let updated_at =
        OffsetDateTime::parse(text("_updatedAt", "a time")?, &Rfc3339).map_err(|_| RowError::Field {
            field: "_updatedAt".into(),
            expected: "a time",
        })?;
    let (dependencies, dependencies_beyond_bound) = read_dependencies(id, row, maximum_dependencies)?;
    Ok(Row {
        document_id: id.into(),
        document_type: text("_type", "a type")?.into(),
        revision: text("_rev", "a revision")?.into(),
        updated_at,
        routes: read_routes(row)?,
        dependencies,
        dependencies_beyond_bound,
        beyond_depth: false,
        beyond_width: false,
    })
}

/// The array under `field`; null and nothing are an empty one.
fn array<'a>(row: &'a Value, field: &str) -> Result<&'a [Value], RowError> {
    match row.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(RowError::Field {
            field: field.into(),
            expected: "an array",
        }),
    }
}

fn read_routes(row: &Value) -> Result<BTreeMap<String, String>, RowError> {
    let mut routes = BTreeMap::new();
    for (index, item) in array(row, "routes")?.iter().enumerate() {
        if item.is_null() {
            continue;
        }
        let at = |field: &str| format!("routes[{index}]{field}");
        let expect = |field: &str, expected| RowError::Field {
            field: at(field),
            expected,
        };
        let object = item.as_object().ok_or_else(|| expect("", "an object"))?;
        let route = match object.get("route") {
            None | Some(Value::Null) => DEFAULT_ROUTE,
            Some(Value::String(name)) if !name.is_empty() => name,
            Some(_) => return Err(expect(".route", "a name")),
        };
        // A slug field that was passed on whole: {"_type": "slug", "current": "/a"}.
        let slug = match object.get("slug") {
            Some(Value::Object(slug)) => slug.get("current"),
            slug => slug,
        };
        let slug = match slug {
            None | Some(Value::Null) => continue,
            Some(Value::String(slug)) if slug.is_empty() => continue,
            Some(Value::String(slug)) => slug,
            Some(_) => return Err(expect(".slug", "a slug")),
        };
        for (field, value, maximum) in [
            (".route", route, MAXIMUM_ROUTE_BYTES),
            (".slug", slug.as_str(), MAXIMUM_SLUG_BYTES),
        ] {
            if value.len() > maximum {
                return Err(RowError::TooLong {
                    field: at(field),
                    bytes: value.len(),
                    maximum,
                });
            }
            if value.chars().any(char::is_control) {
                return Err(expect(field, "free of control characters"));
            }
        }
        if let Some(before) = routes.insert(route.to_owned(), slug.clone())
            && before != *slug
        {
            return Err(RowError::Twice(format!("slugs for route {route:?}")));
        }
    }
    Ok(routes)
}

fn read_dependencies(own: &str, row: &Value, maximum: usize) -> Result<(Vec<String>, usize), RowError> {
    let mut dependencies = BTreeSet::new();
    let mut beyond = BTreeSet::new();
    for (index, item) in array(row, "dependencies")?.iter().enumerate() {
        let id = match item {
            Value::Null => continue,
            Value::String(id) => published(id),
            _ => {
                return Err(RowError::Field {
                    field: format!("dependencies[{index}]"),
                    expected: "a document id",
                });
            }
        };
        // An id that no document can have (an empty one, a URL) has no edits to wait for.
        if id == own || !is_document_id(id) || dependencies.contains(id) {
            continue;
        }
        if dependencies.len() < maximum {
            dependencies.insert(id.to_owned());
        } else {
            beyond.insert(id);
        }
    }
    let beyond = beyond.len();
    Ok((dependencies.into_iter().collect(), beyond))
}
