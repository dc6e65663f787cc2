//! A bounded number of random histories of every fault configuration; `make rig` runs many more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

use simulation::{config::NAMES, history::History, table};

/// Histories a configuration.
const HISTORIES: u64 = 12;
/// Seeds of `evict` that leave a stale page behind when no purge is repeated. A change of what a history draws moves them:
/// `cargo run -p simulation -- run 1500 evict,repeat_outer=0,repeat_young=0` finds others, about one in 500.
const EVICT: [u64; 3] = [589, 1250, 1287];

#[test]
fn random_histories_break_no_law() {
    let mut failures = Vec::new();
    for config in NAMES {
        let sum = table::run(config, 1_000_000, HISTORIES, 2).unwrap();
        assert_eq!(sum.histories, HISTORIES);
        if let Some(seed) = sum.bad.first() {
            let (smallest, verdict) = History::new(*seed, config).shrink().unwrap();
            failures.push(format!("{}\n{verdict:#?}", smallest.command()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A render that read a stale inner cache just before its purge stores after the outer one's, where the outer one was empty at
/// that moment, however old the edit is.
#[test]
fn law_10_outer_layers_are_purged_once_more_for_renders_that_read_the_stale_inner_one() {
    let run = |seed, config| History::new(seed, config).run(false).unwrap().verdict;
    for seed in EVICT {
        let without = run(seed, "evict,repeat_outer=0,repeat_young=0");
        assert!(without.is_bad(), "{seed} shows nothing any more");
        let verdict = run(seed, "evict,repeat_young=0");
        assert!(!verdict.is_bad(), "{seed}: {verdict:#?}");
    }
}

#[test]
fn the_same_seed_is_the_same_history() {
    for config in ["worst", "timeless", "by-type"] {
        let run = || History::new(7, config).run(true).unwrap();
        let (one, two) = (run(), run());
        assert!(one.log.len() > 100);
        assert_eq!(one.log, two.log);
        assert_eq!(one.verdict, two.verdict);
    }
}

#[test]
fn other_seeds_are_other_histories() {
    let log = |seed| History::new(seed, "healthy").run(true).unwrap().log;
    assert_ne!(log(1), log(2));
}

/// A history that runs without its faults happening proves nothing.
#[test]
fn every_fault_strikes() {
    let count = |config: &str, name: &str| {
        let sum = table::run(config, 0, 12, 2).unwrap();
        sum.counts.get(name).copied().unwrap_or_default()
    };
    for (config, name) in [
        ("crash-3", "deaths"),
        ("frozen", "timeouts"),
        ("late-hooks", "duplicates"),
        ("lost-15", "reconciled"),
        ("pipe-stopped", "trimmed"),
        ("target-out", "resent"),
        ("reprocess", "reprocessed"),
        ("busy", "failed records"),
        ("all", "swallowed"),
        ("crash-3", "dead letters"),
        ("crash-10", "failed"),
        ("crash-10", "asked again"),
        ("late-hooks", "late recomputed"),
        ("late-ignore", "late recomputed"),
        ("late-ignore", "late ignored"),
        ("late-ignore", "late in review"),
        ("late-review", "late in review"),
        ("late-review", "late compensated"),
        ("late-compensate", "late compensated"),
        ("late-compensate", "late ignored"),
        ("late-compensate", "slugs compensated"),
    ] {
        assert!(count(config, name) > 0, "{config}: no {name}");
    }
}
