//! Where a target's token comes from.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use platform::{Refresh, Secret, SecretCache, SecretError, SecretSource};

/// What asking for a newer token came to.
pub type Renewal = Result<Option<Secret>, SecretError>;

type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A token that may be rotated while we run. White space around it is not part of it.
pub trait TokenSource: Send + Sync {
    /// The token to use now. Never empty: an operator who has not filled it in yet is [`SecretError::Empty`].
    fn current(&self) -> Answer<'_, Result<Secret, SecretError>>;

    /// After the target refused the token: a newer one, or `None` when there is none to be had.
    fn renewed(&self) -> Answer<'_, Renewal>;
}

/// A token that never changes: for tests and local runs.
impl TokenSource for Secret {
    fn current(&self) -> Answer<'_, Result<Secret, SecretError>> {
        Box::pin(async { checked(self.expose()) })
    }

    fn renewed(&self) -> Answer<'_, Renewal> {
        Box::pin(async { Ok(None) })
    }
}

/// One field of the targets' secret, a JSON object of texts in Secrets Manager.
#[derive(Debug)]
pub struct SecretField<S> {
    cache: Arc<SecretCache<S>>,
    field: String,
}

impl<S> SecretField<S> {
    /// The field `field`, e.g. `stellate_token`.
    pub fn new(cache: Arc<SecretCache<S>>, field: impl Into<String>) -> Self {
        Self {
            cache,
            field: field.into(),
        }
    }
}

impl<S: SecretSource> TokenSource for SecretField<S> {
    fn current(&self) -> Answer<'_, Result<Secret, SecretError>> {
        Box::pin(async {
            let fields: BTreeMap<String, serde_json::Value> = self.cache.json().await?;
            match fields.get(&self.field) {
                Some(serde_json::Value::String(token)) => checked(token),
                Some(serde_json::Value::Null) | None => Err(SecretError::Empty),
                Some(_) => Err(SecretError::NotText),
            }
        })
    }

    fn renewed(&self) -> Answer<'_, Renewal> {
        Box::pin(async {
            match self.cache.refresh_early().await? {
                Refresh::Renewed(_) => self.current().await.map(Some),
                Refresh::AlreadyFresh => Ok(None),
            }
        })
    }
}

fn checked(token: &str) -> Result<Secret, SecretError> {
    match token.trim() {
        "" => Err(SecretError::Empty),
        token => Ok(Secret::new(token)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use platform::FixedSecrets;

    use super::*;

    fn field(json: &str, field: &'static str) -> SecretField<FixedSecrets> {
        let source = FixedSecrets {
            current: Secret::new(json),
            previous: None,
        };
        SecretField::new(
            Arc::new(SecretCache::with_source(source, Duration::from_secs(300))),
            field,
        )
    }

    #[tokio::test]
    async fn a_field_is_read_trimmed_and_never_empty() {
        let json = r#"{"stellate_token":" abc\n","storefront_secret":"","sanity_token":7}"#;
        assert_eq!(
            field(json, "stellate_token").current().await.unwrap().expose(),
            "abc"
        );
        assert_eq!(
            field(json, "storefront_secret").current().await,
            Err(SecretError::Empty)
        );
        assert_eq!(field(json, "other").current().await, Err(SecretError::Empty));
        assert_eq!(
            field(json, "sanity_token").current().await,
            Err(SecretError::NotText)
        );
        assert_eq!(field("no", "x").current().await, Err(SecretError::NotJson));
    }

    #[tokio::test]
    async fn a_store_asked_a_moment_ago_has_nothing_newer() {
        let field = field(r#"{"a":"1"}"#, "a");
        field.current().await.unwrap();
        assert_eq!(field.renewed().await, Ok(None));
    }
}
