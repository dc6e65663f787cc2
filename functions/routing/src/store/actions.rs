//! A change of a route as transactions, the same for every store.

use crate::model::{DocumentRef, Entry, RouteChange, RouteName};
use crate::store::Pointer;

/// Actions that one DynamoDB transaction may hold.
pub(crate) const TRANSACTION_SIZE: usize = 100;

/// "The page is made of this document, too."
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Edge {
    pub(crate) dependency: DocumentRef,
    pub(crate) page: RouteName,
}

/// One write or condition within a transaction. Only those on the route can fail.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Puts the entry if the version read is still there.
    PutRoute {
        entry: Entry,
        expected: Option<u64>,
    },
    /// Only checks the version.
    CheckRoute {
        name: RouteName,
        expected: Option<u64>,
    },
    PutEdge(Edge),
    DeleteEdge(Edge),
    PutPointer {
        slug: String,
        name: RouteName,
        pointer: Pointer,
    },
    DeletePointer {
        slug: String,
        name: RouteName,
    },
}

/// The transactions of one change. Each begins with its condition on the route.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Transactions {
    /// Edges too many for `main`, added while the route is still the one read.
    pub(crate) before: Vec<Vec<Action>>,
    /// The route with its pointer and its edges.
    pub(crate) main: Vec<Action>,
    /// Edges too many for `main`, removed while the route is still the one written: a newer one may have them again.
    pub(crate) after: Vec<Vec<Action>>,
}

impl Transactions {
    /// Splits `change` into transactions of at most `size` actions, at least 4.
    pub(crate) fn of(change: &RouteChange, size: usize) -> Self {
        let (entry, expected, name) = (change.entry(), change.expected_version(), change.name());
        let edge = |dependency: &String| Edge {
            dependency: DocumentRef::new(&name.document.dataset, dependency),
            page: name.clone(),
        };
        let delete_pointer = |slug: &String| Action::DeletePointer {
            slug: slug.clone(),
            name: name.clone(),
        };
        let mut main = vec![Action::PutRoute {
            entry: entry.clone(),
            expected,
        }];
        let (added, removed): (&[String], &[String]) = match change {
            RouteChange::Write(write) => {
                let route = &write.route;
                main.push(Action::PutPointer {
                    slug: route.slug.clone(),
                    name: name.clone(),
                    pointer: Pointer {
                        document_id: route.document_id.clone(),
                        route: route.route.clone(),
                        document_type: route.document_type.clone(),
                        graphql_type: route.graphql_type.clone(),
                        source_second: route.source_second,
                    },
                });
                main.extend(write.old_slug.as_ref().map(delete_pointer));
                (&write.add_edges, &write.remove_edges)
            }
            RouteChange::Delete(delete) => {
                main.push(delete_pointer(&delete.old_slug));
                (&[], &delete.remove_edges)
            }
        };
        let (now, earlier) = added.split_at(added.len().min(size - main.len()));
        main.extend(now.iter().map(|id| Action::PutEdge(edge(id))));
        let (now, later) = removed.split_at(removed.len().min(size - main.len()));
        main.extend(now.iter().map(|id| Action::DeleteEdge(edge(id))));
        let guarded = |expected, actions: Vec<Action>| -> Vec<Vec<Action>> {
            actions
                .chunks(size - 1)
                .map(|chunk| {
                    let check = Action::CheckRoute {
                        name: name.clone(),
                        expected,
                    };
                    std::iter::once(check).chain(chunk.iter().cloned()).collect()
                })
                .collect()
        };
        Self {
            before: guarded(
                expected,
                earlier.iter().map(|id| Action::PutEdge(edge(id))).collect(),
            ),
            after: guarded(
                Some(entry.version()),
                later.iter().map(|id| Action::DeleteEdge(edge(id))).collect(),
            ),
            main,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Route, RouteWrite};

    fn change(added: usize, removed: usize) -> RouteChange {
        let ids = |prefix: &str, count| (0..count).map(|n| format!("{prefix}{n}")).collect();
        RouteChange::Write(RouteWrite {
            route: Route {
                dataset: "production".into(),
                document_id: "p1".into(),
                document_type: "page".into(),
                graphql_type: "Page".into(),
                route: "default".into(),
                slug: "/new".into(),
                dependencies: ids("a", added),
                source_revision: "r2".into(),
                source_second: 2,
                item_hash: String::new(),
                version: 8,
            },
            expected_version: Some(7),
            add_edges: ids("a", added),
            remove_edges: ids("r", removed),
            old_slug: Some("/old".into()),
        })
    }

    #[test]
    fn what_fits_is_one_transaction() {
        let steps = Transactions::of(&change(50, 47), TRANSACTION_SIZE);
        assert_eq!(steps.main.len(), 100);
        assert!(steps.before.is_empty() && steps.after.is_empty());
    }

    #[test]
    fn edges_too_many_are_added_before_and_removed_after() {
        let steps = Transactions::of(&change(300, 101), TRANSACTION_SIZE);
        assert_eq!(steps.main.len(), 100);
        assert_eq!(
            steps.before.iter().map(Vec::len).collect::<Vec<_>>(),
            [100, 100, 6]
        );
        assert_eq!(steps.after.iter().map(Vec::len).collect::<Vec<_>>(), [100, 3]);
        let all = || {
            steps
                .before
                .iter()
                .flatten()
                .chain(&steps.main)
                .chain(steps.after.iter().flatten())
        };
        assert_eq!(
            all()
                .filter(|action| matches!(action, Action::PutEdge(_)))
                .count(),
            300
        );
        assert_eq!(
            all()
                .filter(|action| matches!(action, Action::DeleteEdge(_)))
                .count(),
            101
        );
        for (steps, version) in [(&steps.before, 7), (&steps.after, 8)] {
            for step in steps {
                assert!(
                    matches!(step[0], Action::CheckRoute { expected: Some(expected), .. } if expected == version),
                    "{:?}",
                    step[0]
                );
            }
        }
    }
}
