//! What becomes of an event that came too late (law 5): its type's policy decides, unless the source or an impossible order does.
//!
//! No I/O: the head, what the source showed and when go in.

use std::time::Duration;

use crate::{
    head::Head,
    item::{Class, OutboxItem, Seen},
};

/// What a type does with events of an older second than the applied one. Their slugs join the plan under each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LatePolicy {
    /// What it brought is part of what was applied since: nothing but its slugs is purged.
    Ignore,
    /// As `Ignore`, and a person looks at it.
    Review,
    /// The source is consulted, and what it shows now is purged.
    #[default]
    Recompute,
    /// As `Recompute`, and every slug the document ever had ([`crate::slugs`]) is purged again.
    Compensate,
}

impl LatePolicy {
    /// The names that `routes.toml` knows.
    pub const NAMES: [(&str, Self); 4] = [
        ("ignore", Self::Ignore),
        ("review", Self::Review),
        ("recompute", Self::Recompute),
        ("compensate", Self::Compensate),
    ];

    /// The policy of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find_map(|(known, policy)| (*known == name).then_some(*policy))
    }
}

/// What becomes of one late event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateFate {
    /// The source is consulted; applied.
    Recompute,
    /// The source is consulted and every slug purged; applied.
    Compensate,
    /// Its slugs are purged; applied.
    SlugsOnly,
    /// Its slugs are purged; in review, for this reason.
    Review(&'static str),
    /// An impossible order, unless the source still has to show otherwise: looked at again.
    Wait,
}

/// The reason of the policy `review`.
pub const LATE: &str = "late";
/// The reason of an update older than a delete that was applied, and that the source does not show.
pub const OLDER_THAN_DELETE: &str = "older_than_an_applied_delete";

/// Decides about `item`, which [`crate::order::rank`] calls late. `shown` is what a read of the source begun at `begun_at`
/// (epoch milliseconds) showed. `trust` is the age at which such a read is believed whatever it shows (law 7).
pub fn decide(
    item: &OutboxItem,
    head: &Head,
    shown: Option<&Seen>,
    begun_at: i64,
    policy: LatePolicy,
    trust: Duration,
) -> LateFate {
    let is_older = head.second.is_some_and(|second| item.second < second);
    // Law 13: what the source shows now is never late. Of the head's own second it is another telling, with slugs of its own.
    let is_shown = match (item.class, shown) {
        (Class::Write, Some(shown)) => shown.revision == item.revision_or_event(),
        (Class::Delete, shown) => shown.is_none(),
        (Class::Write, None) => false,
    };
    if is_shown || !is_older {
        return match policy {
            LatePolicy::Compensate if is_older => LateFate::Compensate,
            _ => LateFate::Recompute,
        };
    }
    let is_deleted = head.handled.iter().any(|it| it.class == Class::Delete);
    if item.class == Class::Write && is_deleted && shown.is_none() {
        let age = Duration::from_millis(u64::try_from(begun_at - item.accepted_at).unwrap_or(0));
        // A document restored with an older time looks just so until the index shows it.
        return if age < trust {
            LateFate::Wait
        } else {
            LateFate::Review(OLDER_THAN_DELETE)
        };
    }
    match policy {
        LatePolicy::Ignore => LateFate::SlugsOnly,
        LatePolicy::Review => LateFate::Review(LATE),
        LatePolicy::Recompute => LateFate::Recompute,
        LatePolicy::Compensate => LateFate::Compensate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{head::Handled, testing::item};

    const TRUST: Duration = Duration::from_secs(300);

    fn head(second: i64, revision: &str, class: Class) -> Head {
        Head {
            second: Some(second),
            handled: [Handled {
                revision: revision.to_owned(),
                class,
            }]
            .into(),
            version: 1,
            ..Head::default()
        }
    }

    fn seen(revision: &str) -> Option<Seen> {
        Some(Seen {
            revision: revision.to_owned(),
            second: 1,
        })
    }

    fn at(seconds: i64, item: &OutboxItem, head: &Head, shown: Option<Seen>, policy: LatePolicy) -> LateFate {
        let begun = item.accepted_at + seconds * 1000;
        decide(item, head, shown.as_ref(), begun, policy, TRUST)
    }

    #[test]
    fn law_5_a_late_event_meets_its_types_policy() {
        let late = item(90, "r1", Class::Write);
        let written = head(100, "r2", Class::Write);
        for (policy, expected) in [
            (LatePolicy::Ignore, LateFate::SlugsOnly),
            (LatePolicy::Review, LateFate::Review(LATE)),
            (LatePolicy::Recompute, LateFate::Recompute),
            (LatePolicy::Compensate, LateFate::Compensate),
        ] {
            for shown in [seen("r2"), seen("r3"), None] {
                assert_eq!(at(45, &late, &written, shown, policy), expected, "{policy:?}");
            }
            let gone = item(90, "r1", Class::Delete);
            assert_eq!(
                at(45, &gone, &written, seen("r2"), policy),
                expected,
                "{policy:?}"
            );
        }
    }

    #[test]
    fn law_13_what_the_source_shows_now_is_never_late() {
        for policy in [LatePolicy::Ignore, LatePolicy::Review, LatePolicy::Recompute] {
            let restored = item(90, "r1", Class::Write);
            for applied in [Class::Write, Class::Delete] {
                let fate = at(45, &restored, &head(100, "r2", applied), seen("r1"), policy);
                assert_eq!(fate, LateFate::Recompute, "{policy:?} {applied:?}");
            }
            let gone = item(90, "r1", Class::Delete);
            let fate = at(45, &gone, &head(100, "r2", Class::Write), None, policy);
            assert_eq!(fate, LateFate::Recompute, "{policy:?}");
        }
    }

    #[test]
    fn law_8_another_telling_of_what_was_applied_is_not_set_aside() {
        let again = item(100, "r2", Class::Write);
        for policy in LatePolicy::NAMES.map(|(_, policy)| policy) {
            let fate = at(999, &again, &head(100, "r2", Class::Delete), None, policy);
            assert_eq!(fate, LateFate::Recompute, "{policy:?}");
        }
    }

    #[test]
    fn law_5_an_update_older_than_an_applied_delete_is_an_impossible_order_once_the_source_had_its_time() {
        let update = item(90, "r1", Class::Write);
        let deleted = head(100, "r2", Class::Delete);
        for policy in LatePolicy::NAMES.map(|(_, policy)| policy) {
            assert_eq!(at(45, &update, &deleted, None, policy), LateFate::Wait);
            assert_eq!(
                at(300, &update, &deleted, None, policy),
                LateFate::Review(OLDER_THAN_DELETE)
            );
        }
        let fate = at(300, &update, &deleted, seen("r3"), LatePolicy::Recompute);
        assert_eq!(fate, LateFate::Recompute, "created anew: an ordinary late event");
    }

    #[test]
    fn the_names_are_those_of_the_policies() {
        assert_eq!(LatePolicy::named("compensate"), Some(LatePolicy::Compensate));
        assert_eq!(LatePolicy::named("Ignore"), None);
    }
}
