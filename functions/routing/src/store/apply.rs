//! Making a change, transaction by transaction, in any store that has transactions.

use std::future::Future;

use platform::Deadline;

use super::actions::{Action, Transactions};
use super::{Outcome, StoreError};
use crate::model::{Entry, RouteChange};

/// How a transaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done,
    /// The condition on the route failed; this is there, as far as the store says.
    Found(Option<Box<Entry>>),
}

/// A store's one way to write.
pub(crate) trait Transact: Sync {
    /// Makes all of `actions` or none.
    fn transact(
        &self,
        actions: &[Action],
        deadline: &Deadline,
    ) -> impl Future<Output = Result<Verdict, StoreError>> + Send;
}

/// Makes `change` in transactions of at most `size` actions.
pub(crate) async fn apply(
    store: &impl Transact,
    change: &RouteChange,
    size: usize,
    deadline: &Deadline,
) -> Result<Outcome, StoreError> {
    let steps = Transactions::of(change, size);
    let mut outcome = Outcome::Applied;
    for step in steps.before.iter().chain([&steps.main]) {
        if let Verdict::Found(found) = store.transact(step, deadline).await? {
            if !is_made(change, found.as_deref()) {
                return Ok(Outcome::Conflict);
            }
            outcome = Outcome::Unchanged;
            break;
        }
    }
    for step in &steps.after {
        if store.transact(step, deadline).await? != Verdict::Done {
            // A newer writer has the route; what it does not want, it cannot know of. `affected` passes such edges by.
            break;
        }
    }
    Ok(outcome)
}

/// Whether `found` is what `change` would have left.
fn is_made(change: &RouteChange, found: Option<&Entry>) -> bool {
    match (change, found) {
        (RouteChange::Write(write), Some(Entry::Live(route))) => {
            route.version == write.route.version && route.item_hash == write.route.item_hash
        }
        (RouteChange::Delete(delete), Some(Entry::Gone(gone))) => *gone == delete.gone,
        _ => false,
    }
}
