//! Many histories, and the table of what came of them.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{history::History, verdict::Verdict};

/// What many histories of one configuration came to.
#[derive(Debug, Clone, Default)]
pub struct Sum {
    /// How many.
    pub histories: u64,
    /// All verdicts added up, without words.
    pub verdict: Verdict,
    /// The seeds that broke a law, in order.
    pub bad: Vec<u64>,
    /// What was counted.
    pub counts: BTreeMap<&'static str, usize>,
}

/// Runs the histories `from..from + count` of a configuration, on `threads` threads.
///
/// # Errors
/// There is no such configuration.
pub fn run(config: &str, from: u64, count: u64, threads: usize) -> Result<Sum, String> {
    let next = AtomicU64::new(from);
    let work = || {
        let mut sum = Sum::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= from + count {
                return Ok(sum);
            }
            let outcome = History::new(seed, config).run(false)?;
            sum.histories += 1;
            if outcome.verdict.is_bad() {
                sum.bad.push(seed);
            }
            sum.add(&outcome.verdict, &outcome.counts);
        }
    };
    let sums: Vec<Result<Sum, String>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err("a history panicked".to_owned()))
            })
            .collect()
    });
    let mut whole = Sum::default();
    for sum in sums {
        let sum = sum?;
        whole.histories += sum.histories;
        whole.bad.extend(&sum.bad);
        whole.add(&sum.verdict, &sum.counts);
    }
    whole.bad.sort_unstable();
    Ok(whole)
}

impl Sum {
    fn add(&mut self, verdict: &Verdict, counts: &BTreeMap<&'static str, usize>) {
        let sum = &mut self.verdict;
        sum.stale += verdict.stale;
        sum.latent += verdict.latent;
        sum.excused += verdict.excused;
        sum.stuck += verdict.stuck;
        sum.dead += verdict.dead;
        sum.failed += verdict.failed;
        sum.plan_left += verdict.plan_left;
        sum.table_wrong += verdict.table_wrong;
        sum.slow += verdict.slow;
        for (name, count) in counts {
            *self.counts.entry(name).or_default() += count;
        }
    }

    /// The table's head.
    pub fn head() -> String {
        format!(
            "{:15} {:>9} {:>6} {:>6} {:>6} {:>5} {:>6} {:>9} {:>11} {:>7} {:>8} {:>11} {:>6} {:>6}",
            "faults",
            "histories",
            "stale",
            "latent",
            "stuck",
            "DEAD",
            "failed",
            "plan left",
            "table wrong",
            "excused",
            "events",
            "invocations",
            "deaths",
            "resent"
        )
    }

    /// What became of the late events, where any policy but the default had a part in it.
    pub fn late(&self) -> Option<String> {
        let count = |name| self.counts.get(name).copied().unwrap_or_default();
        let names = [
            "late recomputed",
            "late ignored",
            "late in review",
            "late compensated",
        ];
        let any = names[1..].iter().any(|name| count(*name) > 0);
        let each = names.map(|name| format!("{} {name}", count(name)));
        any.then(|| {
            format!(
                "  {}; {} slugs purged for it",
                each.join(", "),
                count("slugs compensated")
            )
        })
    }

    /// A row of the table.
    pub fn row(&self, config: &str) -> String {
        let verdict = &self.verdict;
        let count = |name| self.counts.get(name).copied().unwrap_or_default();
        format!(
            "{config:15} {:>9} {:>6} {:>6} {:>6} {:>5} {:>6} {:>9} {:>11} {:>7} {:>8} {:>11} {:>6} {:>6}",
            self.histories,
            verdict.stale,
            verdict.latent,
            verdict.stuck,
            verdict.dead,
            verdict.failed,
            verdict.plan_left,
            verdict.table_wrong,
            verdict.excused,
            count("events"),
            count("invocations"),
            count("deaths"),
            count("resent")
        )
    }
}
