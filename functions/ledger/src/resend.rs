//! What the relay does with an item that is due (law 12): settle what the head names as covered, wake everything else under a
//! fresh id, give up after a bounded number of sends that no consumer answered.

use crate::{
    head::{Handled, Head},
    identity,
    item::{Kind, OutboxItem, Status},
};

/// What the relay does next with one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resend {
    /// It changed since the index was read; leave it.
    Leave,
    /// The head covers it: mark it applied.
    Settle,
    /// Claim it and send it.
    Send(Claim),
    /// No consumer answered any of the allowed sends: DEAD.
    Bury,
}

/// How the relay claims an item before it sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The number of this send, over all the item's life.
    pub resends: u32,
    /// Sends without an answer, this one included.
    pub attempts: u32,
    /// When to look again if nobody answers, epoch seconds.
    pub next_attempt: i64,
    /// Deduplication id: fresh, because the queue forgets an id only after five minutes (law 6).
    pub message_deduplication_id: String,
}

/// The relay's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResendLimits {
    /// Sends without an answer before an item is DEAD. Default 3.
    pub max_attempts: u32,
    /// Seconds a send may take before it counts as unanswered. Default 1500: beyond the worst time in flight.
    pub grace_seconds: i64,
}

/// Decides about `item` as a consistent read shows it. `now` in epoch seconds.
pub fn decide(item: &OutboxItem, head: &Head, now: i64, limits: &ResendLimits) -> Resend {
    if item.status != Some(Status::Ready) || item.next_attempt.is_none_or(|next| next > now) {
        return Resend::Leave;
    }
    let covered = match item.kind {
        Kind::Event => {
            head.owes_mark(&item.sk)
                || (!item.unordered
                    && item.slugs.is_empty()
                    && head.second == Some(item.second)
                    && head.handled.contains(&Handled::of(item)))
        }
        Kind::Reprocess => item.generation.is_some_and(|wanted| head.generation >= wanted),
        Kind::Recheck | Kind::Repeat => head.owes_mark(&item.sk),
    };
    if covered {
        return Resend::Settle;
    }
    if item.attempts >= limits.max_attempts {
        return Resend::Bury;
    }
    let resends = item.resends + 1;
    Resend::Send(Claim {
        resends,
        attempts: item.attempts + 1,
        next_attempt: now + limits.grace_seconds,
        message_deduplication_id: format!("{}#a{resends}", item.message_base()),
    })
}

/// When an item that was put off `defers` times already is tried again, in seconds from now: doubling from `first` to `most`.
pub fn defer_seconds(defers: u32, first: i64, most: i64) -> i64 {
    first
        .saturating_mul(1i64.checked_shl(defers.min(62)).unwrap_or(i64::MAX))
        .clamp(1, most.max(1))
}

/// Key of the index of states in which an operator must act.
pub fn state_key(state: &str) -> String {
    format!("STATE#{state}")
}

/// The shards of the READY index.
pub fn shards(count: u32) -> impl Iterator<Item = String> {
    (0..count.max(1)).map(identity::shard_key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{item::Class, testing::item};

    const LIMITS: ResendLimits = ResendLimits {
        max_attempts: 3,
        grace_seconds: 1500,
    };

    fn due() -> OutboxItem {
        OutboxItem {
            next_attempt: Some(1000),
            ..item(100, "r1", Class::Write)
        }
    }

    #[test]
    fn law_12_what_is_not_due_or_not_ready_is_left() {
        assert_eq!(decide(&due(), &Head::default(), 999, &LIMITS), Resend::Leave);
        let sent = OutboxItem {
            status: Some(Status::Sent),
            ..due()
        };
        assert_eq!(decide(&sent, &Head::default(), 1000, &LIMITS), Resend::Leave);
    }

    #[test]
    fn ruby_shoryuken_shoryuken_1038_every_send_has_a_fresh_id() {
        let Resend::Send(first) = decide(&due(), &Head::default(), 1000, &LIMITS) else {
            panic!()
        };
        assert_eq!(first.message_deduplication_id, format!("{}#a1", due().event_id));
        // A consumer answered and put it off: attempts start again, the ids do not.
        let put_off = OutboxItem {
            attempts: 0,
            resends: 1,
            ..due()
        };
        let Resend::Send(second) = decide(&put_off, &Head::default(), 1000, &LIMITS) else {
            panic!()
        };
        assert_eq!(second.message_deduplication_id, format!("{}#a2", due().event_id));
        assert_eq!(second.attempts, 1);
    }

    #[test]
    fn law_12_dead_after_three_sends_that_nobody_answered() {
        let unanswered = |attempts| OutboxItem { attempts, ..due() };
        assert!(matches!(
            decide(&unanswered(2), &Head::default(), 1000, &LIMITS),
            Resend::Send(_)
        ));
        assert_eq!(
            decide(&unanswered(3), &Head::default(), 1000, &LIMITS),
            Resend::Bury
        );
    }

    #[test]
    fn law_12_the_relay_settles_only_what_the_head_names() {
        let covering = Head {
            second: Some(200),
            marks_owed: vec![due().sk],
            version: 1,
            ..Head::default()
        };
        assert_eq!(decide(&due(), &covering, 1000, &LIMITS), Resend::Settle);
        // Older than the head, but not named by it: its slugs may not have been purged, so the consumer decides.
        let newer = Head {
            second: Some(200),
            version: 1,
            ..Head::default()
        };
        assert!(matches!(decide(&due(), &newer, 1000, &LIMITS), Resend::Send(_)));
    }

    #[test]
    fn law_12_a_wake_is_settled_only_by_the_head_that_names_it() {
        let wake = OutboxItem {
            kind: Kind::Recheck,
            ..due()
        };
        let head = Head {
            second: Some(100),
            handled: [Handled::of(&wake)].into(),
            ..Head::default()
        };
        assert!(matches!(decide(&wake, &head, 1000, &LIMITS), Resend::Send(_)));
        let naming = Head {
            marks_owed: vec![wake.sk.clone()],
            ..head
        };
        assert_eq!(decide(&wake, &naming, 1000, &LIMITS), Resend::Settle);
    }

    #[test]
    fn law_14_a_reprocess_is_covered_by_its_generation() {
        let reprocess = OutboxItem {
            kind: Kind::Reprocess,
            generation: Some(2),
            ..due()
        };
        let at = |generation| Head {
            generation,
            ..Head::default()
        };
        assert!(matches!(
            decide(&reprocess, &at(1), 1000, &LIMITS),
            Resend::Send(_)
        ));
        assert_eq!(decide(&reprocess, &at(2), 1000, &LIMITS), Resend::Settle);
    }

    #[test]
    fn law_11_putting_off_doubles_to_a_quarter_of_an_hour() {
        let waits: Vec<i64> = (0..7).map(|defers| defer_seconds(defers, 60, 900)).collect();
        assert_eq!(waits, [60, 120, 240, 480, 900, 900, 900]);
        assert_eq!(defer_seconds(u32::MAX, 60, 900), 900);
    }
}
