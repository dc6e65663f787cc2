//! How long the present invocation may still run.
//!
//! Lambda kills a function at its timeout without a word. Whoever waits for something outside asks the deadline
//! first, and stops early enough to say what was left undone.

use std::future::Future;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// The instant by which an invocation must have answered. Copies are cheap; it never moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline {
    at: Instant,
}

/// The deadline passed before the work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the deadline of this invocation was reached")]
pub struct DeadlineReached;

impl Deadline {
    /// The moment at which Lambda will end this invocation.
    pub fn from_context(context: &lambda_runtime::Context) -> Self {
        let left = context
            .deadline()
            .duration_since(SystemTime::now())
            .unwrap_or_default();
        Self::after(left)
    }

    /// A deadline that is `left` from now.
    pub fn after(left: Duration) -> Self {
        Self {
            at: Instant::now() + left,
        }
    }

    /// The earlier of this deadline and `left` from now.
    #[must_use]
    pub fn capped(self, left: Duration) -> Self {
        self.min(Self::after(left))
    }

    /// This deadline, brought forward by `margin`: what is left for work if `margin` is to remain for the answer.
    #[must_use]
    pub fn earlier(self, margin: Duration) -> Self {
        let now = Instant::now();
        Self {
            at: now + self.at.saturating_duration_since(now).saturating_sub(margin),
        }
    }

    /// What is left; zero once the deadline has passed.
    pub fn remaining(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// Whether `margin` or less is left.
    pub fn is_near(&self, margin: Duration) -> bool {
        self.remaining() <= margin
    }

    /// Runs `work` until it ends or the deadline passes.
    ///
    /// # Errors
    /// [`DeadlineReached`]; the work is dropped where it stood.
    pub async fn bound<F: Future>(&self, work: F) -> Result<F::Output, DeadlineReached> {
        tokio::time::timeout_at(self.at, work)
            .await
            .map_err(|_| DeadlineReached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_runs_out_and_never_below_zero() {
        let deadline = Deadline::after(Duration::from_secs(60));
        assert!(!deadline.is_near(Duration::from_secs(50)));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(deadline.is_near(Duration::from_secs(50)));
        assert_eq!(deadline.remaining(), Duration::from_secs(50));
        tokio::time::advance(Duration::from_secs(100)).await;
        assert_eq!(deadline.remaining(), Duration::ZERO);
        assert_eq!(
            deadline.earlier(Duration::from_secs(1)).remaining(),
            Duration::ZERO
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_cap_only_shortens() {
        let deadline = Deadline::after(Duration::from_secs(10));
        assert_eq!(
            deadline.capped(Duration::from_secs(3)).remaining(),
            Duration::from_secs(3)
        );
        assert_eq!(deadline.capped(Duration::from_secs(30)), deadline);
        assert_eq!(
            deadline.earlier(Duration::from_secs(4)).remaining(),
            Duration::from_secs(6)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn work_beyond_the_deadline_is_given_up() {
        let deadline = Deadline::after(Duration::from_secs(1));
        assert_eq!(deadline.bound(async { 7 }).await, Ok(7));
        assert_eq!(
            deadline.bound(std::future::pending::<()>()).await,
            Err(DeadlineReached)
        );
    }

    #[tokio::test]
    async fn the_context_of_lambda_gives_the_deadline() {
        let mut context = lambda_runtime::Context::default();
        assert_eq!(Deadline::from_context(&context).remaining(), Duration::ZERO);
        let later = SystemTime::now() + Duration::from_secs(100);
        context.deadline = later.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64;
        let left = Deadline::from_context(&context).remaining();
        assert!(
            left > Duration::from_secs(90) && left <= Duration::from_secs(100),
            "{left:?}"
        );
    }
}
