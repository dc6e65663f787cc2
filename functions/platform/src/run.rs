//! The outermost frame of a function's process.

use std::{future::Future, pin::Pin, process::ExitCode};

/// What a function does once logging has started; boxed, since a runtime's future is too deep to be held by value.
pub type Work = Pin<Box<dyn Future<Output = Result<(), lambda_runtime::Error>>>>;

/// Starts logging, then runs a function until its runtime ends it.
///
/// What keeps it from running is logged as its `Display`, which says what to mend; `main` returning the error would print its
/// `Debug`.
pub async fn run(function: &str, work: Work) -> ExitCode {
    crate::logs::init_json();
    match work.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(function, %error, "the function cannot run");
            ExitCode::FAILURE
        }
    }
}
