//! What every function of Cascata needs before it can do its own work: configuration read once and checked as a
//! whole, secrets that are cached and never printed, metrics, logs, a clock and a deadline.
//!
//! Nothing in here knows what a webhook, an event or a purge is.

pub mod clock;
pub mod deadline;
pub mod environment;
#[cfg(feature = "fault-points")]
pub mod fault;
pub mod logs;
pub mod metrics;
pub mod secret;
pub mod secret_cache;

pub use clock::{Clock, ManualClock, SystemClock};
pub use deadline::{Deadline, DeadlineReached};
pub use environment::{ConfigurationError, Environment};
pub use metrics::Metrics;
pub use secret::{Secret, SecretError, SecretVersion};
pub use secret_cache::{FixedSecrets, Refresh, SecretCache, SecretOrigin, SecretSource, SecretsManager};

/// A named place at which a test may end the work or the process, see `platform::fault`. The name may hold values, as in
/// [`format!`]. Without the feature `fault-points` this compiles to nothing.
#[cfg(feature = "fault-points")]
#[macro_export]
macro_rules! fault_point {
    ($($name:tt)+) => { $crate::fault::reach(format!($($name)+)).await };
}

/// A named place at which a test may end the work or the process. Without the feature `fault-points` it is nothing.
#[cfg(not(feature = "fault-points"))]
#[macro_export]
macro_rules! fault_point {
    ($($name:tt)+) => {};
}
