//! Asking the source what a cascade needs to know: rows, and, where references are followed, the documents themselves.
//!
//! No I/O: it says what to ask next and is told the answer, so that whoever reads the source reads the same.

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;

use crate::affected::Affected;
use crate::config::{Asks, RoutesConfig, RoutingQuery};
use crate::discovery::Discovery;
use crate::row::Rows;

/// One reading of the source. Ask [`Reading::next`] until it has no more questions, and answer each.
#[derive(Debug)]
pub struct Reading<'c> {
    config: &'c RoutesConfig,
    rows: Rows,
    discovery: Discovery,
    open: VecDeque<RoutingQuery>,
    /// Documents whose row was asked for.
    asked: BTreeSet<String>,
    /// Pages whose references were followed to the end.
    followed: BTreeSet<String>,
    /// Changed pages whose dependencies' rows are wanted as well.
    joining: BTreeSet<String>,
}

impl<'c> Reading<'c> {
    /// A reading for a cascade over what is `held` in `dataset`: the changed documents, the pages that depend on them, and,
    /// unless the configuration says otherwise, what the changed pages depend on.
    pub fn new(config: &'c RoutesConfig, held: &Affected, dataset: &str) -> Self {
        let mut ids = held.documents(dataset);
        let mut joining = BTreeSet::new();
        if config.dependencies().refresh_pages {
            for changed in held.joining(dataset) {
                ids.extend(held.own_dependencies(changed).cloned());
                joining.insert(changed.document_id.clone());
            }
        }
        let mut reading = Self::of(config, ids);
        reading.joining = joining;
        reading
    }

    /// A reading of some documents' rows.
    pub fn of(config: &'c RoutesConfig, ids: BTreeSet<String>) -> Self {
        Self {
            config,
            rows: Rows::default(),
            discovery: Discovery::default(),
            open: config.queries(&ids).into(),
            asked: ids,
            followed: BTreeSet::new(),
            joining: BTreeSet::new(),
        }
    }

    /// What to ask now; `None` when everything is known. The answer belongs to [`Reading::answer`] before the next question.
    pub fn next_query(&mut self) -> Option<RoutingQuery> {
        loop {
            if let Some(query) = self.open.pop_front() {
                return Some(query);
            }
            if self.config.dependencies().by_references {
                self.follow();
                if !self.open.is_empty() {
                    continue;
                }
            }
            let more = self.joined();
            if more.is_empty() {
                return None;
            }
            self.open = self.config.queries(&more).into();
            self.asked.extend(more);
        }
    }

    /// Takes the `answer` (the `result` of the query API) to `query`.
    pub fn answer(&mut self, query: &RoutingQuery, answer: &Value) {
        let maximum = self.config.limits().maximum_dependencies;
        match query.asks {
            Asks::Rows => self.rows.read(&query.ids, answer, maximum),
            Asks::RowsAndDocuments => {
                self.rows.read(&query.ids, &answer["rows"], maximum);
                self.discovery.read(&query.ids, &answer["documents"]);
            }
            Asks::Documents => self.discovery.read(&query.ids, answer),
        }
    }

    /// All rows. Where references are followed, their dependencies are what was found.
    pub fn into_rows(self) -> Rows {
        self.rows
    }

    /// Follows the references of pages as far as they are known, and opens the queries for the documents that are not.
    fn follow(&mut self) {
        let maximum = self.config.limits().maximum_dependencies;
        let mut unread = BTreeSet::new();
        for (id, row) in self.rows.pages_mut() {
            let Ok(Some(page)) = row else { continue };
            if self.followed.contains(id) {
                continue;
            }
            match self.discovery.follow(self.config, id, &page.revision) {
                Ok(found) if found.unread.is_empty() => {
                    page.depend_on(&found.documents, maximum);
                    page.beyond_depth = found.beyond_depth;
                    page.beyond_width = found.beyond_width;
                    self.followed.insert(id.clone());
                }
                Ok(found) => unread.extend(found.unread),
                Err(error) => {
                    *row = Err(error);
                    self.followed.insert(id.clone());
                }
            }
        }
        if unread.is_empty() {
            return;
        }
        let beyond: Vec<String> = unread
            .iter()
            .skip(self.config.dependencies().width)
            .cloned()
            .collect();
        unread.retain(|id| beyond.binary_search(id).is_err());
        self.discovery.cut(beyond);
        self.open = self.config.document_queries(&unread).into();
    }

    /// What the changed pages depend on and nobody asked for yet.
    fn joined(&mut self) -> BTreeSet<String> {
        let joining = std::mem::take(&mut self.joining);
        let pages = joining.iter().filter_map(|id| self.rows.get(id).ok().flatten());
        let dependencies = pages.filter(|row| !row.routes.is_empty());
        let dependencies = dependencies.flat_map(|row| row.dependencies.iter());
        dependencies
            .filter(|id| !self.asked.contains(*id))
            .cloned()
            .collect()
    }
}
