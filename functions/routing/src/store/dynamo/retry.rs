//! Another attempt at what was busy, within the invocation's deadline.

use std::fmt::Debug;
use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use platform::Deadline;

use crate::store::StoreError;

/// Attempts without any progress.
const ATTEMPTS: u32 = 8;

/// The longest first pause; each later one doubles, up to [`LONGEST_PAUSE`]. All attempts together take at most 5 s.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Why one attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attempt {
    /// Worth another one; the error code.
    Busy(String),
    /// Not worth another one; the error code and DynamoDB's explanation.
    Refused(String, String),
}

/// The attempts at one operation.
pub(super) struct Retry<'a> {
    operation: &'static str,
    deadline: &'a Deadline,
    failed: u32,
}

impl<'a> Retry<'a> {
    pub(super) fn new(operation: &'static str, deadline: &'a Deadline) -> Self {
        Self {
            operation,
            deadline,
            failed: 0,
        }
    }

    /// Runs `attempt` until it succeeds, is refused, or neither time nor attempts are left.
    pub(super) async fn run<T, F>(&mut self, attempt: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Attempt>>,
    {
        loop {
            let outcome = self
                .deadline
                .bound(attempt())
                .await
                .map_err(|_| self.out_of_time())?;
            match outcome {
                Ok(value) => return Ok(value),
                Err(Attempt::Busy(code)) => self.pause(&code).await?,
                Err(Attempt::Refused(code, message)) => {
                    return Err(StoreError::Refused {
                        operation: self.operation,
                        code,
                        message,
                    });
                }
            }
        }
    }

    /// Counts a failed attempt and waits for the next one.
    pub(super) async fn pause(&mut self, code: &str) -> Result<(), StoreError> {
        self.failed += 1;
        if self.failed >= ATTEMPTS {
            return Err(StoreError::Busy {
                operation: self.operation,
                code: code.to_owned(),
            });
        }
        let longest = (FIRST_PAUSE * 2_u32.pow(self.failed - 1)).min(LONGEST_PAUSE);
        let pause = longest.mul_f64(0.5 + random_fraction() / 2.0);
        if self.deadline.is_near(pause) {
            return Err(self.out_of_time());
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }

    /// Attempts are counted anew: the last one brought something.
    pub(super) fn progress(&mut self) {
        self.failed = 0;
    }

    /// The request could not even be made.
    pub(super) fn refused(&self, reason: &str) -> StoreError {
        StoreError::Refused {
            operation: self.operation,
            code: "InvalidRequest".to_owned(),
            message: reason.to_owned(),
        }
    }

    fn out_of_time(&self) -> StoreError {
        StoreError::OutOfTime {
            operation: self.operation,
        }
    }
}

/// Whether an error code, of an operation or of one action of a transaction, passes by itself.
pub(super) fn busy_code(code: &str) -> bool {
    matches!(
        code,
        "InternalServerError"
            | "LimitExceededException"
            | "ProvisionedThroughputExceeded"
            | "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "ServiceUnavailable"
            | "Throttling"
            | "ThrottlingError"
            | "ThrottlingException"
            | "TransactionConflict"
            | "TransactionConflictException"
            | "TransactionInProgressException"
    )
}

/// What an SDK error means for the next attempt. Every request here may be repeated: writes are conditional on a version.
pub(super) fn classify<E>(error: &SdkError<E>) -> Attempt
where
    E: ProvideErrorMetadata + Debug,
{
    match error {
        SdkError::ServiceError(context) => {
            let code = context.err().code().unwrap_or("Unknown").to_owned();
            if busy_code(&code) || context.raw().status().is_server_error() {
                Attempt::Busy(code)
            } else {
                Attempt::Refused(code, context.err().message().unwrap_or_default().to_owned())
            }
        }
        SdkError::ConstructionFailure(_) => Attempt::Refused(
            "InvalidRequest".to_owned(),
            "the request could not be built".to_owned(),
        ),
        SdkError::TimeoutError(_) => Attempt::Busy("Timeout".to_owned()),
        _ => Attempt::Busy("Unreachable".to_owned()),
    }
}

/// From 0 to 1. Spreads retries; nothing depends on how random it is.
fn random_fraction() -> f64 {
    let random = RandomState::new().build_hasher().finish() >> 11;
    random as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::ready;

    use super::*;

    fn busy<T>() -> Result<T, Attempt> {
        Err(Attempt::Busy("TransactionConflict".to_owned()))
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_busy_is_tried_again() {
        let deadline = Deadline::after(Duration::from_secs(50));
        let tries = Cell::new(0);
        let outcome = Retry::new("Query", &deadline)
            .run(|| {
                tries.set(tries.get() + 1);
                ready(if tries.get() < 4 { busy() } else { Ok(tries.get()) })
            })
            .await;
        assert_eq!(outcome, Ok(4));
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_end() {
        let deadline = Deadline::after(Duration::from_secs(50));
        let tries = Cell::new(0);
        let outcome: Result<(), _> = Retry::new("Query", &deadline)
            .run(|| {
                tries.set(tries.get() + 1);
                ready(busy())
            })
            .await;
        assert!(matches!(outcome, Err(StoreError::Busy { code, .. }) if code == "TransactionConflict"));
        assert_eq!(tries.get(), ATTEMPTS);
        assert!(
            deadline.remaining() > Duration::from_secs(45),
            "{:?}",
            deadline.remaining()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_ends_both_pauses_and_attempts() {
        let deadline = Deadline::after(Duration::from_millis(100));
        let outcome: Result<(), _> = Retry::new("Query", &deadline).run(|| ready(busy())).await;
        assert_eq!(outcome, Err(StoreError::OutOfTime { operation: "Query" }));
        assert!(
            deadline.remaining() > Duration::ZERO,
            "a pause that would pass the deadline is not begun"
        );
        let outcome: Result<(), _> = Retry::new("Query", &deadline).run(std::future::pending).await;
        assert_eq!(outcome, Err(StoreError::OutOfTime { operation: "Query" }));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_refused_is_not_tried_again() {
        let deadline = Deadline::after(Duration::from_secs(50));
        let tries = Cell::new(0);
        let outcome: Result<(), _> = Retry::new("Query", &deadline)
            .run(|| {
                tries.set(tries.get() + 1);
                ready(Err(Attempt::Refused("AccessDeniedException".into(), "no".into())))
            })
            .await;
        assert!(matches!(outcome, Err(StoreError::Refused { .. })));
        assert_eq!(tries.get(), 1);
    }

    #[test]
    fn fractions_are_fractions() {
        for _ in 0..100 {
            assert!((0.0..1.0).contains(&random_fraction()));
        }
    }
}
