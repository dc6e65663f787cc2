//! A breaker per target (law 11): what is out is left alone, is reported once, and is tried again by itself.
//!
//! Only decisions, on a state that the ledger stores: every consumer must see what one consumer found out. The caller reads the
//! state, asks [`BreakerState::permit`], calls the target, and stores what [`on_outage`] or [`on_success`] gives, conditional on
//! the state it read. Losing that race is harmless: the other consumer has just recorded the same target.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::PurgeReport;

/// When a breaker opens and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerConfig {
    /// Outages in a row after which it opens; at least 1.
    pub failures: u32,
    /// Seconds it stays open before one call tries again.
    pub open_seconds: i64,
    /// The longest wish of a target (`retry-after`) that is honoured, in seconds.
    pub longest_pause_seconds: i64,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            failures: 5,
            open_seconds: 60,
            longest_pause_seconds: 900,
        }
    }
}

/// What is stored of a target. The default is a target that works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerState {
    /// Outages since the last success.
    pub failures: u32,
    /// No call before this epoch second. Set while the breaker is open, and while a target that asked for it is left alone.
    pub open_until: Option<i64>,
    /// Epoch second at which the breaker opened; set exactly while it is open.
    pub opened_at: Option<i64>,
}

/// What a change of state is worth telling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// Nothing new.
    None,
    /// It opened: the one moment to raise the alarm.
    Opened,
    /// It closed: the target works again.
    Closed,
}

/// Whether the target may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permit {
    /// Yes.
    Call,
    /// Yes, by one caller alone: by him who stores this state, conditional on the one it was made from. It keeps the others away
    /// while he tries.
    Trial(BreakerState),
    /// Not before this epoch second.
    Wait {
        /// Epoch second.
        until: i64,
    },
}

impl BreakerState {
    /// True while it is open.
    pub fn is_open(&self) -> bool {
        self.opened_at.is_some()
    }

    /// Whether a call may be made at `now`, epoch seconds. While open this lets every caller try once its time is over;
    /// [`BreakerState::permit`] lets one.
    pub fn may_call(&self, now: i64) -> bool {
        self.open_until.is_none_or(|until| now >= until)
    }

    /// Whether a call may be made at `now`, epoch seconds, and on what condition.
    pub fn permit(&self, now: i64, config: &BreakerConfig) -> Permit {
        match self.open_until {
            Some(until) if now < until => Permit::Wait { until },
            _ if self.is_open() => Permit::Trial(Self {
                open_until: Some(now.saturating_add(config.open_seconds)),
                ..self.clone()
            }),
            _ => Permit::Call,
        }
    }

    /// Whether keys that a target answered with a fault each on its own ([`PurgeReport::suspects`]) may be blamed for it. Only
    /// right after a success, with this state as it was before the call: then the target worked until those keys came. In an
    /// outage every call but the first finds failures recorded, so it costs a key one try at the most.
    pub fn blames_keys(&self) -> bool {
        self.failures == 0 && !self.is_open()
    }
}

/// The state after a call that found the target out. `retry_after` is what the target asked for.
pub fn on_outage(
    state: &BreakerState,
    now: i64,
    config: &BreakerConfig,
    retry_after: Option<Duration>,
) -> (BreakerState, Transition) {
    let failures = state.failures.saturating_add(1);
    let opens = !state.is_open() && failures >= config.failures.max(1);
    let open = state.is_open() || opens;
    let wish = retry_after
        .map(|wish| {
            i64::try_from(wish.as_secs())
                .unwrap_or(i64::MAX)
                .saturating_add(i64::from(wish.subsec_nanos() > 0))
        })
        .map(|wish| wish.min(config.longest_pause_seconds))
        .filter(|wish| *wish > 0);
    let pause = match (open, wish) {
        (true, wish) => Some(config.open_seconds.max(wish.unwrap_or(0))),
        (false, wish) => wish,
    };
    let until = pause.map(|pause| now.saturating_add(pause));
    // Another caller may have recorded a longer pause meanwhile, by a clock ahead of ours.
    let open_until = until.max(state.open_until.filter(|until| *until > now));
    let opened_at = if opens { Some(now) } else { state.opened_at };
    let transition = if opens {
        Transition::Opened
    } else {
        Transition::None
    };
    (
        BreakerState {
            failures,
            open_until,
            opened_at,
        },
        transition,
    )
}

/// The state after a call that the target answered, whatever it said about single keys.
pub fn on_success(state: &BreakerState) -> (BreakerState, Transition) {
    let transition = if state.is_open() {
        Transition::Closed
    } else {
        Transition::None
    };
    (BreakerState::default(), transition)
}

/// The state after a purge. A report without a call says nothing about the target.
pub fn after(
    state: &BreakerState,
    report: &PurgeReport,
    now: i64,
    config: &BreakerConfig,
) -> (BreakerState, Transition) {
    match &report.outage {
        Some(outage) => on_outage(state, now, config, outage.retry_after),
        None if report.calls > 0 && report.outcomes.iter().any(|(_, outcome)| outcome.is_answer()) => {
            on_success(state)
        }
        None => (state.clone(), Transition::None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CONFIG: BreakerConfig = BreakerConfig {
        failures: 5,
        open_seconds: 60,
        longest_pause_seconds: 900,
    };

    fn outages(state: BreakerState, count: u32, now: i64) -> (BreakerState, Vec<Transition>) {
        let mut seen = Vec::new();
        let state = (0..count).fold(state, |state, _| {
            let (state, transition) = on_outage(&state, now, &CONFIG, None);
            seen.push(transition);
            state
        });
        (state, seen)
    }

    #[test]
    fn law_11_an_outage_raises_one_alarm_and_drains_by_itself() {
        let (state, seen) = outages(BreakerState::default(), 5, 1000);
        assert_eq!(seen[..4], [Transition::None; 4]);
        assert_eq!(seen[4], Transition::Opened);
        assert_eq!(
            state,
            BreakerState {
                failures: 5,
                open_until: Some(1060),
                opened_at: Some(1000)
            }
        );
        assert!(!state.may_call(1059));
        assert!(state.may_call(1060));

        let (state, again) = on_outage(&state, 1060, &CONFIG, None);
        assert_eq!(again, Transition::None, "the trial that fails is no new alarm");
        assert_eq!((state.open_until, state.opened_at), (Some(1120), Some(1000)));

        let (state, closed) = on_success(&state);
        assert_eq!(closed, Transition::Closed);
        assert_eq!(state, BreakerState::default());
        assert_eq!(on_success(&state).1, Transition::None);
    }

    #[test]
    fn a_success_in_between_starts_the_count_anew() {
        let (state, _) = outages(BreakerState::default(), 4, 0);
        let (state, _) = on_success(&state);
        let (state, seen) = outages(state, 4, 0);
        assert_eq!(seen, [Transition::None; 4]);
        assert!(!state.is_open());
    }

    #[test]
    fn one_caller_tries_when_the_time_is_over() {
        let (state, _) = outages(BreakerState::default(), 5, 1000);
        assert_eq!(state.permit(1059, &CONFIG), Permit::Wait { until: 1060 });
        let Permit::Trial(claimed) = state.permit(1060, &CONFIG) else {
            panic!("no trial")
        };
        assert_eq!(
            claimed.permit(1061, &CONFIG),
            Permit::Wait { until: 1120 },
            "the next caller waits"
        );
        assert!(
            matches!(claimed.permit(1120, &CONFIG), Permit::Trial(_)),
            "a trial that died does not close it for ever"
        );
        assert_eq!(claimed.opened_at, state.opened_at);
        assert_eq!(BreakerState::default().permit(0, &CONFIG), Permit::Call);
    }

    #[test]
    fn a_target_that_asks_for_a_pause_gets_it_without_an_alarm() {
        let wish = |seconds| Some(Duration::from_secs(seconds));
        let (state, transition) = on_outage(&BreakerState::default(), 1000, &CONFIG, wish(30));
        assert_eq!(transition, Transition::None);
        assert_eq!(state.permit(1029, &CONFIG), Permit::Wait { until: 1030 });
        assert_eq!(state.permit(1030, &CONFIG), Permit::Call);
        let (state, _) = on_outage(&state, 1005, &CONFIG, None);
        assert_eq!(
            state.open_until,
            Some(1030),
            "a later outage without a wish does not shorten it"
        );
        let (state, _) = on_outage(&BreakerState::default(), 1000, &CONFIG, wish(u64::MAX));
        assert_eq!(state.open_until, Some(1900), "bounded");
        let (state, _) = on_outage(
            &BreakerState::default(),
            1000,
            &CONFIG,
            Some(Duration::from_millis(1500)),
        );
        assert_eq!(state.open_until, Some(1002), "rounded up");
        let (open, _) = outages(BreakerState::default(), 5, 1000);
        assert_eq!(on_outage(&open, 1060, &CONFIG, wish(5)).0.open_until, Some(1120));
        assert_eq!(
            on_outage(&open, 1060, &CONFIG, wish(300)).0.open_until,
            Some(1360)
        );
    }

    #[test]
    fn keys_are_blamed_only_right_after_a_success() {
        let fresh = BreakerState::default();
        assert!(fresh.blames_keys());
        let (state, _) = on_outage(&fresh, 0, &CONFIG, None);
        assert!(!state.blames_keys());
        assert!(on_success(&state).0.blames_keys());
    }

    #[test]
    fn a_report_without_an_answer_says_nothing() {
        let (open, _) = outages(BreakerState::default(), 5, 1000);
        let key = ledger::plan::Key::Slug {
            slug: "/a".to_owned(),
        };
        let late = PurgeReport {
            calls: 1,
            ..PurgeReport::failed(std::slice::from_ref(&key), "deadline")
        };
        assert_eq!(
            after(&open, &late, 1060, &CONFIG),
            (open.clone(), Transition::None)
        );
        assert_eq!(
            after(&open, &PurgeReport::default(), 1060, &CONFIG),
            (open.clone(), Transition::None)
        );
        let mut answered = late;
        answered.outcomes[0].1 = crate::KeyOutcome::Refused {
            reason: "HTTP 400".into(),
        };
        assert_eq!(after(&open, &answered, 1060, &CONFIG).1, Transition::Closed);
        answered.outage = Some(crate::Outage {
            retry_after: None,
            what: "HTTP 503".into(),
        });
        assert_eq!(after(&open, &answered, 1060, &CONFIG).1, Transition::None);
    }

    #[test]
    fn the_stored_form() {
        let (state, _) = outages(BreakerState::default(), 5, 1000);
        let json = r#"{"failures":5,"open_until":1060,"opened_at":1000}"#;
        assert_eq!(serde_json::to_string(&state).unwrap(), json);
        assert_eq!(serde_json::from_str::<BreakerState>(json).unwrap(), state);
    }

    proptest! {
        /// However outages and successes mix: it opens and closes in turn, and there is always a time at which it may be called.
        #[test]
        fn opens_and_closes_in_turn(steps in proptest::collection::vec((0u8..4, 0i64..200, proptest::option::of(0u64..2000)), 0..200)) {
            let (mut state, mut now, mut open) = (BreakerState::default(), 0i64, false);
            for (kind, passes, wish) in steps {
                now += passes;
                let (next, transition) = match kind {
                    0 => on_success(&state),
                    _ => on_outage(&state, now, &CONFIG, wish.map(Duration::from_secs)),
                };
                match transition {
                    Transition::Opened => { prop_assert!(!open); open = true; }
                    Transition::Closed => { prop_assert!(open); open = false; }
                    Transition::None => {}
                }
                state = next;
                prop_assert_eq!(state.is_open(), open);
                prop_assert!(!open || state.open_until.is_some());
                prop_assert!(state.may_call(now + 901));
            }
        }
    }
}
