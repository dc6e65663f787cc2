//! What pages are made of, found by following references from document to document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::config::RoutesConfig;
use crate::references::references;
use crate::row::RowError;

/// The documents read so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Discovery {
    documents: BTreeMap<String, Document>,
}

#[derive(Debug, Clone)]
enum Document {
    Read {
        document_type: String,
        revision: String,
        references: BTreeSet<String>,
    },
    /// It does not exist, or is of a type that is not followed.
    Absent,
    /// It was asked for, and the answer does not say.
    Unclear,
    /// It was not asked for, since there were too many.
    Cut,
}

/// What was found from one page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The documents reached: the nearest first, without the page itself.
    pub(crate) documents: Vec<String>,
    /// Documents that must be read before this is complete.
    pub(crate) unread: BTreeSet<String>,
    /// Whether there are references beyond the greatest depth.
    pub(crate) beyond_depth: bool,
    /// Whether some documents were not followed, since there were too many.
    pub(crate) beyond_width: bool,
}

impl Discovery {
    /// Adds the `answer` to a query for the documents in `asked`.
    pub(crate) fn read(&mut self, asked: &[String], answer: &Value) {
        let mut found = BTreeMap::new();
        let mut missing = Document::Absent;
        match answer.as_array() {
            None => missing = Document::Unclear,
            Some(documents) => {
                for document in documents {
                    let text = |field: &str| document.get(field).and_then(Value::as_str).map(str::to_owned);
                    let (Some(id), Some(document_type), Some(revision)) =
                        (text("_id"), text("_type"), text("_rev"))
                    else {
                        // It could be any of them.
                        missing = Document::Unclear;
                        continue;
                    };
                    let references = references(document);
                    let read = Document::Read {
                        document_type,
                        revision,
                        references,
                    };
                    found.insert(id, read);
                }
            }
        }
        for id in asked {
            let document = found.remove(id).unwrap_or_else(|| missing.clone());
            self.documents.insert(id.clone(), document);
        }
    }

    /// Gives up on documents that there are too many of.
    pub(crate) fn cut(&mut self, ids: impl IntoIterator<Item = String>) {
        self.documents
            .extend(ids.into_iter().map(|id| (id, Document::Cut)));
    }

    /// Follows the references from the document `page`, which must be read in `revision`.
    ///
    /// A cycle ends where it closes. What does not exist is a dependency, too: the page changes once it is created. Documents
    /// at the greatest depth are read as well, only to know whether anything lies beyond.
    pub(crate) fn follow(
        &self,
        config: &RoutesConfig,
        page: &str,
        revision: &str,
    ) -> Result<Found, RowError> {
        let mut found = Found::default();
        let mut level = match self.documents.get(page) {
            Some(Document::Read {
                revision: read,
                references,
                ..
            }) if read == revision => references,
            _ => return Err(RowError::OtherRevision),
        }
        .clone();
        let mut seen = BTreeSet::from([page.to_owned()]);
        for _ in 0..config.dependencies().depth {
            // More than that is not stored, so nothing behind it matters.
            if found.documents.len() > config.limits().maximum_dependencies {
                return Ok(found);
            }
            let mut next = BTreeSet::new();
            for id in level {
                if !seen.insert(id.clone()) {
                    continue;
                }
                match self.documents.get(&id) {
                    None => drop(found.unread.insert(id.clone())),
                    Some(Document::Unclear) => return Err(RowError::NotAnArray),
                    Some(Document::Cut) => found.beyond_width = true,
                    Some(Document::Absent) => {}
                    Some(Document::Read {
                        document_type,
                        references,
                        ..
                    }) => {
                        if config.follows(document_type) {
                            next.extend(references.iter().cloned());
                        }
                    }
                }
                found.documents.push(id);
            }
            level = next;
        }
        found.beyond_depth = level.iter().any(|id| !seen.contains(id));
        Ok(found)
    }
}
