//! Secrets Manager by the plain SDK client, behind a cache.
//!
//! A refresh that fails must not turn a good sender away: the last good value is served for up to an hour. What it
//! must never do either is make a bad guess look sure: [`SecretCache::refresh_early`] says whether what is cached is
//! known to be fresh, so that a caller who failed to verify something can tell "wrong" from "cannot know".

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use aws_sdk_secretsmanager::error::ProvideErrorMetadata;
use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::clock::{Clock, SystemClock};
use crate::secret::{Secret, SecretError, SecretVersion};

/// How long a cached secret is used before it is read again, unless a caller says otherwise.
pub const DEFAULT_TTL: Duration = Duration::from_secs(300);

/// How long a value is served after its load while the store fails.
const STALE_FOR: Duration = Duration::from_secs(3600);
/// The least time between two reads that no expiry asked for, and between two tries while the store fails.
const EARLY_EVERY: Duration = Duration::from_secs(30);
/// A store that hangs is a store that is down; Lambda's own timeout would answer nobody.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Where secrets come from.
pub trait SecretSource: Send + Sync {
    /// Reads one version. `None` only for a previous version that does not exist.
    fn fetch(
        &self,
        version: SecretVersion,
    ) -> impl Future<Output = Result<Option<Secret>, SecretError>> + Send;
}

/// One secret in Secrets Manager.
#[derive(Debug, Clone)]
pub struct SecretsManager {
    client: aws_sdk_secretsmanager::Client,
    arn: String,
    previous_for: Duration,
    /// When the current version was made, epoch seconds; as the last read of it said.
    rotated_at: Arc<AtomicI64>,
}

impl SecretsManager {
    /// The secret with this ARN (or name). Needs `secretsmanager:GetSecretValue` on it.
    pub fn new(client: aws_sdk_secretsmanager::Client, arn: impl Into<String>) -> Self {
        Self {
            client,
            arn: arn.into(),
            previous_for: Duration::MAX,
            rotated_at: Arc::new(AtomicI64::new(i64::MAX)),
        }
    }

    /// The previous version counts only this long after a rotation: what was given up is not to verify for ever.
    pub fn keeping_previous_for(self, previous_for: Duration) -> Self {
        Self { previous_for, ..self }
    }

    /// Whether the last rotation is so long ago that its previous version is refused. Not said when: it is not.
    fn is_over(&self) -> bool {
        let now = SystemClock.now().unix_timestamp();
        let age = now.saturating_sub(self.rotated_at.load(Ordering::Relaxed));
        u64::try_from(age).is_ok_and(|age| age > self.previous_for.as_secs())
    }
}

impl SecretSource for SecretsManager {
    async fn fetch(&self, version: SecretVersion) -> Result<Option<Secret>, SecretError> {
        if version == SecretVersion::Previous && self.is_over() {
            return Ok(None);
        }
        let request = self
            .client
            .get_secret_value()
            .secret_id(&self.arn)
            .version_stage(version.stage());
        match request.send().await {
            Ok(answer) => {
                if version == SecretVersion::Current {
                    let made = answer.created_date.map_or(i64::MAX, |made| made.secs());
                    self.rotated_at.store(made, Ordering::Relaxed);
                }
                answer
                    .secret_string
                    .map(|text| Some(Secret::new(text)))
                    .ok_or(SecretError::NotText)
            }
            Err(error) => match (classify(error), version) {
                (SecretError::Missing, SecretVersion::Previous) => Ok(None),
                (error, _) => Err(error),
            },
        }
    }
}

fn classify(error: aws_sdk_secretsmanager::error::SdkError<GetSecretValueError>) -> SecretError {
    if let Some(GetSecretValueError::ResourceNotFoundException(_)) = error.as_service_error() {
        return SecretError::Missing;
    }
    match error.code() {
        Some("AccessDeniedException" | "KMSAccessDeniedException" | "DecryptionFailure") => {
            SecretError::Denied
        }
        Some(code) => SecretError::Unavailable(code.to_owned()),
        None => SecretError::Unavailable("no answer".to_owned()),
    }
}

/// Secrets given by hand: for tests and for runs under `sam local`.
#[derive(Debug, Clone)]
pub struct FixedSecrets {
    /// The current version.
    pub current: Secret,
    /// The previous version, if two are to be live.
    pub previous: Option<Secret>,
}

impl SecretSource for FixedSecrets {
    async fn fetch(&self, version: SecretVersion) -> Result<Option<Secret>, SecretError> {
        Ok(match version {
            SecretVersion::Current => Some(self.current.clone()),
            SecretVersion::Previous => self.previous.clone(),
        })
    }
}

/// Either source, chosen when the function starts.
#[derive(Debug, Clone)]
pub enum SecretOrigin {
    /// Secrets Manager.
    Manager(SecretsManager),
    /// Given by hand.
    Fixed(FixedSecrets),
}

impl SecretSource for SecretOrigin {
    async fn fetch(&self, version: SecretVersion) -> Result<Option<Secret>, SecretError> {
        match self {
            Self::Manager(source) => source.fetch(version).await,
            Self::Fixed(source) => source.fetch(version).await,
        }
    }
}

/// What an early refresh found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refresh {
    /// The store was asked just now; these are the live versions, current first.
    Renewed(Vec<(SecretVersion, Secret)>),
    /// The store was asked less than 30 seconds ago and had what is cached.
    AlreadyFresh,
}

/// A cache of one secret's live versions. Callers that come at once wait for one load.
#[derive(Debug)]
pub struct SecretCache<S = SecretsManager> {
    source: S,
    ttl: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    loaded: Option<Loaded>,
    failed: Option<(Instant, SecretError)>,
}

#[derive(Debug, Clone)]
struct Loaded {
    versions: Vec<(SecretVersion, Secret)>,
    at: Instant,
}

impl SecretCache<SecretsManager> {
    /// A cache of the secret with this ARN.
    pub fn new(client: aws_sdk_secretsmanager::Client, arn: impl Into<String>, ttl: Duration) -> Self {
        Self::with_source(SecretsManager::new(client, arn), ttl)
    }
}

impl<S: SecretSource> SecretCache<S> {
    /// A cache over any source.
    pub fn with_source(source: S, ttl: Duration) -> Self {
        Self {
            source,
            ttl,
            state: Mutex::default(),
        }
    }

    /// The live versions, current first: from the cache while it is younger than its TTL, else read anew. When that
    /// fails, the last good value is served for up to an hour after its load.
    ///
    /// # Errors
    /// The secret was never loaded, or not for an hour, and cannot be now.
    pub async fn current_and_previous(&self) -> Result<Vec<(SecretVersion, Secret)>, SecretError> {
        let mut state = self.state.lock().await;
        let now = Instant::now();
        if let Some(loaded) = &state.loaded {
            let age = now - loaded.at;
            let failed_lately = state
                .failed
                .as_ref()
                .is_some_and(|(at, _)| now - *at < EARLY_EVERY);
            if age < self.ttl || (failed_lately && age < STALE_FOR) {
                return Ok(loaded.versions.clone());
            }
        }
        match self.load(&mut state).await {
            Ok(versions) => Ok(versions),
            Err(error) => match &state.loaded {
                Some(loaded) if now - loaded.at < STALE_FOR => {
                    tracing::warn!(%error, "the secret could not be read again; its last value stays in use");
                    Ok(loaded.versions.clone())
                }
                _ => Err(error),
            },
        }
    }

    /// The current version alone; see [`SecretCache::current_and_previous`].
    ///
    /// # Errors
    /// As there.
    pub async fn current(&self) -> Result<Secret, SecretError> {
        let versions = self.current_and_previous().await?;
        versions
            .into_iter()
            .next()
            .map(|(_, secret)| secret)
            .ok_or(SecretError::Missing)
    }

    /// The current version read as JSON.
    ///
    /// # Errors
    /// As [`SecretCache::current_and_previous`], and [`SecretError::NotJson`].
    pub async fn json<T: DeserializeOwned>(&self) -> Result<T, SecretError> {
        // serde's message can quote what it read, so it is dropped.
        serde_json::from_str(self.current().await?.expose()).map_err(|_| SecretError::NotJson)
    }

    /// Asks the store although the cache has not expired, because what is cached did not fit: a rotation may have
    /// gone by. At most once in 30 seconds, or every bad signature would be a call.
    ///
    /// # Errors
    /// The store failed now or less than 30 seconds ago: what is cached may be outdated, and a mismatch proves nothing.
    pub async fn refresh_early(&self) -> Result<Refresh, SecretError> {
        let mut state = self.state.lock().await;
        let now = Instant::now();
        if let Some((at, error)) = &state.failed
            && now - *at < EARLY_EVERY
        {
            return Err(error.clone());
        }
        if let Some(loaded) = &state.loaded
            && now - loaded.at < EARLY_EVERY
        {
            return Ok(Refresh::AlreadyFresh);
        }
        self.load(&mut state).await.map(Refresh::Renewed)
    }

    async fn load(&self, state: &mut State) -> Result<Vec<(SecretVersion, Secret)>, SecretError> {
        let read = tokio::time::timeout(FETCH_TIMEOUT, self.read())
            .await
            .unwrap_or_else(|_| Err(SecretError::Unavailable("timeout".to_owned())));
        let now = Instant::now();
        match read {
            Ok(versions) => {
                state.loaded = Some(Loaded {
                    versions: versions.clone(),
                    at: now,
                });
                state.failed = None;
                Ok(versions)
            }
            Err(error) => {
                state.failed = Some((now, error.clone()));
                Err(error)
            }
        }
    }

    /// A previous version that exists but cannot be read fails the whole: without it a sender who still signs with
    /// it would be refused for good.
    async fn read(&self) -> Result<Vec<(SecretVersion, Secret)>, SecretError> {
        let current = self
            .source
            .fetch(SecretVersion::Current)
            .await?
            .ok_or(SecretError::Missing)?;
        if current.is_empty() {
            return Err(SecretError::Empty);
        }
        let previous = match self.source.fetch(SecretVersion::Previous).await {
            Ok(previous) => previous.filter(|secret| !secret.is_empty() && *secret != current),
            Err(SecretError::NotText) => None,
            Err(error) => return Err(error),
        };
        let mut versions = vec![(SecretVersion::Current, current)];
        versions.extend(previous.map(|secret| (SecretVersion::Previous, secret)));
        Ok(versions)
    }
}
