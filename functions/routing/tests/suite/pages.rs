//! Pages and the changes that lead to them.

use std::collections::BTreeSet;

use routing::model::{DocumentRef, Entry, GoneRoute, Route, RouteChange, RouteDelete, RouteName, RouteWrite};

pub fn document(id: &str) -> DocumentRef {
    DocumentRef::new("production", id)
}

pub fn name(id: &str, route: &str) -> RouteName {
    RouteName {
        document: document(id),
        route: route.into(),
    }
}

pub fn page(id: &str, route: &str, slug: &str, dependencies: &[&str], version: u64) -> Route {
    let mut page = Route {
        dataset: "production".into(),
        document_id: id.into(),
        document_type: "page".into(),
        graphql_type: "Page".into(),
        route: route.into(),
        slug: slug.into(),
        dependencies: dependencies.iter().map(ToString::to_string).collect(),
        source_revision: format!("r{version}"),
        source_second: 1_900_000_000 + i64::try_from(version).unwrap(),
        item_hash: String::new(),
        version,
    };
    page.item_hash = page.content_hash();
    page
}

/// The change that leaves `after` where `before` is.
pub fn write(before: Option<&Route>, after: &Route) -> RouteChange {
    let had: BTreeSet<&String> = before.into_iter().flat_map(|route| &route.dependencies).collect();
    let has: BTreeSet<&String> = after.dependencies.iter().collect();
    RouteChange::Write(Box::new(RouteWrite {
        route: after.clone(),
        replaces: before.cloned().map(Entry::Live),
        add_edges: has.difference(&had).map(ToString::to_string).collect(),
        remove_edges: had.difference(&has).map(ToString::to_string).collect(),
        old_slug: before
            .map(|route| route.slug.clone())
            .filter(|slug| *slug != after.slug),
    }))
}

pub fn gone(before: &Route) -> GoneRoute {
    GoneRoute {
        dataset: before.dataset.clone(),
        document_id: before.document_id.clone(),
        route: before.route.clone(),
        source_revision: None,
        source_second: before.source_second,
        version: before.version + 1,
    }
}

pub fn delete(before: &Route) -> RouteChange {
    RouteChange::Delete(RouteDelete {
        gone: gone(before),
        expected_version: before.version,
        remove_edges: before.dependencies.clone(),
        old_slug: before.slug.clone(),
    })
}
