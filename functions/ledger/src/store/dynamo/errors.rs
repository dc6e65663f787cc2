//! What DynamoDB's errors mean to the ledger.

use std::{future::Future, time::Duration};

use aws_sdk_dynamodb::{
    error::{BuildError, ProvideErrorMetadata, SdkError},
    operation::transact_write_items::TransactWriteItemsError,
    types::CancellationReason,
};
use platform::Deadline;

use crate::store::{LedgerError, Written};

/// Cancellation reasons that a later try of the same transaction may not meet. The SDK does not retry them.
const PASSING: [&str; 4] = [
    "TransactionConflict",
    "ProvisionedThroughputExceeded",
    "ThrottlingError",
    "RequestLimitExceeded",
];
const DENIED: [&str; 4] = [
    "AccessDeniedException",
    "ResourceNotFoundException",
    "UnrecognizedClientException",
    "ValidationException",
];

pub(super) fn built(error: BuildError) -> LedgerError {
    LedgerError::Corrupt(error.to_string())
}

/// Any failed call. The code is logged, never the item.
pub(super) fn failed<E: ProvideErrorMetadata, R>(error: SdkError<E, R>) -> LedgerError {
    match error.code() {
        Some(code) if DENIED.contains(&code) => LedgerError::Denied(code.to_owned()),
        Some(code) => LedgerError::Busy(code.to_owned()),
        None => LedgerError::Busy(
            match error {
                SdkError::TimeoutError(_) => "timeout",
                SdkError::DispatchFailure(_) => "unreachable",
                SdkError::ResponseError(_) => "unreadable answer",
                _ => "failure",
            }
            .to_owned(),
        ),
    }
}

/// A conditional single-item write: a failed condition is [`Written::Moved`].
pub(super) fn conditional<T, E: ProvideErrorMetadata, R>(
    result: Result<T, SdkError<E, R>>,
) -> Result<Written, LedgerError> {
    match result {
        Ok(_) => Ok(Written::Done),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(Written::Moved),
        Err(error) => Err(failed(error)),
    }
}

/// Why a transaction did not commit.
#[derive(Debug)]
pub(super) enum Cancelled {
    /// Conditions failed, at these places of the transaction.
    Conditions(Vec<(usize, CancellationReason)>),
    /// May pass later.
    Passing(String),
    /// Everything else.
    Failed(LedgerError),
}

pub(super) fn cancelled<R>(error: SdkError<TransactWriteItemsError, R>) -> Cancelled {
    let Some(TransactWriteItemsError::TransactionCanceledException(exception)) = error.as_service_error()
    else {
        return match error.code() {
            Some(
                "TransactionInProgressException"
                | "ThrottlingException"
                | "ProvisionedThroughputExceededException"
                | "RequestLimitExceeded"
                | "InternalServerError",
            ) => Cancelled::Passing(error.code().unwrap_or_default().to_owned()),
            _ => Cancelled::Failed(failed(error)),
        };
    };
    let reasons = exception.cancellation_reasons();
    let codes = |reason: &CancellationReason| reason.code().unwrap_or("None").to_owned();
    let failed_conditions: Vec<_> = reasons
        .iter()
        .enumerate()
        .filter(|(_, reason)| reason.code() == Some("ConditionalCheckFailed"))
        .map(|(place, reason)| (place, reason.clone()))
        .collect();
    if !failed_conditions.is_empty() {
        return Cancelled::Conditions(failed_conditions);
    }
    let code = reasons
        .iter()
        .map(codes)
        .find(|code| code != "None")
        .unwrap_or_default();
    if PASSING.contains(&code.as_str()) {
        Cancelled::Passing(code)
    } else {
        Cancelled::Failed(LedgerError::Denied(code))
    }
}

/// Tries a transaction again, with growing and spread pauses, while it is cancelled for reasons that pass.
///
/// The inner error is a failed condition; the outer one says that nothing is known to be committed.
pub(super) async fn retrying<F, T>(
    deadline: Deadline,
    mut transaction: impl FnMut() -> F,
) -> Result<Result<T, Vec<(usize, CancellationReason)>>, LedgerError>
where
    F: Future<Output = Result<T, Cancelled>>,
{
    const MARGIN: Duration = Duration::from_millis(250);
    let mut pause = Duration::from_millis(20);
    loop {
        let outcome = deadline
            .bound(transaction())
            .await
            .map_err(|_| LedgerError::Busy("no time left".to_owned()))?;
        match outcome {
            Ok(done) => return Ok(Ok(done)),
            Err(Cancelled::Conditions(places)) => return Ok(Err(places)),
            Err(Cancelled::Failed(error)) => return Err(error),
            Err(Cancelled::Passing(code)) => {
                if deadline.is_near(pause + MARGIN) {
                    return Err(LedgerError::Busy(code));
                }
                tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
                pause = (pause * 2).min(Duration::from_secs(1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::error::TransactionCanceledException;

    use super::*;

    /// A transaction of two puts, cancelled for these reasons.
    fn cancelled_for(codes: [&str; 2]) -> Cancelled {
        let reasons = codes.map(|code| CancellationReason::builder().code(code).build());
        let exception = TransactionCanceledException::builder()
            .set_cancellation_reasons(Some(reasons.to_vec()))
            .build();
        let error = TransactWriteItemsError::TransactionCanceledException(exception);
        cancelled(SdkError::service_error(error, ()))
    }

    /// A conflict taken for a duplicate would be answered 200, and the webhook lost for good.
    #[test]
    fn aws_samples_sample_voice_of_customer_datalake_350_only_a_failed_condition_is_a_duplicate() {
        for passing in PASSING {
            for codes in [[passing, "None"], ["None", passing]] {
                assert!(matches!(cancelled_for(codes), Cancelled::Passing(_)), "{codes:?}");
            }
        }
        let duplicate = cancelled_for(["ConditionalCheckFailed", "None"]);
        let Cancelled::Conditions(places) = duplicate else {
            panic!("{duplicate:?}")
        };
        assert_eq!(places.len(), 1);
        assert_eq!(places[0].0, 0, "the event's");
        for codes in [
            ["ValidationError", "None"],
            ["None", "ItemCollectionSizeLimitExceeded"],
        ] {
            assert!(matches!(cancelled_for(codes), Cancelled::Failed(_)), "{codes:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn guregu_dynamo_203_a_conflict_is_tried_again_until_the_deadline() {
        let mut tries = 0;
        let soon = Deadline::after(Duration::from_secs(5));
        let done = retrying(soon, || {
            tries += 1;
            let outcome = match tries {
                3 => Ok("committed"),
                _ => Err(cancelled_for(["TransactionConflict", "None"])),
            };
            async { outcome }
        });
        assert_eq!(done.await.unwrap().unwrap(), "committed");
        assert_eq!(tries, 3);
        let never = retrying(soon, || async {
            Err::<(), _>(cancelled_for(["ThrottlingError", "None"]))
        });
        assert!(
            matches!(never.await, Err(LedgerError::Busy(_))),
            "503, so that Sanity tries again"
        );
    }
}
