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
    /// Edges too many for `main`, added while nobody else has the route.
    pub(crate) before: Vec<Vec<Action>>,
    /// The route with its pointer and its edges.
    pub(crate) main: Vec<Action>,
    /// Edges too many for `main`, removed while the route is still the one written: a newer one may have them again.
    pub(crate) after: Vec<Vec<Action>>,
    /// What `main` leaves.
    pub(crate) entry: Entry,
}

impl Transactions {
    /// Splits `change` into transactions of at most `size` actions, at least 4.
    ///
    /// Where edges must be added before the route names them, the first transaction claims the route: it puts what is there
    /// once more under the next version. Otherwise the last removals of the change before this one, which hold while the route
    /// is at the version that *it* wrote, could take away what this one has just added.
    pub(crate) fn of(change: &RouteChange, size: usize) -> Self {
        let (name, dataset) = (change.name(), change.name().document.dataset);
        let (pointers, added, removed) = parts(change, &name);
        let edges = |ids: &[String], action: fn(Edge) -> Action| -> Vec<Action> {
            let edge = |id: &String| Edge {
                dependency: DocumentRef::new(&dataset, id),
                page: name.clone(),
            };
            ids.iter().map(|id| action(edge(id))).collect()
        };
        let room = size - 1 - pointers.len();
        let (now, earlier) = added.split_at(added.len().min(room));
        let (now_removed, later) = removed.split_at(removed.len().min(room - now.len()));

        let mut before = vec![];
        let mut expected = change.expected_version();
        let mut entry = change.entry();
        if let RouteChange::Write(write) = change
            && let Some(held) = write.replaces.as_ref().filter(|_| !earlier.is_empty())
        {
            let claimed = held.version() + 1;
            before.push(vec![Action::PutRoute {
                entry: held.clone().with_version(claimed),
                expected,
            }]);
            expected = Some(claimed);
            entry = entry.with_version(claimed + 1);
        }
        before.extend(guarded(&name, expected, edges(earlier, Action::PutEdge), size));
        let put = Action::PutRoute {
            entry: entry.clone(),
            expected,
        };
        let mut main = vec![put];
        main.extend(pointers);
        main.extend(edges(now, Action::PutEdge));
        main.extend(edges(now_removed, Action::DeleteEdge));
        let after = guarded(
            &name,
            Some(entry.version()),
            edges(later, Action::DeleteEdge),
            size,
        );
        Self {
            before,
            main,
            after,
            entry,
        }
    }
}

/// What changes besides the route: its pointers, and the ids of the edges to add and to remove.
fn parts<'a>(change: &'a RouteChange, name: &RouteName) -> (Vec<Action>, &'a [String], &'a [String]) {
    let delete_pointer = |slug: &String| Action::DeletePointer {
        slug: slug.clone(),
        name: name.clone(),
    };
    match change {
        RouteChange::Write(write) => {
            let route = &write.route;
            let mut pointers = vec![Action::PutPointer {
                slug: route.slug.clone(),
                name: name.clone(),
                pointer: Pointer {
                    document_id: route.document_id.clone(),
                    route: route.route.clone(),
                    document_type: route.document_type.clone(),
                    graphql_type: route.graphql_type.clone(),
                    source_second: route.source_second,
                },
            }];
            pointers.extend(write.old_slug.as_ref().map(delete_pointer));
            (pointers, &write.add_edges, &write.remove_edges)
        }
        RouteChange::Delete(delete) => (vec![delete_pointer(&delete.old_slug)], &[], &delete.remove_edges),
    }
}

/// `actions` in transactions of at most `size`, each on the condition that the route is at version `expected`.
fn guarded(name: &RouteName, expected: Option<u64>, actions: Vec<Action>, size: usize) -> Vec<Vec<Action>> {
    let chunks = actions.chunks(size - 1);
    chunks
        .map(|chunk| {
            let check = Action::CheckRoute {
                name: name.clone(),
                expected,
            };
            std::iter::once(check).chain(chunk.iter().cloned()).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Route, RouteWrite};

    fn page(version: u64) -> Route {
        Route {
            dataset: "production".into(),
            document_id: "p1".into(),
            document_type: "page".into(),
            graphql_type: "Page".into(),
            route: "default".into(),
            slug: "/new".into(),
            dependencies: vec![],
            source_revision: "r2".into(),
            source_second: 2,
            item_hash: String::new(),
            version,
        }
    }

    fn change(added: usize, removed: usize) -> RouteChange {
        let ids = |prefix: &str, count| (0..count).map(|n| format!("{prefix}{n}")).collect();
        RouteChange::Write(Box::new(RouteWrite {
            route: page(8),
            replaces: Some(Entry::Live(page(7))),
            add_edges: ids("a", added),
            remove_edges: ids("r", removed),
            old_slug: Some("/old".into()),
        }))
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
            [1, 100, 100, 6]
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
        let versions = steps
            .before
            .iter()
            .chain([&steps.main])
            .chain(&steps.after)
            .map(|step| match &step[0] {
                Action::PutRoute { entry, expected } => (*expected, Some(entry.version())),
                Action::CheckRoute { expected, .. } => (*expected, None),
                other => panic!("no condition first: {other:?}"),
            });
        let (claim, write) = ((Some(7), Some(8)), (Some(8), Some(9)));
        let (claimed, written) = ((Some(8), None), (Some(9), None));
        assert_eq!(
            versions.collect::<Vec<_>>(),
            [claim, claimed, claimed, claimed, write, written, written]
        );
    }

    #[test]
    fn what_was_not_there_needs_no_claim() {
        let RouteChange::Write(mut write) = change(300, 0) else {
            panic!("a write")
        };
        write.replaces = None;
        let steps = Transactions::of(&RouteChange::Write(write), TRANSACTION_SIZE);
        assert_eq!(
            steps.before.iter().map(Vec::len).collect::<Vec<_>>(),
            [100, 100, 6]
        );
        assert_eq!(steps.entry.version(), 8);
    }
}
