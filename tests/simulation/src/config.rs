//! The faults of a history, and the named sets of them. Durations are in seconds, chances per occasion.

use ledger::late::LatePolicy;

/// How far Sanity's query index is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lag {
    /// 0.3 s on average; 3 % up to 5 s more.
    Fast,
    /// One change in twenty up to 40 s more.
    Short,
    /// One change in twenty up to 120 s more.
    Long,
    /// Every other change up to 120 s more.
    Storm,
}

/// What makes the rig fail on purpose: each breaks one law from the outside, so that a rig that stays green is known to see nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    /// Article 000: the queue's deduplication id is a hash of the content.
    pub content_hash: bool,
    /// Nothing is ever sent again: the pipeline before it had an outbox.
    pub no_relay: bool,
    /// The consumer reads the ledger as a lagging index would show it.
    pub lagging_reads: bool,
    /// The HTML cache is purged first and the GraphQL cache last.
    pub outer_first: bool,
    /// The routes are written first, and the plan when the first purge has come back.
    pub routes_first: bool,
}

/// What a history is exposed to.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each is explained by its comment")]
pub struct Config {
    // What is edited.
    pub pages: usize,
    pub components: usize,
    pub slugs: usize,
    pub fewest_edits: usize,
    pub most_edits: usize,
    /// Chance that a change deletes.
    pub deletes: f64,
    /// Chance that a change of a page takes another slug, possibly another page's.
    pub renames: f64,
    /// Chance that an update carries a time up to 4,000 s in the past.
    pub backdated: f64,
    /// Chance that a webhook's body names no `_updatedAt`.
    pub timeless: f64,

    // Sanity.
    pub lag: Lag,
    /// A read in three meets a replica up to this much behind.
    pub replicas: f64,
    /// Chance that a read of the source fails.
    pub source_fails: f64,
    /// Chance that a webhook is never delivered.
    pub lost: f64,
    /// Chance that a webhook comes 5 s to 28 min late.
    pub late_hook: f64,
    /// Chance that something is delivered twice: webhooks, and records by the Pipe.
    pub doubled: f64,
    /// Chance that a commit takes up to 10 s.
    pub slow_commit: f64,
    /// The webhook's API is down for this long; what Sanity gave up after 30 minutes is lost.
    pub api_down: f64,

    // Transport.
    /// The Pipe is stopped for this long; in every other history its records are trimmed meanwhile.
    pub pipe_stopped: f64,
    /// Messages are grouped by type instead of by document.
    pub group_by_type: bool,
    /// Chance that the queue refuses a message of the relay.
    pub refused_sends: f64,

    // Processes.
    /// Chance that a process dies at a call, before or after its effect.
    pub crash: f64,
    /// Chance that a call takes 20 to 700 s, once a process.
    pub frozen: f64,
    /// Chance that the ledger answers "busy", with or without having done what was asked.
    pub busy: f64,

    // Caches.
    /// Chance that a purge fails: half of it the whole call, half of it key by key.
    pub target_fails: f64,
    /// One or all targets are out for this long.
    pub outage: f64,
    /// The caches drop entries by themselves.
    pub evict: bool,
    /// Chance that a document is reprocessed.
    pub reprocess: f64,

    /// The consumer's `REPEAT_YOUNG_SECONDS`: purges of events younger than this are repeated.
    pub repeat_young: f64,
    /// The consumer's `REPEAT_OUTER_LAYERS`.
    pub repeat_outer: bool,

    /// `late` of pages in `routes.toml`.
    pub late_pages: LatePolicy,
    /// `late` of components.
    pub late_components: LatePolicy,

    /// Break a law on purpose.
    pub switches: Switches,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            pages: 2,
            components: 2,
            slugs: 4,
            fewest_edits: 2,
            most_edits: 8,
            deletes: 0.12,
            renames: 0.4,
            backdated: 0.0,
            timeless: 0.0,
            lag: Lag::Fast,
            replicas: 0.0,
            source_fails: 0.0,
            lost: 0.0,
            late_hook: 0.0,
            doubled: 0.0,
            slow_commit: 0.0,
            api_down: 0.0,
            pipe_stopped: 0.0,
            group_by_type: false,
            refused_sends: 0.0,
            crash: 0.0,
            frozen: 0.0,
            busy: 0.0,
            target_fails: 0.0,
            outage: 0.0,
            evict: false,
            reprocess: 0.0,
            repeat_young: 30.0,
            repeat_outer: true,
            late_pages: LatePolicy::default(),
            late_components: LatePolicy::default(),
            switches: Switches::default(),
        }
    }
}

/// Names of the fault configurations: those of the executable model first, then those that it does not have.
pub const NAMES: [&str; 28] = [
    "healthy",
    "late-hooks",
    "lag-40",
    "lag-120",
    "lost-2",
    "lost-15",
    "api-down",
    "crash-1",
    "crash-3",
    "frozen",
    "targets-fail",
    "target-out",
    "pipe-stopped",
    "reprocess",
    "evict",
    "all",
    "by-type",
    "busy",
    "source-fails",
    "backdated",
    "timeless",
    "replicas",
    "lag-storm",
    "crash-10",
    "worst",
    "late-ignore",
    "late-review",
    "late-compensate",
];

impl Config {
    /// The configuration with this name, possibly followed by changes: `crash-3,lost=0.02,evict=1`.
    ///
    /// # Errors
    /// What is not known.
    pub fn named(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let mut config = Self::plain(name).ok_or_else(|| {
            format!(
                "no configuration is called {name:?}; there are: {}",
                NAMES.join(" ")
            )
        })?;
        for part in parts {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("{part:?} is not key=value"))?;
            config.set(key, value)?;
        }
        Ok(config)
    }

    fn plain(name: &str) -> Option<Self> {
        let plain = Self::default();
        let all = Self {
            late_hook: 0.12,
            doubled: 0.05,
            slow_commit: 0.03,
            lag: Lag::Long,
            lost: 0.03,
            crash: 0.01,
            frozen: 0.005,
            target_fails: 0.1,
            reprocess: 0.2,
            ..plain.clone()
        };
        let late = |late_pages, late_components| Self {
            // Many slugs, and webhooks lost beside them: then nothing but a late event knows a slug that came and went.
            slugs: 8,
            renames: 0.7,
            late_hook: 0.3,
            lost: 0.1,
            doubled: 0.05,
            slow_commit: 0.03,
            backdated: 0.2,
            lag: Lag::Storm,
            crash: 0.01,
            late_pages,
            late_components,
            ..plain.clone()
        };
        #[rustfmt::skip]
        let config = match name {
            "healthy" => plain,
            "late-hooks" => Self { late_hook: 0.12, doubled: 0.05, slow_commit: 0.03, ..plain },
            "lag-40" => Self { lag: Lag::Short, ..plain },
            "lag-120" => Self { lag: Lag::Long, ..plain },
            "lost-2" => Self { lost: 0.02, ..plain },
            "lost-15" => Self { lost: 0.15, ..plain },
            "api-down" => Self { api_down: 3000.0, ..plain },
            "crash-1" => Self { crash: 0.01, ..plain },
            "crash-3" => Self { crash: 0.03, ..plain },
            "frozen" => Self { frozen: 0.02, ..plain },
            "targets-fail" => Self { target_fails: 0.2, ..plain },
            "target-out" => Self { outage: 1800.0, ..plain },
            "pipe-stopped" => Self { pipe_stopped: 10_800.0, ..plain },
            "reprocess" => Self { reprocess: 0.5, ..plain },
            "evict" => Self { evict: true, ..plain },
            "all" => all,
            "by-type" => Self { group_by_type: true, ..all },
            "busy" => Self { busy: 0.03, ..plain },
            "source-fails" => Self { source_fails: 0.1, ..plain },
            "backdated" => Self { backdated: 0.1, lag: Lag::Long, ..plain },
            "timeless" => Self { timeless: 0.3, lag: Lag::Long, ..plain },
            "replicas" => Self { replicas: 5.0, ..plain },
            "lag-storm" => Self { lag: Lag::Storm, ..plain },
            "crash-10" => Self { crash: 0.1, ..plain },
            "worst" => Self {
                outage: 1800.0, busy: 0.01, source_fails: 0.02, refused_sends: 0.05, ..all
            },
            "late-ignore" => late(LatePolicy::Ignore, LatePolicy::Review),
            "late-review" => late(LatePolicy::Review, LatePolicy::Compensate),
            "late-compensate" => late(LatePolicy::Compensate, LatePolicy::Ignore),
            _ => return None,
        };
        Some(config)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let switches = &mut self.switches;
        let flag = match key {
            "evict" => Some(&mut self.evict),
            "group_by_type" => Some(&mut self.group_by_type),
            "repeat_outer" => Some(&mut self.repeat_outer),
            "content_hash" => Some(&mut switches.content_hash),
            "no_relay" => Some(&mut switches.no_relay),
            "lagging_reads" => Some(&mut switches.lagging_reads),
            "outer_first" => Some(&mut switches.outer_first),
            "routes_first" => Some(&mut switches.routes_first),
            _ => None,
        };
        if let Some(flag) = flag {
            *flag = value == "1";
            return Ok(());
        }
        if key == "lag" {
            self.lag = match value {
                "fast" => Lag::Fast,
                "short" => Lag::Short,
                "long" => Lag::Long,
                "storm" => Lag::Storm,
                _ => return Err(format!("lag={value}: fast, short, long or storm")),
            };
            return Ok(());
        }
        let policy = match key {
            "late_pages" => Some(&mut self.late_pages),
            "late_components" => Some(&mut self.late_components),
            _ => None,
        };
        if let Some(policy) = policy {
            *policy = LatePolicy::named(value).ok_or_else(|| format!("{key}={value}: no such policy"))?;
            return Ok(());
        }
        let number: f64 = value
            .parse()
            .map_err(|_| format!("{key}={value}: not a number"))?;
        let size = match key {
            "pages" => Some(&mut self.pages),
            "components" => Some(&mut self.components),
            "slugs" => Some(&mut self.slugs),
            "most_edits" => Some(&mut self.most_edits),
            _ => None,
        };
        if let Some(size) = size {
            *size = number as usize;
            return Ok(());
        }
        if key == "repeat_young" {
            self.repeat_young = number;
            return Ok(());
        }
        match self.numbers().into_iter().find(|(name, _)| *name == key) {
            Some((_, place)) => *place = number,
            None => return Err(format!("no fault is called {key:?}")),
        }
        Ok(())
    }

    /// Every fault that is a number; a shrinking history tries to do without each.
    pub fn numbers(&mut self) -> [(&'static str, &mut f64); 19] {
        [
            ("deletes", &mut self.deletes),
            ("renames", &mut self.renames),
            ("backdated", &mut self.backdated),
            ("timeless", &mut self.timeless),
            ("replicas", &mut self.replicas),
            ("source_fails", &mut self.source_fails),
            ("lost", &mut self.lost),
            ("late_hook", &mut self.late_hook),
            ("doubled", &mut self.doubled),
            ("slow_commit", &mut self.slow_commit),
            ("api_down", &mut self.api_down),
            ("pipe_stopped", &mut self.pipe_stopped),
            ("refused_sends", &mut self.refused_sends),
            ("crash", &mut self.crash),
            ("frozen", &mut self.frozen),
            ("busy", &mut self.busy),
            ("target_fails", &mut self.target_fails),
            ("outage", &mut self.outage),
            ("reprocess", &mut self.reprocess),
        ]
    }
}
