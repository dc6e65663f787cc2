//! What the consumer is told by its environment.

use std::time::Duration;

use ledger::{fence::FenceTimes, record::Settings as LedgerSettings};
use purge::BreakerConfig;

/// Times and bounds; all durations of the laws are defaults of parameters.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What new outbox items need to know.
    pub ledger: LedgerSettings,
    /// The ages at which the fence gives way (law 7).
    pub fence: FenceTimes,
    /// The longest a wake waits for the fence before it puts the work off. Default 20 s.
    pub fence_bound: Duration,
    /// Pause between two reads of the source while waiting. Default 1 s.
    pub fence_poll: Duration,
    /// Seconds after which a tied, trusted or unsure fence is looked at again. Default 300.
    pub recheck_seconds: i64,
    /// A purge whose newest event was accepted less than this before is repeated once (law 10). Default 30 s.
    pub repeat_young: Duration,
    /// Whether the layers outside the innermost one of a purge are purged once more by a later wake (law 10). Default true.
    pub repeat_outer_layers: bool,
    /// The first wait of what is put off, in seconds; doubles. Default 60 (law 11).
    pub defer_first_seconds: i64,
    /// The longest such wait, in seconds. Default 900.
    pub defer_max_seconds: i64,
    /// Breakers of the targets.
    pub breaker: BreakerConfig,
    /// With less than this left of the invocation, work is put off instead of begun. Default 10 s of 60.
    pub margin: Duration,
}

impl Settings {
    /// The defaults of the laws on these ledger settings.
    pub fn new(ledger: LedgerSettings) -> Self {
        Self {
            ledger,
            fence: FenceTimes::default(),
            fence_bound: Duration::from_secs(20),
            fence_poll: Duration::from_secs(1),
            recheck_seconds: 300,
            repeat_young: Duration::from_secs(30),
            repeat_outer_layers: true,
            defer_first_seconds: 60,
            defer_max_seconds: 900,
            breaker: BreakerConfig::default(),
            margin: Duration::from_secs(10),
        }
    }
}
