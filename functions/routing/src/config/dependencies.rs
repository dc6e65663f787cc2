//! The table `[dependencies]`: how it is found out what a page is made of.

use std::collections::BTreeSet;

use super::read::{Problems, Table};

/// Hops that are followed where the file does not say.
const DEPTH: usize = 4;
/// Documents followed a hop where the file does not say.
const WIDTH: usize = 1000;

/// How it is found out what a page is made of, and whose pages are refreshed with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependencies {
    /// Whether the documents are read and their references followed, besides what the routing query returns.
    pub by_references: bool,
    /// Whether the pages among a changed page's dependencies are refreshed with it.
    pub refresh_pages: bool,
    /// The types whose references are followed; `None` is every component.
    pub follow: Option<BTreeSet<String>>,
    /// References from a page to the furthest document that it depends on.
    pub depth: usize,
    /// Documents whose references are followed at one distance, for all pages of a cascade together.
    pub width: usize,
}

impl Default for Dependencies {
    fn default() -> Self {
        Self {
            by_references: false,
            refresh_pages: true,
            follow: None,
            depth: DEPTH,
            width: WIDTH,
        }
    }
}

pub(super) fn read(table: Option<Table<'_, '_>>, problems: &mut Problems<'_>) -> Dependencies {
    let mut read = Dependencies::default();
    let Some(mut table) = table else {
        return read;
    };
    match table.optional_text("discover", problems).as_deref() {
        None | Some("query") => {}
        Some("references") => read.by_references = true,
        Some(_) => {
            let at = table.position("discover");
            problems.add(
                at,
                &table.path_of("discover"),
                "must be \"query\" or \"references\"",
            );
        }
    }
    if let Some(refresh) = table.optional_flag("refresh_pages", problems) {
        read.refresh_pages = refresh;
    }
    if let Some(types) = table.texts("follow", problems) {
        read.follow = Some(types.into_iter().map(|(name, _)| name).collect());
    }
    for (key, range, value) in [
        ("depth", 1..=20, &mut read.depth),
        ("width", 1..=100_000, &mut read.width),
    ] {
        if table.has(key) {
            *value = table.number(key, range, problems);
        }
    }
    table.finish(problems);
    read
}
