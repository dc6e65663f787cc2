//! The environment, read once and checked as a whole.

mod storefronts;

use std::time::Duration;

use ledger::{fence::FenceTimes, record::Settings as LedgerSettings};
use platform::{ConfigurationError, Environment, SecretPlace};
use purge::BreakerConfig;
use sanity::query::Connection;

pub use storefronts::StorefrontSettings;

use crate::settings::Settings;

/// What the consumer is configured with.
#[derive(Debug)]
pub struct Configuration {
    /// Name of the events table.
    pub events: String,
    /// Name of the outbox table.
    pub outbox: String,
    /// Name of the routes table.
    pub routes: String,
    /// The targets' secret; it holds the API token as well.
    pub targets_secret: SecretPlace,
    /// Sanity's query API.
    pub sanity: Connection,
    /// Stellate's purging API; none switches it off.
    pub stellate_url: Option<String>,
    /// Soft purge.
    pub stellate_soft: bool,
    /// The storefronts; none switches the layer off.
    pub storefronts: Vec<StorefrontSettings>,
    /// Times and bounds.
    pub settings: Settings,
}

impl Configuration {
    /// Reads and checks the environment.
    ///
    /// # Errors
    /// Every problem, all at once.
    pub fn read(mut env: Environment) -> Result<Self, ConfigurationError> {
        let seconds =
            |env: &mut Environment, name: &str| Duration::from_secs(env.number::<u64>(name, 0..=86_400));
        let settings = Settings {
            fence: FenceTimes {
                tie: seconds(&mut env, "FENCE_TIE_SECONDS"),
                trust: seconds(&mut env, "FENCE_TRUST_SECONDS"),
            },
            fence_bound: Duration::from_secs(env.number("FENCE_BOUND_SECONDS", 0..=45)),
            fence_poll: Duration::from_millis(env.number("FENCE_POLL_MILLISECONDS", 50..=10_000)),
            recheck_seconds: env.number("RECHECK_SECONDS", 1..=86_400),
            repeat_young: seconds(&mut env, "REPEAT_YOUNG_SECONDS"),
            repeat_outer_layers: env.flag("REPEAT_OUTER_LAYERS"),
            defer_first_seconds: env.number("DEFER_FIRST_SECONDS", 1..=3600),
            defer_max_seconds: env.number("DEFER_MAX_SECONDS", 1..=86_400),
            breaker: BreakerConfig {
                failures: env.number("BREAKER_FAILURES", 1..=1000),
                open_seconds: env.number("BREAKER_OPEN_SECONDS", 1..=3600),
                longest_pause_seconds: 900,
            },
            ..Settings::new(LedgerSettings::read(&mut env))
        };
        let configuration = Self {
            events: env.text("EVENTS_TABLE"),
            outbox: env.text("OUTBOX_TABLE"),
            routes: env.text("ROUTES_TABLE"),
            targets_secret: SecretPlace::read(&mut env, "TARGETS_SECRET_ARN", "LOCAL_TARGETS_SECRET", None),
            sanity: Connection::read(&mut env),
            stellate_url: env.optional_url("STELLATE_URL"),
            stellate_soft: env.flag("STELLATE_SOFT_PURGE"),
            storefronts: storefronts::read(&mut env),
            settings,
        };
        env.finish(configuration)
    }
}
