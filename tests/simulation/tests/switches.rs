//! Each switch breaks one law from the outside. The rig must see it, or it proves nothing; and the same faults without the switch
//! must be clean, or it proves something else.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

use simulation::{history::History, table, verdict::Verdict};

/// The first of `most` histories in which `wrong` is seen.
fn caught(config: &str, most: u64, wrong: impl Fn(&Verdict) -> bool) -> Option<u64> {
    (0..most).find(|seed| wrong(&History::new(*seed, config).run(false).unwrap().verdict))
}

fn is_wrong(verdict: &Verdict) -> bool {
    verdict.stale + verdict.latent + verdict.table_wrong + verdict.plan_left > 0
}

/// Law 6. Before there was an outbox, a message that the queue swallowed was lost.
#[test]
fn article_000s_content_hash_as_deduplication_id_is_caught() {
    let config = "healthy,content_hash=1,no_relay=1";
    assert!(caught(config, 40, is_wrong).is_some());
    assert_eq!(caught("healthy,no_relay=1", 20, is_wrong), None);
}

/// Law 5. Every write is conditional on the version read, so what a lagging read costs is failed records and time.
#[test]
fn reading_the_ledger_through_a_lagging_index_is_caught() {
    let failed = |config| {
        let sum = table::run(config, 0, 12, 2).unwrap();
        sum.counts.get("failed records").copied().unwrap_or_default() + sum.verdict.slow
    };
    assert!(failed("healthy,lagging_reads=1") > 0);
    assert_eq!(failed("healthy"), 0);
}

/// Law 10.
#[test]
fn purging_an_outer_layer_before_its_inner_one_is_caught() {
    assert!(caught("targets-fail,outer_first=1", 40, is_wrong).is_some());
    assert_eq!(caught("targets-fail", 20, is_wrong), None);
}

/// Law 8.
#[test]
fn writing_routes_before_the_plan_is_caught() {
    // A slug that no event names: its webhook is lost, and many slugs make it unlikely that another page takes it over.
    let faults = "lost-15,lost=0.5,renames=0.8,slugs=8,components=1,crash=0.03,target_fails=0.2";
    assert!(caught(&format!("{faults},routes_first=1"), 100, is_wrong).is_some());
    assert_eq!(caught(faults, 20, is_wrong), None);
}
