//! Whether the source shows what the frontier announced (law 7).
//!
//! The webhook can precede Sanity's query index, so the consumer waits for the revision, not for seconds.

use std::{collections::BTreeSet, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    head::Head,
    item::{Class, OutboxItem, Seen},
};

/// How sure a passed fence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passed {
    /// The source shows the frontier, or what came after it.
    Sure,
    /// A tied second, or an absence that another state could explain: looked at again later.
    Tied,
    /// The read was begun so long after acceptance that whatever it shows is believed.
    Trusted,
}

/// The times of law 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FenceTimes {
    /// After this age a tied second passes with any revision of the frontier. Default 10 s.
    pub tie: Duration,
    /// After this age a read is trusted whatever it shows. Default 5 minutes.
    pub trust: Duration,
}

impl Default for FenceTimes {
    fn default() -> Self {
        Self {
            tie: Duration::from_secs(10),
            trust: Duration::from_secs(300),
        }
    }
}

/// Judges one read of the source. `frontier` is one second's open events, or one unordered event; `shown` is what the
/// source showed (none: no such document); `begun_at` is when the read began, epoch milliseconds.
/// Returns none while the fence stays shut, which includes an empty frontier.
pub fn passes(
    frontier: &[OutboxItem],
    shown: Option<&Seen>,
    begun_at: i64,
    head: &Head,
    times: &FenceTimes,
) -> Option<Passed> {
    let newest = frontier.iter().map(|item| item.accepted_at).max()?;
    let first = frontier.first()?;
    let age = Duration::from_millis(u64::try_from(begun_at - newest).unwrap_or(0));
    let ordered_second = (!first.unordered).then_some(first.second);

    if let (Some(shown), Some(second)) = (shown, ordered_second)
        && shown.second > second
        && !frontier.iter().any(|item| is_made_on(item, shown))
    {
        return Some(Passed::Sure);
    }
    let revisions = |class| -> BTreeSet<&str> {
        frontier
            .iter()
            .filter(|item| item.class == class)
            .map(OutboxItem::revision_or_event)
            .collect()
    };
    let deletes = revisions(Class::Delete);
    let mut alive: BTreeSet<&str> = &revisions(Class::Write) - &deletes;
    // Absence proves a delete only of what was seen present.
    let gone = match &head.seen {
        Some(seen) if deletes.contains(seen.revision.as_str()) => Passed::Sure,
        _ => Passed::Tied,
    };
    if let [only] = frontier {
        match (only.class, shown) {
            (Class::Write, Some(shown)) if shown.revision == only.revision_or_event() => {
                return Some(Passed::Sure);
            }
            (Class::Delete, None) => return Some(gone),
            _ => {}
        }
    }
    if alive.is_empty() && !deletes.is_empty() && shown.is_none() {
        return Some(gone);
    }
    let mut tied = frontier.len() > 1;
    let mut gone_counts = !deletes.is_empty();
    if ordered_second.is_some() && head.second == ordered_second {
        tied = true;
        let handled = |class| -> BTreeSet<&str> {
            head.handled
                .iter()
                .filter(|it| it.class == class)
                .map(|it| it.revision.as_str())
                .collect()
        };
        let dead = handled(Class::Delete);
        alive.extend(&(&handled(Class::Write) - &dead) - &deletes);
        gone_counts |= !dead.is_empty();
    }
    let of_this_second = match shown {
        Some(shown) => Some(shown.second) == ordered_second && alive.contains(shown.revision.as_str()),
        None => gone_counts,
    };
    if tied && age >= times.tie && of_this_second {
        return Some(Passed::Tied);
    }
    (age >= times.trust).then_some(Passed::Trusted)
}

/// Whether a write was made on top of the very revision shown: a document restored with an older time, which the index does not
/// show yet. A later time proves nothing then.
fn is_made_on(item: &OutboxItem, shown: &Seen) -> bool {
    item.class == Class::Write && item.previous_revision.as_deref() == Some(shown.revision.as_str())
}

#[cfg(test)]
#[path = "fence_tests.rs"]
mod tests;
