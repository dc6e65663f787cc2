//! The environment, read once and checked as a whole.

use ledger::record::Settings as LedgerSettings;
use platform::{ConfigurationError, Environment, SecretPlace};
use sanity::query::Connection;

/// What the operator function is configured with.
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
    /// What new items need to know.
    pub settings: LedgerSettings,
}

impl Configuration {
    /// Reads and checks the environment.
    ///
    /// # Errors
    /// Every problem, all at once.
    pub fn read(mut env: Environment) -> Result<Self, ConfigurationError> {
        let configuration = Self {
            events: env.text("EVENTS_TABLE"),
            outbox: env.text("OUTBOX_TABLE"),
            routes: env.text("ROUTES_TABLE"),
            targets_secret: SecretPlace::read(&mut env, "TARGETS_SECRET_ARN", "LOCAL_TARGETS_SECRET", None),
            sanity: Connection::read(&mut env),
            settings: LedgerSettings::read(&mut env),
        };
        env.finish(configuration)
    }
}
