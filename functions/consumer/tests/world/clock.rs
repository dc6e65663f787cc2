//! The world's clock.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use platform::Clock;
use time::OffsetDateTime;

use super::START;

/// A clock that many share. It moves with tokio's paused time or, beside a real database, by [`SharedClock::skip`] alone.
#[derive(Debug, Clone)]
pub struct SharedClock {
    start: OffsetDateTime,
    origin: Option<tokio::time::Instant>,
    skipped: Arc<Mutex<Duration>>,
}

impl SharedClock {
    pub fn of_tokio() -> Self {
        Self {
            origin: Some(tokio::time::Instant::now()),
            ..Self::standing()
        }
    }

    pub fn standing() -> Self {
        Self {
            start: OffsetDateTime::from_unix_timestamp(START).unwrap(),
            origin: None,
            skipped: Arc::default(),
        }
    }

    pub fn skip(&self, by: Duration) {
        *self.skipped.lock().unwrap() += by;
    }
}

impl Clock for SharedClock {
    fn now(&self) -> OffsetDateTime {
        let moved = self.origin.map_or(Duration::ZERO, |origin| origin.elapsed());
        self.start + moved + *self.skipped.lock().unwrap()
    }
}
