//! The wall clock behind a trait, so that tests decide what time it is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use time::OffsetDateTime;

/// Tells the time of day, in UTC. For measuring how long something takes use [`tokio::time::Instant`].
pub trait Clock: Send + Sync {
    /// The present instant, UTC.
    fn now(&self) -> OffsetDateTime;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> OffsetDateTime {
        (**self).now()
    }
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> OffsetDateTime {
        OffsetDateTime::now_utc()
    }
}

/// A clock that stands still until a test moves it. Clones share one time.
#[derive(Debug, Clone)]
pub struct ManualClock {
    now: Arc<Mutex<OffsetDateTime>>,
}

impl ManualClock {
    /// A clock that shows `start`.
    pub fn new(start: OffsetDateTime) -> Self {
        Self {
            now: Arc::new(Mutex::new(start)),
        }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }

    /// Sets the clock, also backwards.
    pub fn set(&self, to: OffsetDateTime) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = to;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> OffsetDateTime {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_manual_clock_share_one_time() {
        let clock = ManualClock::new(OffsetDateTime::UNIX_EPOCH);
        let seen_by_code: Arc<dyn Clock> = Arc::new(clock.clone());
        clock.advance(Duration::from_secs(61));
        assert_eq!(seen_by_code.now().unix_timestamp(), 61);
        clock.set(OffsetDateTime::UNIX_EPOCH);
        assert_eq!(seen_by_code.now().unix_timestamp(), 0);
    }
}
