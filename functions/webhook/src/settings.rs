//! The function's configuration.

use std::time::Duration;

use ledger::record;
use platform::{ConfigurationError, Environment, SecretPlace, secret_place::Rotation};

/// Everything that the environment decides.
#[derive(Debug)]
pub struct Settings {
    /// Table of the events.
    pub events_table: String,
    /// Table of the outbox.
    pub outbox_table: String,
    /// Where the secret is.
    pub secret: SecretPlace,
    /// The oldest signature accepted; `None` accepts any.
    pub signature_max_age: Option<Duration>,
    /// What an event is recorded with.
    pub ledger: record::Settings,
}

impl Settings {
    /// Reads and checks the environment.
    ///
    /// # Errors
    /// Every problem at once.
    pub fn read(mut env: Environment) -> Result<Self, ConfigurationError> {
        let rotation = Rotation {
            hours: "ROTATION_HOURS",
            local_previous: "LOCAL_PREVIOUS_WEBHOOK_SECRET",
        };
        let secret = SecretPlace::read(
            &mut env,
            "WEBHOOK_SECRET_ARN",
            "LOCAL_WEBHOOK_SECRET",
            Some(rotation),
        );
        // Sanity retries for about 30 minutes, and whether it signs each retry anew is not documented.
        let max_age = env.zero_or_number("SIGNATURE_MAX_AGE_SECONDS", 2100..=999_999);
        let settings = Self {
            events_table: env.text("EVENTS_TABLE"),
            outbox_table: env.text("OUTBOX_TABLE"),
            secret,
            signature_max_age: (max_age > 0).then(|| Duration::from_secs(max_age)),
            ledger: record::Settings::read(&mut env),
        };
        env.finish(settings)
    }
}

#[cfg(test)]
mod tests {
    use ledger::identity::MessageGroup;

    use super::*;

    const COMPLETE: [(&str, &str); 13] = [
        ("STAGE", "prod"),
        ("EVENTS_TABLE", "events"),
        ("OUTBOX_TABLE", "outbox"),
        ("WEBHOOK_SECRET_ARN", "arn"),
        ("SANITY_PROJECT_ID", "abc123"),
        ("SANITY_DATASETS", "production,staging"),
        ("MESSAGE_GROUP", "type"),
        ("READY_SHARDS", "4"),
        ("OUTBOX_GRACE_SECONDS", "1500"),
        ("RETENTION_DAYS", "90"),
        ("SIGNATURE_MAX_AGE_SECONDS", "0"),
        ("ROTATION_HOURS", "24"),
        ("LOCAL_WEBHOOK_SECRET", ""),
    ];

    fn with(changes: &[(&str, &str)]) -> Result<Settings, ConfigurationError> {
        Settings::read(Environment::from_map(
            COMPLETE.into_iter().chain(changes.iter().copied()),
        ))
    }

    #[test]
    fn the_templates_variables_are_enough() {
        let settings = with(&[]).unwrap();
        assert_eq!(settings.signature_max_age, None);
        assert_eq!(settings.ledger.datasets, ["production", "staging"]);
        assert_eq!(settings.ledger.message_group, MessageGroup::Type);
        assert!(matches!(settings.secret, SecretPlace::Manager { arn, .. } if arn == "arn"));
    }

    #[test]
    fn nothing_set_reports_everything() {
        let error = Settings::read(Environment::from_map([("", ""); 0])).unwrap_err();
        assert_eq!(
            error.problems.len(),
            COMPLETE.len() - 1,
            "all but the local secret: {error}"
        );
    }

    #[test]
    fn a_window_shorter_than_the_retries_is_refused() {
        for (seconds, good) in [
            ("2099", false),
            ("60", false),
            ("-1", false),
            ("2100", true),
            ("86400", true),
        ] {
            assert_eq!(
                with(&[("SIGNATURE_MAX_AGE_SECONDS", seconds)]).is_ok(),
                good,
                "{seconds}"
            );
        }
    }
}
