//! The query API as a deployed function reaches it.

use std::{collections::BTreeMap, sync::Arc};

use platform::{Environment, Secret, SecretCache, SecretSource};

use super::{Client, QueryConfig, QueryConfigError, Token, http_client};

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The configuration cannot be right.
    #[error(transparent)]
    Configuration(#[from] QueryConfigError),
    /// The system's certificates cannot be read.
    #[error("no HTTP client: {0}")]
    Http(#[from] reqwest::Error),
}

/// How a function reaches the query API, of its environment.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Base of the query API; none for Sanity's own.
    pub api_url: Option<String>,
    /// Pinned version of the query API.
    pub version: String,
}

impl Connection {
    /// Reads `SANITY_API_URL` and `SANITY_API_VERSION`.
    pub fn read(env: &mut Environment) -> Self {
        Self {
            api_url: env.optional_url("SANITY_API_URL"),
            version: env.text("SANITY_API_VERSION"),
        }
    }

    /// A client of `project`; its token is the field `sanity_token` of the targets' secret, asked for with each query.
    ///
    /// # Errors
    /// See [`ConnectionError`].
    pub fn open<S: SecretSource + 'static>(
        self,
        project: &str,
        secrets: Arc<SecretCache<S>>,
    ) -> Result<Client, ConnectionError> {
        let token = Token::from_fn(move || {
            let secrets = secrets.clone();
            async move {
                let fields: BTreeMap<String, String> = secrets.json().await?;
                let token = fields.get("sanity_token").map_or("", |token| token.trim());
                Ok(Secret::new(token))
            }
        });
        let config = QueryConfig {
            api_url: self.api_url,
            project: project.to_owned(),
            version: self.version,
            token,
        };
        Ok(Client::new(http_client()?, config)?)
    }
}
