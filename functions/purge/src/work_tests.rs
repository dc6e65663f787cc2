use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits {
    batch: 100,
    apart: 1,
    extra_requests: 1000,
};

fn fault() -> Answer {
    Answer::OfSomeUnitOrTarget {
        reason: "HTTP 500".into(),
        retry_after: None,
    }
}

fn all_confirmed(batch: &Batch) -> Answer {
    Answer::Each(vec![Verdict::Confirmed; batch.units.len()])
}

/// Sends one batch at a time to `target` until nothing is left; gives the number of requests too.
fn run(mut work: Work, mut target: impl FnMut(&Batch) -> Answer) -> (Finished, usize) {
    let mut requests = 0;
    while let Some(batch) = work.next() {
        assert!(!batch.units.is_empty(), "an empty batch must never be sent");
        requests += 1;
        assert!(requests < 5000, "does not end");
        let answer = target(&batch);
        work.answered(batch, answer);
    }
    (work.finish(), requests)
}

/// A target that works but fails any batch holding one of `poison`.
fn poisoned(poison: &BTreeSet<usize>, answer: Answer) -> impl FnMut(&Batch) -> Answer + '_ {
    move |batch| match batch.units.iter().any(|unit| poison.contains(unit)) {
        true => answer.clone(),
        false => all_confirmed(batch),
    }
}

fn refused(finished: &Finished) -> BTreeSet<usize> {
    let found = finished.found.iter().enumerate();
    found
        .filter(|(_, found)| matches!(found, Found::Refused(_)))
        .map(|(unit, _)| unit)
        .collect()
}

#[test]
fn one_poison_unit_is_found_wherever_it_is_and_the_rest_is_confirmed() {
    for poison in 0..100 {
        for answer in [fault(), Answer::OfSomeUnit("HTTP 400".into())] {
            let poison = BTreeSet::from([poison]);
            let (finished, requests) = run(Work::new(100, LIMITS), poisoned(&poison, answer));
            assert_eq!(refused(&finished), poison);
            assert_eq!(
                finished
                    .found
                    .iter()
                    .filter(|found| **found == Found::Confirmed)
                    .count(),
                99
            );
            assert_eq!(finished.outage, None);
            assert!(requests <= 15, "{requests}");
        }
    }
}

#[test]
fn neighbours_that_are_both_poison_are_found() {
    for first in 0..99 {
        let poison = BTreeSet::from([first, first + 1]);
        let (finished, _) = run(Work::new(100, LIMITS), poisoned(&poison, fault()));
        assert_eq!(refused(&finished), poison, "{first}");
    }
}

#[test]
fn a_target_that_is_down_costs_few_requests_and_refuses_nothing() {
    for units in [1, 2, 3, 10, 100, 1000] {
        let (finished, requests) = run(Work::new(units, LIMITS), |_| fault());
        assert!(requests <= 11, "{units} units cost {requests} requests");
        assert!(refused(&finished).is_empty());
        assert_eq!(
            finished.outage.unwrap().what.as_str(),
            "nothing succeeds: HTTP 500"
        );
        assert!(
            finished
                .found
                .iter()
                .all(|found| matches!(found, Found::Failed(_)))
        );
        assert!(!finished.suspects.is_empty() && finished.suspects.len() <= 4);
    }
}

#[test]
fn a_target_that_goes_down_on_the_way_keeps_what_it_confirmed() {
    let limits = Limits { batch: 10, ..LIMITS };
    let mut requests = 0;
    let (finished, _) = run(Work::new(100, limits), |batch| {
        requests += 1;
        if requests <= 3 {
            all_confirmed(batch)
        } else {
            fault()
        }
    });
    assert!(
        finished.found[..30]
            .iter()
            .all(|found| *found == Found::Confirmed)
    );
    assert!(
        finished.found[30..]
            .iter()
            .all(|found| matches!(found, Found::Failed(_)))
    );
    assert!(finished.outage.is_some());
}

#[test]
fn an_outage_ends_it_at_once_with_the_wish_of_the_target() {
    let limits = Limits { batch: 10, ..LIMITS };
    let outage = Outage {
        retry_after: Some(Duration::from_secs(30)),
        what: "HTTP 429".into(),
    };
    let (finished, requests) = run(Work::new(100, limits), |_| Answer::Outage(outage.clone()));
    assert_eq!(requests, 1);
    assert_eq!(finished.outage, Some(outage));
    assert_eq!(finished.found[0], Found::Failed("HTTP 429".into()));
    assert_eq!(finished.found[99], Found::Failed("not tried: HTTP 429".into()));
}

#[test]
fn a_unit_found_before_the_target_went_down_stays_found() {
    let limits = Limits { batch: 2, ..LIMITS };
    let (finished, _) = run(Work::new(4, limits), |batch| match batch.units.as_slice() {
        [0, 1] | [0] => fault(),
        [2, 3] => all_confirmed(batch),
        _ => Answer::Outage(Outage {
            retry_after: None,
            what: "HTTP 503".into(),
        }),
    });
    assert_eq!(finished.found[0], Found::Refused("HTTP 500".into()));
    assert_eq!(finished.found[1], Found::Failed("HTTP 503".into()));
    assert!(finished.suspects.is_empty());
    assert!(finished.outage.is_some());
}

#[test]
fn a_lone_unit_that_breaks_the_target_is_a_suspect_only() {
    let (finished, _) = run(Work::new(1, LIMITS), |_| fault());
    assert_eq!(finished.suspects, [0]);
    assert!(finished.outage.is_some());
    assert_eq!(finished.found, [Found::Failed("HTTP 500".into())]);
}

#[test]
fn pages_that_all_fail_are_the_targets_fault_until_one_succeeds() {
    let suspect = || Verdict::Suspect("HTTP 500".into());
    let (finished, _) = run(Work::new(3, LIMITS), |_| {
        Answer::Each(vec![suspect(), suspect(), suspect()])
    });
    assert!(finished.outage.is_some());
    assert_eq!(finished.suspects, [0, 1, 2]);
    let (finished, _) = run(Work::new(3, LIMITS), |_| {
        Answer::Each(vec![suspect(), Verdict::Confirmed, suspect()])
    });
    assert_eq!(finished.outage, None);
    assert_eq!(refused(&finished), BTreeSet::from([0, 2]));
}

#[test]
fn what_an_answer_leaves_unclear_is_asked_again_apart_and_then_refused() {
    for (apart, requests_expected) in [(1, 4), (100, 2)] {
        let limits = Limits { apart, ..LIMITS };
        let (finished, requests) = run(Work::new(4, limits), |batch| {
            let verdict = |unit: &usize| match unit {
                0 => Verdict::Confirmed,
                2 if batch.apart => Verdict::Confirmed,
                _ => Verdict::Unclear("error".into()),
            };
            Answer::Each(batch.units.iter().map(verdict).collect())
        });
        assert_eq!(requests, requests_expected);
        assert_eq!(refused(&finished), BTreeSet::from([1, 3]));
        assert_eq!(finished.outage, None);
    }
}

#[test]
fn what_there_was_no_time_for_says_deadline() {
    let limits = Limits { batch: 1, ..LIMITS };
    let mut work = Work::new(3, limits);
    let batch = work.next().unwrap();
    let answer = all_confirmed(&batch);
    work.answered(batch, answer);
    let batch = work.next().unwrap();
    work.answered(batch, Answer::OutOfTime);
    assert_eq!(work.next(), None);
    let finished = work.finish();
    let deadline = || Found::Failed("deadline".into());
    assert_eq!(finished.found, [Found::Confirmed, deadline(), deadline()]);
    assert_eq!(finished.outage, None, "our own want of time is no outage");
}

#[test]
fn requests_are_bounded() {
    let limits = Limits {
        batch: 50,
        apart: 1,
        extra_requests: 8,
    };
    let (finished, requests) = run(Work::new(100, limits), |_| Answer::OfSomeUnit("HTTP 400".into()));
    assert_eq!(requests, 10);
    assert!(finished.found.iter().all(|found| *found != Found::Confirmed));
    assert_eq!(finished.outage, None);
}

#[test]
fn while_the_target_is_in_doubt_one_request_asks_at_a_time() {
    let limits = Limits { batch: 2, ..LIMITS };
    let mut work = Work::new(8, limits);
    let (first, second) = (work.next().unwrap(), work.next().unwrap());
    work.answered(first, fault());
    assert_eq!(work.next(), None, "the answer to the second must be known first");
    let answer = all_confirmed(&second);
    work.answered(second, answer);
    assert!(work.next().is_some() && work.next().is_some());
}

#[test]
fn nothing_to_do_sends_nothing() {
    let (finished, requests) = run(Work::new(0, LIMITS), all_confirmed);
    assert_eq!((requests, finished.found.len(), finished.outage), (0, 0, None));
}

fn any_answer() -> impl Strategy<Value = u8> {
    0u8..12
}

proptest! {
    /// Whatever a target answers, the work ends, sends no empty batch, and every unit has an end; a unit is confirmed only if a
    /// request that held it said so.
    #[test]
    fn ends_and_answers_every_unit_whatever_is_answered(
        units in 0usize..60, batch in 1usize..20, apart in 1usize..5, extra in 0usize..40,
        answers in proptest::collection::vec(any_answer(), 1..200), width in 1usize..4,
    ) {
        let mut work = Work::new(units, Limits { batch, apart, extra_requests: extra });
        let most = units.div_ceil(batch) + extra;
        let mut truly: BTreeSet<usize> = BTreeSet::new();
        let mut requests = 0;
        let mut in_flight: VecDeque<Batch> = VecDeque::new();
        loop {
            while in_flight.len() < width && let Some(batch) = work.next() {
                prop_assert!(!batch.units.is_empty());
                requests += 1;
                prop_assert!(requests <= most);
                in_flight.push_back(batch);
            }
            let Some(batch) = in_flight.pop_front() else { break };
            let kind = |step: usize| answers[(requests + step) % answers.len()];
            let answer = match kind(0) {
                0 => Answer::Outage(Outage { retry_after: None, what: "x".into() }),
                1 => Answer::OutOfTime,
                2..=4 => Answer::OfSomeUnit("400".into()),
                5..=7 => fault(),
                _ => Answer::Each(batch.units.iter().enumerate().map(|(place, unit)| match kind(place + 1) {
                    0..=2 => Verdict::Refused("r".into()),
                    3..=4 => Verdict::Suspect("s".into()),
                    5..=6 => Verdict::Unclear("u".into()),
                    _ => { truly.insert(*unit); Verdict::Confirmed }
                }).collect()),
            };
            work.answered(batch, answer);
        }
        let finished = work.finish();
        prop_assert_eq!(finished.found.len(), units);
        for (unit, found) in finished.found.iter().enumerate() {
            prop_assert_eq!(*found == Found::Confirmed, truly.contains(&unit));
        }
        for unit in finished.suspects {
            prop_assert!(matches!(finished.found[unit], Found::Failed(_)));
            prop_assert!(finished.outage.is_some());
        }
    }

    /// A target that works loses nothing to poison, however much of it there is, as long as something succeeds now and then.
    #[test]
    fn poison_never_settles_a_healthy_unit(
        units in 1usize..80, batch in 1usize..40, poison in proptest::collection::btree_set(0usize..80, 0..20),
    ) {
        let limits = Limits { batch, apart: 1, extra_requests: 1000 };
        let (finished, _) = run(Work::new(units, limits), poisoned(&poison, fault()));
        for (unit, found) in finished.found.iter().enumerate() {
            match found {
                Found::Confirmed => prop_assert!(!poison.contains(&unit)),
                Found::Refused(_) => prop_assert!(poison.contains(&unit)),
                Found::Failed(_) => prop_assert!(finished.outage.is_some()),
            }
        }
    }
}
