//! What one changed document makes of its own pages, of those that depend on it, and of those that it depends on.
//!
//! No I/O: routes held and rows read go in, writes and purge keys come out, always in the same order.

mod purge;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use self::purge::Purge;
pub use self::purge::PurgeEntry;
use crate::affected::Affected;
use crate::config::{RoutesConfig, TypePolicy};
use crate::model::{DocumentRef, Entry, GoneRoute, Route, RouteChange, RouteDelete, RouteName, RouteWrite};
use crate::row::{Row, RowError, Rows};

/// A document whose change was fenced: the rows show it as its frontier left it, or later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The document.
    pub document: DocumentRef,
    /// Its `_type` as the events have it; after a delete nothing else may know it.
    pub document_type: Option<String>,
    /// Slugs that events named, old and new, as they had them; see [`RoutesConfig::event_paths`].
    pub slugs: Vec<String>,
}

/// What to do for one changed document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cascade {
    /// The writes, each for its own transaction.
    pub changes: Vec<RouteChange>,
    /// The keys to purge, sorted, each once. To be stored before the first write.
    pub purge: Vec<PurgeEntry>,
    /// The pages concerned: the document's own, the dependants' and those it depends on, also those that vanish. Sorted.
    pub routes: Vec<RouteName>,
    /// Documents whose row cannot be used. Their held slugs are purged, their routes left alone.
    pub problems: Vec<Problem>,
    /// Bounds that were hit.
    pub bounds: Vec<BoundHit>,
    /// Routes of other documents that came from a newer revision than the row shows, and were therefore left alone.
    pub kept: usize,
}

/// A row that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whose row it is.
    pub document: DocumentRef,
    /// Whether it is the changed document's own.
    pub own: bool,
    /// What is wrong with it.
    pub error: RowError,
}

/// A bound of `routes.toml` that was hit: what lies beyond it was not refreshed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundHit {
    /// The changed document concerns more pages than `maximum_width`.
    Width {
        /// The changed document.
        document: DocumentRef,
        /// The bound.
        maximum: usize,
    },
    /// A page is made of more documents than `maximum_dependencies`.
    Dependencies {
        /// The page's document.
        document: DocumentRef,
        /// The bound.
        maximum: usize,
        /// How many documents are beyond it.
        beyond: usize,
    },
    /// A page references documents that lie deeper than `dependencies.depth`.
    Depth {
        /// The page's document.
        document: DocumentRef,
        /// The bound.
        maximum: usize,
    },
    /// More documents were to be followed at one distance than `dependencies.width`, and some of them are this page's.
    Followed {
        /// The page's document.
        document: DocumentRef,
        /// The bound.
        maximum: usize,
    },
}

impl fmt::Display for BoundHit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width { document, maximum } => {
                write!(out, "{} concerns more than {maximum} pages", document.document_id)
            }
            Self::Dependencies {
                document,
                maximum,
                beyond,
            } => {
                let id = &document.document_id;
                write!(
                    out,
                    "{id} depends on {beyond} documents more than the {maximum} kept"
                )
            }
            Self::Depth { document, maximum } => {
                let id = &document.document_id;
                write!(
                    out,
                    "{id} references documents more than {maximum} references away"
                )
            }
            Self::Followed { document, maximum } => {
                let id = &document.document_id;
                write!(
                    out,
                    "{id} references some of more than {maximum} documents to follow"
                )
            }
        }
    }
}

/// Compares what is `held` with what `rows` show, for `changed`, for the pages that depend on it, and for those joined: that it
/// depends on, as a product on the category that lists it. It ends there: what those depend on is not looked at.
///
/// A route is written only if its hash changed. Another document's route is never written from an older revision than it came
/// from, nor removed because its document does not show: a query index may lag for it, since only the changed document was
/// waited for. Its own event settles it.
pub fn cascade(config: &RoutesConfig, changed: &Changed, held: &Affected, rows: &Rows) -> Cascade {
    let mut cascade = Cascade::default();
    let mut purge = Purge::new(config, changed);
    let document = &changed.document;
    if held.is_cut(document) {
        cascade.bounds.push(BoundHit::Width {
            document: document.clone(),
            maximum: config.limits().maximum_width,
        });
    }
    let others = held.dependants_of(document).chain(held.joined_with(document));
    for page in std::iter::once(document).chain(others) {
        let entries: BTreeMap<&String, &Entry> = held.entries_of(page).collect();
        let row = usable_row(config, rows, &page.document_id);
        let shown = row.as_ref().ok().copied().flatten();
        purge.page(page, &entries, shown);
        cascade.note_routes(page, &entries, shown);
        match row {
            Ok(row) => cascade.compare(config, page, &entries, row, page == document),
            Err(error) => cascade.problems.push(Problem {
                document: page.clone(),
                own: page == document,
                error,
            }),
        }
    }
    cascade.routes.sort();
    cascade.purge = purge.into_entries();
    cascade
}

/// The document's row, if it fits `routes.toml`.
fn usable_row<'r>(
    config: &RoutesConfig,
    rows: &'r Rows,
    document_id: &str,
) -> Result<Option<&'r Row>, RowError> {
    let row = rows.get(document_id)?;
    if let Some(row) = row
        && !row.routes.is_empty()
        && config.type_policy(&row.document_type) != TypePolicy::Routed
    {
        return Err(RowError::NotRouted(row.document_type.clone()));
    }
    Ok(row)
}

impl Cascade {
    fn note_routes(&mut self, page: &DocumentRef, entries: &BTreeMap<&String, &Entry>, row: Option<&Row>) {
        let held = entries.iter().filter(|(_, entry)| entry.live().is_some());
        let mut names: BTreeSet<&String> = held.map(|(route, _)| *route).collect();
        names.extend(row.into_iter().flat_map(|row| row.routes.keys()));
        self.routes.extend(names.into_iter().map(|route| RouteName {
            document: page.clone(),
            route: route.clone(),
        }));
    }

    /// The changes from `entries` to what `row` shows.
    fn compare(
        &mut self,
        config: &RoutesConfig,
        page: &DocumentRef,
        entries: &BTreeMap<&String, &Entry>,
        row: Option<&Row>,
        own: bool,
    ) {
        self.bounds
            .extend(row.into_iter().flat_map(|row| bounds_hit(config, page, row)));
        let fresh = row.map(|row| fresh_routes(config, page, row)).unwrap_or_default();
        for (route, entry) in entries {
            let Some(live) = entry.live().filter(|_| !fresh.contains_key(*route)) else {
                continue;
            };
            if own || row.is_some_and(|row| is_from(row, entry)) {
                self.changes.push(removal(live, row));
            } else {
                self.kept += 1;
            }
        }
        for (name, route) in fresh {
            let before = entries.get(&name).copied();
            if before
                .and_then(Entry::live)
                .is_some_and(|live| live.item_hash == route.item_hash)
            {
                continue;
            }
            if own || before.is_none_or(|entry| row.is_some_and(|row| is_from(row, entry))) {
                self.changes.push(write(route, before));
            } else {
                self.kept += 1;
            }
        }
    }
}

/// The bounds that were hit when `row` was read.
fn bounds_hit(config: &RoutesConfig, page: &DocumentRef, row: &Row) -> Vec<BoundHit> {
    let document = || page.clone();
    let dependencies = (row.dependencies_beyond_bound > 0).then(|| BoundHit::Dependencies {
        document: document(),
        maximum: config.limits().maximum_dependencies,
        beyond: row.dependencies_beyond_bound,
    });
    let depth = row.beyond_depth.then(|| BoundHit::Depth {
        document: document(),
        maximum: config.dependencies().depth,
    });
    let followed = row.beyond_width.then(|| BoundHit::Followed {
        document: document(),
        maximum: config.dependencies().width,
    });
    [dependencies, depth, followed].into_iter().flatten().collect()
}

/// Whether `row` shows the revision that `entry` came from, or one of a later second. Two revisions of one second are in no
/// order.
fn is_from(row: &Row, entry: &Entry) -> bool {
    let (second, revision) = entry.source();
    row.second() > second || (row.second() == second && revision == Some(row.revision.as_str()))
}

/// The routes that `row` shows, not yet with a version.
fn fresh_routes(config: &RoutesConfig, page: &DocumentRef, row: &Row) -> BTreeMap<String, Route> {
    let graphql_type = config.graphql_type(&row.document_type).unwrap_or_default();
    let routes = row.routes.iter().map(|(name, slug)| {
        let mut route = Route {
            dataset: page.dataset.clone(),
            document_id: page.document_id.clone(),
            document_type: row.document_type.clone(),
            graphql_type: graphql_type.to_owned(),
            route: name.clone(),
            slug: slug.clone(),
            dependencies: row.dependencies.clone(),
            source_revision: row.revision.clone(),
            source_second: row.second(),
            item_hash: String::new(),
            version: 0,
        };
        route.item_hash = route.content_hash();
        (name.clone(), route)
    });
    routes.collect()
}

fn write(mut route: Route, before: Option<&Entry>) -> RouteChange {
    route.version = before.map_or(0, Entry::version) + 1;
    let live = before.and_then(Entry::live);
    let had: BTreeSet<&String> = live.into_iter().flat_map(|live| &live.dependencies).collect();
    let has: BTreeSet<&String> = route.dependencies.iter().collect();
    let add_edges = has.difference(&had).map(ToString::to_string).collect();
    let remove_edges = had.difference(&has).map(ToString::to_string).collect();
    let old_slug = live
        .map(|live| live.slug.clone())
        .filter(|slug| *slug != route.slug);
    RouteChange::Write(Box::new(RouteWrite {
        route,
        replaces: before.cloned(),
        add_edges,
        remove_edges,
        old_slug,
    }))
}

fn removal(live: &Route, row: Option<&Row>) -> RouteChange {
    RouteChange::Delete(RouteDelete {
        gone: GoneRoute {
            dataset: live.dataset.clone(),
            document_id: live.document_id.clone(),
            route: live.route.clone(),
            source_revision: row.map(|row| row.revision.clone()),
            source_second: row.map_or(live.source_second, Row::second),
            version: live.version + 1,
        },
        expected_version: live.version,
        remove_edges: live.dependencies.clone(),
        old_slug: live.slug.clone(),
    })
}
