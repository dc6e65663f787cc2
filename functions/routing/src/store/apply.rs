//! Making a change, transaction by transaction, in any store that has transactions.

use std::future::Future;

use platform::{Deadline, fault_point};

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
            if !is_made(&steps.entry, found.as_deref()) {
                return Ok(Outcome::Conflict);
            }
            outcome = Outcome::Unchanged;
            break;
        }
        fault_point!("routing.step-made");
    }
    for step in &steps.after {
        if store.transact(step, deadline).await? != Verdict::Done {
            // A newer writer has the route; what it does not want, it cannot know of. `affected` passes such edges by.
            break;
        }
        fault_point!("routing.step-cleared");
    }
    Ok(outcome)
}

/// Whether `found` is what the change leaves.
fn is_made(left: &Entry, found: Option<&Entry>) -> bool {
    match (left, found) {
        (Entry::Live(left), Some(Entry::Live(route))) => {
            route.version == left.version && route.item_hash == left.item_hash
        }
        (Entry::Gone(left), Some(Entry::Gone(gone))) => gone == left,
        _ => false,
    }
}
