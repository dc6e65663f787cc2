//! Where a function's secret is, of its environment.

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
    },
    /// In variables that only `sam local` honours.
    Local(FixedSecrets),
}

impl SecretPlace {
    /// Reads where the secret is: `arn` names the variable with its ARN, `local` the one that holds it under `sam local`, and
    /// `local_previous` the same for the version before.
    pub fn read(env: &mut Environment, arn: &str, local: &str, local_previous: Option<&str>) -> Self {
        let previous = local_previous.and_then(|name| env.local_secret(name));
        match env.local_secret(local) {
            Some(current) => Self::Local(FixedSecrets { current, previous }),
            None => Self::Manager { arn: env.text(arn) },
        }
    }

    /// The secret behind a cache. `client` is used only for a secret in Secrets Manager.
    pub fn open(self, client: Client) -> SecretCache<SecretOrigin> {
        let origin = match self {
            Self::Manager { arn } => SecretOrigin::Manager(SecretsManager::new(client, arn)),
            Self::Local(secrets) => SecretOrigin::Fixed(secrets),
        };
        SecretCache::with_source(origin, DEFAULT_TTL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (SecretPlace, usize) {
        let mut env = Environment::from_map(variables.iter().copied());
        let place = SecretPlace::read(&mut env, "ARN", "LOCAL", Some("LOCAL_PREVIOUS"));
        let problems = env.finish(()).map_or_else(|error| error.problems.len(), |()| 0);
        (place, problems)
    }

    #[test]
    fn a_local_secret_counts_only_under_sam_local() {
        let local = [
            ("ARN", "arn"),
            ("LOCAL", "hunter2"),
            ("LOCAL_PREVIOUS", "hunter1"),
        ];
        let (place, problems) = read(&local);
        assert!(matches!(&place, SecretPlace::Manager { arn } if arn == "arn") && problems == 0);
        let mut under_sam = local.to_vec();
        under_sam[0] = ("AWS_SAM_LOCAL", "true");
        let (place, problems) = read(&under_sam);
        assert!(!format!("{place:?}").contains("hunter"));
        let SecretPlace::Local(secrets) = place else {
            panic!("not local")
        };
        assert_eq!((secrets.current.expose(), problems), ("hunter2", 0));
        assert!(secrets.previous.is_some());
    }

    #[test]
    fn without_either_the_arn_is_missing() {
        assert_eq!(read(&[("AWS_SAM_LOCAL", "true")]).1, 1);
    }
}
