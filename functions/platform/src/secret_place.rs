//! Where a function's secret is, of its environment.

use std::time::Duration;

use aws_sdk_secretsmanager::Client;

use crate::{
    Environment,
    secret_cache::{DEFAULT_TTL, FixedSecrets, SecretCache, SecretOrigin, SecretsManager},
};

/// Where a secret is.
#[derive(Debug, Clone)]
pub enum SecretPlace {
    /// In Secrets Manager.
    Manager {
        /// The secret's ARN.
        arn: String,
        /// How long after a rotation the version before is accepted; none where only the current one is asked for.
        previous_for: Option<Duration>,
    },
    /// In variables that only `sam local` honours.
    Local(FixedSecrets),
}

/// Of a secret whose previous version is accepted for a while: the variables that say how.
#[derive(Debug, Clone, Copy)]
pub struct Rotation {
    /// How long after a rotation the version before is accepted, in hours, 1 to 8760.
    pub hours: &'static str,
    /// Holds the version before under `sam local`.
    pub local_previous: &'static str,
}

impl SecretPlace {
    /// Reads where the secret is: `arn` names the variable with its ARN, `local` the one that holds it under `sam local`.
    pub fn read(env: &mut Environment, arn: &str, local: &str, rotation: Option<Rotation>) -> Self {
        if let Some(current) = env.local_secret(local) {
            let previous = rotation.and_then(|rotation| env.local_secret(rotation.local_previous));
            return Self::Local(FixedSecrets { current, previous });
        }
        let arn = env.text(arn);
        let hours = rotation.map(|rotation| env.number::<u64>(rotation.hours, 1..=8760));
        Self::Manager {
            arn,
            previous_for: hours.map(|hours| Duration::from_secs(3600 * hours)),
        }
    }

    /// The secret behind a cache. `client` is used only for a secret in Secrets Manager.
    pub fn open(self, client: Client) -> SecretCache<SecretOrigin> {
        let origin = match self {
            Self::Manager { arn, previous_for } => {
                let secret = SecretsManager::new(client, arn);
                SecretOrigin::Manager(match previous_for {
                    Some(previous_for) => secret.keeping_previous_for(previous_for),
                    None => secret,
                })
            }
            Self::Local(secrets) => SecretOrigin::Fixed(secrets),
        };
        SecretCache::with_source(origin, DEFAULT_TTL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: [(&str, &str); 2] = [("LOCAL", "hunter2"), ("LOCAL_PREVIOUS", "hunter1")];

    fn read(variables: &[(&str, &str)]) -> (SecretPlace, usize) {
        let mut env = Environment::from_map(variables.iter().copied().chain(LOCAL));
        let rotation = Rotation {
            hours: "HOURS",
            local_previous: "LOCAL_PREVIOUS",
        };
        let place = SecretPlace::read(&mut env, "ARN", "LOCAL", Some(rotation));
        let problems = env.finish(()).map_or_else(|error| error.problems.len(), |()| 0);
        (place, problems)
    }

    #[test]
    fn a_local_secret_counts_only_under_sam_local() {
        let (place, problems) = read(&[("AWS_SAM_LOCAL", "true")]);
        assert!(!format!("{place:?}").contains("hunter"));
        let SecretPlace::Local(secrets) = place else {
            panic!("not local")
        };
        assert_eq!((secrets.current.expose(), problems), ("hunter2", 0));
        assert!(secrets.previous.is_some());
    }

    #[test]
    fn elsewhere_the_arn_and_the_hours_are_needed() {
        let (place, problems) = read(&[("ARN", "arn"), ("HOURS", "2")]);
        let SecretPlace::Manager { arn, previous_for } = place else {
            panic!("local")
        };
        let two_hours = Some(Duration::from_secs(7200));
        assert_eq!((arn.as_str(), previous_for, problems), ("arn", two_hours, 0));
        assert_eq!(read(&[]).1, 2);
    }
}
