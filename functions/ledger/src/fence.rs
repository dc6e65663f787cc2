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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{head::Handled, testing::item};

    const ACCEPTED: i64 = 1_000_000;

    fn seen(revision: &str, second: i64) -> Seen {
        Seen {
            revision: revision.to_owned(),
            second,
        }
    }

    fn event(second: i64, revision: &str, class: Class) -> OutboxItem {
        OutboxItem {
            accepted_at: ACCEPTED,
            ..item(second, revision, class)
        }
    }

    /// name, frontier, shown, age in seconds, head's seen, expected
    type Case<'a> = (
        &'a str,
        Vec<OutboxItem>,
        Option<Seen>,
        i64,
        Option<Seen>,
        Option<Passed>,
    );

    #[test]
    fn law_7_table() {
        use Class::{Delete, Write};
        use Passed::{Sure, Tied, Trusted};
        let one = || vec![event(100, "r1", Write)];
        let gone = || vec![event(100, "r1", Delete)];
        let two = || vec![event(100, "r1", Write), event(100, "r2", Write)];
        let cases: Vec<Case<'_>> = vec![
            (
                "the revision itself",
                one(),
                Some(seen("r1", 100)),
                0,
                None,
                Some(Sure),
            ),
            (
                "a later document",
                one(),
                Some(seen("r9", 101)),
                0,
                None,
                Some(Sure),
            ),
            (
                "the index lags: older document",
                one(),
                Some(seen("r0", 99)),
                0,
                None,
                None,
            ),
            ("the index lags: nothing yet", one(), None, 20, None, None),
            (
                "same second, other revision, early",
                one(),
                Some(seen("r0", 100)),
                60,
                None,
                None,
            ),
            (
                "trusted after five minutes",
                one(),
                Some(seen("r0", 99)),
                300,
                None,
                Some(Trusted),
            ),
            (
                "a delete of what was seen",
                gone(),
                None,
                0,
                Some(seen("r1", 100)),
                Some(Sure),
            ),
            (
                "a delete of what was never seen",
                gone(),
                None,
                0,
                None,
                Some(Tied),
            ),
            (
                "a delete, the document still shown",
                gone(),
                Some(seen("r1", 100)),
                60,
                None,
                None,
            ),
            (
                "a delete, recreated since",
                gone(),
                Some(seen("r2", 101)),
                0,
                None,
                Some(Sure),
            ),
            ("tied, too early", two(), Some(seen("r2", 100)), 9, None, None),
            (
                "tied, after ten seconds",
                two(),
                Some(seen("r1", 100)),
                10,
                None,
                Some(Tied),
            ),
            (
                "tied, a stranger shown",
                two(),
                Some(seen("r7", 100)),
                10,
                None,
                None,
            ),
            (
                "write and delete of one revision, gone",
                vec![event(100, "r1", Write), event(100, "r1", Delete)],
                None,
                0,
                Some(seen("r1", 100)),
                Some(Sure),
            ),
            (
                "write and delete of one revision, index still shows the write",
                vec![event(100, "r1", Write), event(100, "r1", Delete)],
                Some(seen("r1", 100)),
                60,
                None,
                None,
            ),
            (
                "delete r1 and recreate r2 in one second, gone",
                vec![event(100, "r1", Delete), event(100, "r2", Write)],
                None,
                10,
                Some(seen("r1", 100)),
                Some(Tied),
            ),
        ];
        for (name, frontier, shown, age, head_seen, expected) in cases {
            let head = Head {
                seen: head_seen,
                ..Head::default()
            };
            let found = passes(
                &frontier,
                shown.as_ref(),
                ACCEPTED + age * 1000,
                &head,
                &FenceTimes::default(),
            );
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn law_7_a_second_already_applied_in_part_is_tied() {
        let head = Head {
            second: Some(100),
            handled: [Handled {
                revision: "r1".to_owned(),
                class: Class::Write,
            }]
            .into(),
            ..Head::default()
        };
        let frontier = [event(100, "r2", Class::Write)];
        let shown = seen("r1", 100);
        let at = |age: i64| {
            passes(
                &frontier,
                Some(&shown),
                ACCEPTED + age * 1000,
                &head,
                &FenceTimes::default(),
            )
        };
        assert_eq!(at(9), None);
        assert_eq!(at(10), Some(Passed::Tied));
    }

    #[test]
    fn law_7_an_unordered_event_waits_for_its_revision_or_for_trust() {
        let unordered = |revision: Option<&str>| OutboxItem {
            unordered: true,
            revision: revision.map(str::to_owned),
            ..event(100, "r1", Class::Write)
        };
        let judge = |item: OutboxItem, shown: Seen, age: i64| {
            passes(
                &[item],
                Some(&shown),
                ACCEPTED + age * 1000,
                &Head::default(),
                &FenceTimes::default(),
            )
        };
        assert_eq!(
            judge(unordered(Some("r1")), seen("r1", 50), 0),
            Some(Passed::Sure)
        );
        assert_eq!(judge(unordered(Some("r1")), seen("r2", 500), 299), None);
        assert_eq!(
            judge(unordered(None), seen("r2", 500), 300),
            Some(Passed::Trusted)
        );
    }
}
