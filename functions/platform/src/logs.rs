//! JSON log lines on standard output, one an event, as CloudWatch Logs and Lambda's log controls expect them.

use lambda_runtime::tracing::subscriber;
use std::str::FromStr;
use subscriber::filter::LevelFilter;

/// Starts JSON logging for this process; a second call does nothing.
///
/// Every line holds `timestamp`, `level`, `message`, its own fields at the top, and the span of the invocation with
/// its request id. The level comes from `AWS_LAMBDA_LOG_LEVEL` (set by the function's `LoggingConfig`), INFO without.
pub fn init_json() {
    let level = level_from(std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().as_deref());
    let started = subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_target(false)
        .with_ansi(false)
        .with_max_level(level)
        .try_init();
    if started.is_err() {
        tracing::debug!("logging was already started");
    }
}

/// Lambda says `FATAL` where tracing has `ERROR`.
fn level_from(text: Option<&str>) -> LevelFilter {
    match text.map(str::trim) {
        Some(fatal) if fatal.eq_ignore_ascii_case("fatal") => LevelFilter::ERROR,
        Some(level) if !level.is_empty() => LevelFilter::from_str(level).unwrap_or(LevelFilter::INFO),
        _ => LevelFilter::INFO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_follows_lambdas_setting() {
        assert_eq!(level_from(None), LevelFilter::INFO);
        assert_eq!(level_from(Some("")), LevelFilter::INFO);
        assert_eq!(level_from(Some("nonsense")), LevelFilter::INFO);
        assert_eq!(level_from(Some("DEBUG")), LevelFilter::DEBUG);
        assert_eq!(level_from(Some("WARN")), LevelFilter::WARN);
        assert_eq!(level_from(Some("FATAL")), LevelFilter::ERROR);
    }

    #[test]
    fn starting_twice_is_harmless() {
        init_json();
        init_json();
    }
}
