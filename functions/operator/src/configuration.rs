//! The environment, read once and checked as a whole.

use ledger::{identity::MessageGroup, record::Settings as LedgerSettings};
use platform::{ConfigurationError, Environment, Secret};

/// What the operator function is configured with.
#[derive(Debug)]
pub struct Configuration {
    /// Name of the events table.
    pub events: String,
    /// Name of the outbox table.
    pub outbox: String,
    /// Name of the routes table.
    pub routes: String,
    /// The targets' secret in Secrets Manager; it holds the API token.
    pub targets_secret: String,
    /// The same for runs under `sam local`.
    pub local_targets_secret: Option<Secret>,
    /// Base of the query API; none for Sanity's own.
    pub sanity_api_url: Option<String>,
    /// Pinned version of the query API.
    pub sanity_api_version: String,
    /// What new items need to know.
    pub settings: LedgerSettings,
}

impl Configuration {
    /// Reads and checks the environment.
    ///
    /// # Errors
    /// Every problem, all at once.
    pub fn read(mut env: Environment) -> Result<Self, ConfigurationError> {
        let ledger = LedgerSettings {
            stage: env.text("STAGE"),
            project: env.text("SANITY_PROJECT_ID"),
            datasets: env.list("SANITY_DATASETS"),
            message_group: env.choice(
                "MESSAGE_GROUP",
                &[("document", MessageGroup::Document), ("type", MessageGroup::Type)],
            ),
            ready_shards: env.number("READY_SHARDS", 1..=64),
            grace_seconds: env.number("OUTBOX_GRACE_SECONDS", 0..=86_400),
            retention_days: env.number("RETENTION_DAYS", 30..=3650),
        };
        let configuration = Self {
            events: env.text("EVENTS_TABLE"),
            outbox: env.text("OUTBOX_TABLE"),
            routes: env.text("ROUTES_TABLE"),
            targets_secret: env.text("TARGETS_SECRET_ARN"),
            local_targets_secret: env.local_secret("LOCAL_TARGETS_SECRET"),
            sanity_api_url: env.optional_url("SANITY_API_URL"),
            sanity_api_version: env.text("SANITY_API_VERSION"),
            settings: ledger,
        };
        env.finish(configuration)
    }
}
