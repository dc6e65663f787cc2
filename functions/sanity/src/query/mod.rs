//! Content from Sanity's query API: GROQ over HTTP.
//!
//! Always the API and never its CDN, whose answers may be a minute old; always one pinned version, because defaults
//! change with it; always `perspective=published`, in the address also when the query goes by POST (sanity-io/client#255).
//!
//! The client tries once. What comes next (wait and try later, or give up) is in the error's
//! [`QueryError::next_step`]; who calls has other work to do meanwhile.

mod answer;
mod connection;
mod observe;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use platform::{Deadline, Secret, SecretError};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

pub use connection::{Connection, ConnectionError};
pub use observe::{Observed, observe};

/// Addresses from this length on go by POST. Sanity refuses a GET from 11 KB on.
const LONGEST_GET: usize = 11_000;
/// One request takes no longer, however much time the invocation has left.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

type TokenFuture = Pin<Box<dyn Future<Output = Result<Secret, SecretError>> + Send>>;

/// Where the API token comes from: asked for before every request, so that a rotated token is picked up.
#[derive(Clone)]
pub struct Token(Arc<dyn Fn() -> TokenFuture + Send + Sync>);

impl Token {
    /// Always this token. An empty one is the same as [`Token::none`].
    pub fn fixed(token: Secret) -> Self {
        Self::from_fn(move || std::future::ready(Ok(token.clone())))
    }

    /// No token: enough for the published documents of a public dataset, except ids with a dot in them.
    pub fn none() -> Self {
        Self::fixed(Secret::new(""))
    }

    /// Asks `token` each time.
    pub fn from_fn<F, R>(token: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<Secret, SecretError>> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(token())))
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// Where and how to ask.
#[derive(Debug, Clone)]
pub struct QueryConfig {
    /// The base address; `None` is `https://<project>.api.sanity.io`.
    pub api_url: Option<String>,
    /// The project's id.
    pub project: String,
    /// The API version, `vYYYY-MM-DD`, not before v2025-02-19 (the first with content releases).
    pub version: String,
    /// The API token.
    pub token: Token,
}

/// A configuration that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryConfigError {
    /// The project's id is not one.
    #[error("the Sanity project id may hold only a-z, 0-9 and -")]
    Project,
    /// The version is not pinned, or too old.
    #[error("the Sanity API version must be a date like v2025-02-19, and not an earlier one")]
    Version,
    /// The address is the CDN's.
    #[error("the Sanity API address must not be the CDN (apicdn): its answers may be old")]
    Cdn,
}

/// Why a query has no answer. The texts come from the API or from here; none holds the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Too many requests.
    #[error("the Sanity API asks to slow down")]
    Throttled {
        /// How long the API asks to wait.
        retry_after: Option<Duration>,
    },
    /// No answer, not in time, or not the API's: the network, an outage, a proxy's page, no token to be had.
    #[error("the Sanity API is not available: {what}")]
    Unavailable {
        /// What happened.
        what: String,
        /// How long the API asks to wait.
        retry_after: Option<Duration>,
    },
    /// 401, 402, 403, 404: the token was rotated or has no right, a quota is used up, project or dataset moved.
    #[error("the Sanity API refused ({status}): {what}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The API's message.
        what: String,
    },
    /// The query itself, or the shape of what it returns, is wrong. Asking again changes nothing.
    #[error("the Sanity API cannot answer this query: {what}")]
    Invalid {
        /// The API's message, or what does not fit.
        what: String,
    },
}

/// What follows from a failed query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Put it off: it may work later, and every other query to this API would fail now too.
    Defer {
        /// Not before this has passed, if the API said so.
        after: Option<Duration>,
    },
    /// Give up: a person must mend something.
    Fail,
}

impl QueryError {
    /// How long the API asks to wait. None as well where asking again changes nothing: a query that cannot be answered is mended
    /// by a deployment.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.next_step() {
            NextStep::Defer { after } => after,
            NextStep::Fail => None,
        }
    }

    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        match self {
            Self::Throttled { retry_after } | Self::Unavailable { retry_after, .. } => {
                NextStep::Defer { after: *retry_after }
            }
            Self::Refused { .. } => NextStep::Defer { after: None },
            Self::Invalid { .. } => NextStep::Fail,
        }
    }

    fn unavailable(what: impl Into<String>) -> Self {
        Self::Unavailable {
            what: what.into(),
            retry_after: None,
        }
    }
}

/// An HTTP client as this API needs it: no redirects (they would carry the query elsewhere), a short time to connect.
///
/// # Errors
/// The system's certificates cannot be read.
pub fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(3))
        .user_agent(concat!("cascata/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Asks queries of one project. Clones share connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Token,
}

impl Client {
    /// A client; `http` should be made by [`http_client`].
    ///
    /// # Errors
    /// The configuration cannot be right.
    pub fn new(http: reqwest::Client, config: QueryConfig) -> Result<Self, QueryConfigError> {
        let QueryConfig {
            api_url,
            project,
            version,
            token,
        } = config;
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if project.is_empty() || !project.bytes().all(is_name) {
            return Err(QueryConfigError::Project);
        }
        if !is_pinned(&version) {
            return Err(QueryConfigError::Version);
        }
        let api = api_url.unwrap_or_else(|| format!("https://{project}.api.sanity.io"));
        if api.to_ascii_lowercase().contains("apicdn.") {
            return Err(QueryConfigError::Cdn);
        }
        Ok(Self {
            http,
            base: format!("{}/{version}/data/query", api.trim_end_matches('/')),
            token,
        })
    }

    /// Asks `groq` of `dataset`, with parameters (names without `$`), and reads its result.
    ///
    /// # Errors
    /// See [`QueryError`]. Past the deadline it is [`QueryError::Unavailable`].
    pub async fn query<T: DeserializeOwned>(
        &self,
        dataset: &str,
        groq: &str,
        params: Map<String, Value>,
        deadline: Deadline,
    ) -> Result<T, QueryError> {
        let ask = async {
            let request = self.request(dataset, groq, params).await?;
            let sent = self.http.execute(request).await;
            answer::read(sent.map_err(|error| QueryError::unavailable(describe(&error)))?).await
        };
        let deadline = deadline.capped(REQUEST_TIMEOUT);
        deadline
            .bound(ask)
            .await
            .map_err(|_| QueryError::unavailable("no answer in time"))?
    }

    async fn request(
        &self,
        dataset: &str,
        groq: &str,
        params: Map<String, Value>,
    ) -> Result<reqwest::Request, QueryError> {
        if !is_dataset(dataset) {
            return Err(QueryError::Invalid {
                what: "this is no name of a dataset".into(),
            });
        }
        let address = format!("{}/{dataset}", self.base);
        let fixed = [("perspective", "published"), ("returnQuery", "false")];
        let mut pairs: Vec<(String, String)> = vec![("query".into(), groq.into())];
        pairs.extend(
            params
                .iter()
                .map(|(name, value)| (format!("${name}"), value.to_string())),
        );
        let get = self.http.get(&address).query(&pairs).query(&fixed).build();
        let built = match get {
            Ok(request) if request.url().as_str().len() >= LONGEST_GET => {
                let body = json!({"query": groq, "params": params});
                self.http.post(&address).query(&fixed).json(&body).build()
            }
            built => built,
        };
        let mut request = built.map_err(|error| QueryError::Invalid {
            what: describe(&error),
        })?;
        let token = (self.token.0)()
            .await
            .map_err(|error| QueryError::unavailable(error.to_string()))?;
        if !token.is_empty() {
            let mut bearer = HeaderValue::try_from(format!("Bearer {}", token.expose().trim()))
                .map_err(|_| QueryError::unavailable("the token cannot be sent in a header"))?;
            bearer.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, bearer);
        }
        Ok(request)
    }
}

/// reqwest's kinds of failure without its addresses, which hold the whole query.
fn describe(error: &reqwest::Error) -> String {
    let kind = if error.is_timeout() {
        "timeout"
    } else if error.is_connect() {
        "no connection"
    } else if error.is_builder() {
        "the address or the query cannot be sent"
    } else {
        "the connection broke"
    };
    kind.to_owned()
}

fn is_pinned(version: &str) -> bool {
    let form = version
        .bytes()
        .zip(*b"v0000-00-00")
        .all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            other => byte == other,
        });
    form && version.len() == 11 && version >= "v2025-02-19"
}

/// Sanity's names of datasets, so that none can reach out of its place in the address.
fn is_dataset(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_~".contains(&byte);
    !name.is_empty() && name.len() <= 128 && name.bytes().all(fits)
}
