//! A history by its name: seed, configuration, and what is left out of it.

use crate::{
    config::Config,
    script::Script,
    verdict::Verdict,
    world::{Outcome, run},
};

/// A history that can be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The seed.
    pub seed: u64,
    /// The configuration, as [`Config::named`] reads it.
    pub config: String,
    /// What is left out: `e7` is the edit with that number, anything else a fault.
    pub without: Vec<String>,
}

impl History {
    /// The whole history of a seed.
    pub fn new(seed: u64, config: &str) -> Self {
        Self {
            seed,
            config: config.to_owned(),
            without: vec![],
        }
    }

    /// The command that replays it in words.
    pub fn command(&self) -> String {
        let without = if self.without.is_empty() {
            String::new()
        } else {
            format!(" without={}", self.without.join(","))
        };
        format!(
            "cargo run -p simulation -- trace {} {}{without}",
            self.seed, self.config
        )
    }

    fn parts(&self) -> Result<(Config, Script), String> {
        let mut config = Config::named(&self.config)?;
        let mut script = Script::new(self.seed, &config);
        for without in &self.without {
            let edit = without.strip_prefix('e').and_then(|number| number.parse().ok());
            match (edit, without.as_str()) {
                (Some(number), _) => script = script.without(number),
                (None, "pipe_stopped") => script.pipe_stopped = None,
                (None, "outage") => script.outage = None,
                (None, "reprocess") => script.reprocess.clear(),
                (None, "evict") => config.evict = false,
                (None, "again") => script.edits.iter_mut().for_each(|edit| {
                    edit.hook.deliveries.truncate(1);
                }),
                (None, fault) => match config.numbers().into_iter().find(|(name, _)| *name == fault) {
                    Some((_, number)) => *number = 0.0,
                    None => return Err(format!("nothing is called {fault:?}")),
                },
            }
        }
        Ok((config, script))
    }

    /// Runs it.
    ///
    /// # Errors
    /// There is no such configuration.
    pub fn run(&self, traced: bool) -> Result<Outcome, String> {
        let (config, script) = self.parts()?;
        Ok(run(self.seed, &config, &script, traced))
    }

    /// Takes out of a failing history, one by one, whatever it fails without.
    ///
    /// # Errors
    /// There is no such configuration.
    pub fn shrink(self) -> Result<(Self, Verdict), String> {
        let mut smallest = self;
        let mut verdict = smallest.run(false)?.verdict;
        let kind = verdict.kinds().first().copied();
        let (_, script) = smallest.parts()?;
        let edits = script.edits.iter().rev().map(|edit| format!("e{}", edit.number));
        let faults = [
            "crash",
            "frozen",
            "busy",
            "target_fails",
            "source_fails",
            "refused_sends",
            "doubled",
            "replicas",
            "evict",
            "again",
            "outage",
            "pipe_stopped",
            "reprocess",
        ];
        let candidates: Vec<String> = faults.iter().map(ToString::to_string).chain(edits).collect();
        loop {
            let before = smallest.without.len();
            for candidate in &candidates {
                if smallest.without.contains(candidate) {
                    continue;
                }
                let mut smaller = smallest.clone();
                smaller.without.push(candidate.clone());
                let found = smaller.run(false)?.verdict;
                if found.is_bad() && kind.is_none_or(|kind| found.kinds().contains(&kind)) {
                    (smallest, verdict) = (smaller, found);
                }
            }
            if smallest.without.len() == before {
                return Ok((smallest, verdict));
            }
        }
    }
}
