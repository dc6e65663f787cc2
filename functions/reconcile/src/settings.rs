//! What reconcile is told by its environment.

use std::time::Duration;

use ledger::record::Settings as LedgerSettings;

/// Times and bounds.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What new events need to know.
    pub ledger: LedgerSettings,
    /// How far before the watermark each run begins, in seconds: a change can become visible after a later one. Default 300.
    pub overlap_seconds: i64,
    /// What changed less than this many seconds before is left to its webhook; the overlap shows it again. Default 60, and
    /// never more than half the overlap.
    pub young_seconds: i64,
    /// Documents asked for at a time. Default 500.
    pub page_size: usize,
    /// Pages of changes in one run at the most; the next run goes on. Default 20.
    pub pages_a_run: usize,
    /// Seconds between the beginnings of two sweeps. Default a day.
    pub sweep_every_seconds: i64,
    /// Items of the routes table read for one step of a sweep. Default 500.
    pub sweep_items: u32,
    /// What is kept of the invocation's time for its last writes. Default 10 s.
    pub margin: Duration,
}

impl Settings {
    /// The defaults on these ledger settings.
    pub fn new(ledger: LedgerSettings) -> Self {
        Self {
            ledger,
            overlap_seconds: 300,
            young_seconds: 60,
            page_size: 500,
            pages_a_run: 20,
            sweep_every_seconds: 86_400,
            sweep_items: 500,
            margin: Duration::from_secs(10),
        }
    }

    /// See [`Self::young_seconds`].
    pub fn young(&self) -> i64 {
        self.young_seconds.min(self.overlap_seconds / 2)
    }
}
