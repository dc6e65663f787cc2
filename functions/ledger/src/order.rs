//! What a wake has to do (laws 5 and 12), decided from one consistent read of the document's partition.
//!
//! Only the signed `_updatedAt` orders, to the second. All open events of the newest second are one *frontier*: they are
//! handled and marked together, because one-second times and unordered revisions are no order.

use crate::{
    head::{Handled, Head},
    item::{Class, Kind, OutboxItem},
};

/// Where an open event stands against the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// Not applied yet.
    Newer,
    /// Applied already; at most its mark is missing.
    Repeat,
    /// Late: of an older second, or another telling of what was applied. Its slugs still join the plan.
    Late,
}

/// Ranks an open event against the head.
pub fn rank(item: &OutboxItem, head: &Head) -> Rank {
    if head.owes_mark(&item.sk) {
        return Rank::Repeat;
    }
    if item.unordered {
        return Rank::Newer;
    }
    match head.second {
        None => Rank::Newer,
        Some(second) if item.second > second => Rank::Newer,
        Some(second) if item.second < second => Rank::Late,
        Some(_) => {
            let told = head.handled.contains(&Handled::of(item));
            let gone = item.class == Class::Write
                && head.handled.contains(&Handled {
                    revision: item.revision_or_event().to_owned(),
                    class: Class::Delete,
                });
            match (told, gone) {
                (true, _) if item.slugs.is_empty() => Rank::Repeat,
                (true, _) | (_, true) => Rank::Late,
                (false, false) => Rank::Newer,
            }
        }
    }
}

/// What a wake finds to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agenda {
    /// Open events of the newest second that is not applied.
    pub frontier: Vec<OutboxItem>,
    /// Open events without a signed time: each is newer than anything, and fenced for itself.
    pub unordered: Vec<OutboxItem>,
    /// Open events newer than the head and older than the frontier: covered by it, their slugs join the plan.
    pub covered: Vec<OutboxItem>,
    /// Open events of which only the mark is missing.
    pub repeats: Vec<OutboxItem>,
    /// Open events that came too late.
    pub late: Vec<OutboxItem>,
    /// Open reprocess items, all of them: those above the head's generation are work, the others lack their mark.
    pub reprocess: Vec<OutboxItem>,
    /// The open rechecks and repeats that the messages name.
    pub wakes: Vec<OutboxItem>,
}

impl Agenda {
    /// Sorts what the read showed. `named` are the sort keys in the document's messages.
    pub fn new(head: &Head, items: &[OutboxItem], named: &[String]) -> Self {
        let mut agenda = Self::default();
        let mut newer: Vec<&OutboxItem> = Vec::new();
        for item in items.iter().filter(|item| item.is_open()) {
            match item.kind {
                Kind::Event => match rank(item, head) {
                    Rank::Newer if item.unordered => agenda.unordered.push(item.clone()),
                    Rank::Newer => newer.push(item),
                    Rank::Repeat => agenda.repeats.push(item.clone()),
                    Rank::Late => agenda.late.push(item.clone()),
                },
                Kind::Reprocess => agenda.reprocess.push(item.clone()),
                // The head has taken effect, and the process died before the mark.
                Kind::Recheck | Kind::Repeat if head.owes_mark(&item.sk) => agenda.repeats.push(item.clone()),
                Kind::Recheck | Kind::Repeat => {
                    if named.contains(&item.sk) {
                        agenda.wakes.push(item.clone());
                    }
                }
            }
        }
        let newest = newer.iter().map(|item| item.second).max();
        for item in newer {
            if Some(item.second) == newest {
                agenda.frontier.push(item.clone());
            } else {
                agenda.covered.push(item.clone());
            }
        }
        agenda
    }

    /// The generation that a reprocess wants beyond the head's.
    pub fn wanted_generation(&self, head: &Head) -> Option<u64> {
        self.reprocess
            .iter()
            .filter_map(|item| item.generation)
            .max()
            .filter(|generation| *generation > head.generation)
    }

    /// True when at most marks are missing.
    pub fn is_idle(&self, head: &Head) -> bool {
        self.frontier.is_empty()
            && self.unordered.is_empty()
            && self.late.is_empty()
            && self.wakes.is_empty()
            && self.wanted_generation(head).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{item::State, testing::item};

    fn head(second: i64, handled: &[(&str, Class)]) -> Head {
        Head {
            second: Some(second),
            handled: handled
                .iter()
                .map(|(revision, class)| Handled {
                    revision: (*revision).to_owned(),
                    class: *class,
                })
                .collect(),
            version: 1,
            ..Head::default()
        }
    }

    #[test]
    fn law_5_only_the_second_and_the_set_rank() {
        let applied = head(100, &[("r1", Class::Write)]);
        let cases = [
            ("newer second", item(101, "r2", Class::Write), Rank::Newer),
            ("older second", item(99, "r0", Class::Write), Rank::Late),
            (
                "same second, in the set, without slugs",
                item(100, "r1", Class::Write),
                Rank::Repeat,
            ),
            (
                "same second, other revision",
                item(100, "r2", Class::Write),
                Rank::Newer,
            ),
            (
                "the delete of the applied revision",
                item(100, "r1", Class::Delete),
                Rank::Newer,
            ),
        ];
        for (name, item, expected) in cases {
            assert_eq!(rank(&item, &applied), expected, "{name}");
        }
    }

    #[test]
    fn law_5_a_delete_ranks_after_the_write_of_its_own_revision() {
        let deleted = head(100, &[("r1", Class::Delete)]);
        assert_eq!(rank(&item(100, "r1", Class::Write), &deleted), Rank::Late);
        assert_eq!(rank(&item(100, "r2", Class::Write), &deleted), Rank::Newer);
    }

    #[test]
    fn law_8_another_telling_of_an_applied_revision_still_brings_its_slugs() {
        let applied = head(100, &[("r1", Class::Write)]);
        let mut again = item(100, "r1", Class::Write);
        again.slugs = vec!["/old".to_owned()];
        assert_eq!(rank(&again, &applied), Rank::Late);
    }

    #[test]
    fn law_12_an_owed_mark_is_a_repeat_whatever_its_second() {
        let late = item(1, "r0", Class::Write);
        let mut covering = head(100, &[("r1", Class::Write)]);
        covering.marks_owed = vec![late.sk.clone()];
        assert_eq!(rank(&late, &covering), Rank::Repeat);
    }

    /// Found by the simulation: a repeat that was done, but not marked, was done once more, and left a plan behind when it
    /// froze halfway.
    #[test]
    fn law_12_a_wake_that_lacks_only_its_mark_is_not_done_again() {
        for kind in [Kind::Recheck, Kind::Repeat] {
            let wake = OutboxItem {
                kind,
                ..item(100, "r1", Class::Write)
            };
            let mut done = head(100, &[("r1", Class::Write)]);
            let named = [wake.sk.clone()];
            let agenda = Agenda::new(&done, std::slice::from_ref(&wake), &named);
            assert_eq!(agenda.wakes, std::slice::from_ref(&wake), "not done yet");
            done.marks_owed = named.to_vec();
            let agenda = Agenda::new(&done, std::slice::from_ref(&wake), &named);
            assert!(agenda.is_idle(&done));
            assert_eq!(agenda.repeats, [wake]);
        }
    }

    #[test]
    fn law_5_an_event_without_a_time_is_always_newer() {
        let mut without = item(1, "r0", Class::Write);
        without.unordered = true;
        assert_eq!(rank(&without, &head(100, &[("r0", Class::Write)])), Rank::Newer);
    }

    #[test]
    fn law_5_the_open_events_of_the_newest_second_are_one_frontier() {
        let mut settled = item(103, "r9", Class::Write);
        settled.state = State::Applied;
        let items = [
            item(101, "r1", Class::Write),
            item(102, "r2", Class::Write),
            item(102, "r3", Class::Write),
            item(99, "r0", Class::Write),
            settled,
        ];
        let agenda = Agenda::new(&head(100, &[]), &items, &[]);
        let revisions = |items: &[OutboxItem]| -> Vec<String> {
            items
                .iter()
                .map(|item| item.revision_or_event().to_owned())
                .collect()
        };
        assert_eq!(revisions(&agenda.frontier), ["r2", "r3"]);
        assert_eq!(revisions(&agenda.covered), ["r1"]);
        assert_eq!(revisions(&agenda.late), ["r0"]);
    }

    #[test]
    fn law_12_failed_and_dead_items_are_still_open() {
        let mut failed = item(101, "r1", Class::Write);
        failed.state = State::Failed;
        failed.status = None;
        let agenda = Agenda::new(&Head::default(), &[failed], &[]);
        assert_eq!(agenda.frontier.len(), 1);
    }
}
