//! The environment, read once and checked as a whole.

use ledger::record::Settings as LedgerSettings;
use platform::{ConfigurationError, Environment, SecretPlace};
use sanity::query::Connection;

use crate::settings::Settings;

/// What reconcile is configured with.
#[derive(Debug)]
pub struct Configuration {
    /// Name of the events table.
    pub events: String,
    /// Name of the outbox table.
    pub outbox: String,
    /// Name of the routes table.
    pub routes: String,
    /// The targets' secret; it holds the API token.
    pub targets_secret: SecretPlace,
    /// Sanity's query API.
    pub sanity: Connection,
    /// Times and bounds.
    pub settings: Settings,
}

impl Configuration {
    /// Reads and checks the environment.
    ///
    /// # Errors
    /// Every problem, all at once.
    pub fn read(mut env: Environment) -> Result<Self, ConfigurationError> {
        let settings = Settings {
            overlap_seconds: env.number("RECONCILE_OVERLAP_SECONDS", 0..=86_400),
            sweep_every_seconds: env.number::<i64>("SWEEP_HOURS", 1..=720) * 3600,
            ..Settings::new(LedgerSettings::read(&mut env))
        };
        let configuration = Self {
            events: env.text("EVENTS_TABLE"),
            outbox: env.text("OUTBOX_TABLE"),
            routes: env.text("ROUTES_TABLE"),
            targets_secret: SecretPlace::read(&mut env, "TARGETS_SECRET_ARN", "LOCAL_TARGETS_SECRET", None),
            sanity: Connection::read(&mut env),
            settings,
        };
        env.finish(configuration)
    }
}
