//! A Next.js storefront with a revalidation route: `POST {base}/api/revalidate {"slugs":[...]}`.
//!
//! The routes to copy into a storefront are in this crate's directory `storefront/`. They answer with one result a slug; a route
//! that only says `{"revalidated":true}` works too, at the cost of more requests when something fails.

mod answer;
mod path;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ledger::plan::{Key, Layer};
use platform::{Deadline, Secret};
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName};
use reqwest::{Client, RequestBuilder, Url};
use serde::Deserialize;
use serde_json::json;

pub use path::{Encode, LONGEST_PATH, PathRules, TrailingSlash};

use crate::Reason;
use crate::drive::{Wire, drive};
use crate::http::{self, ConfigurationProblem, sensitive};
use crate::session::{Session, report};
use crate::target::{Outage, PurgeReport, Target};
use crate::token::TokenSource;
use crate::work::{Answer, Batch, Finished, Limits, Work};

/// Where the secret is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretIn {
    /// `authorization: Bearer <secret>`.
    #[default]
    Header,
    /// The query parameter `secret`. It ends up in the access logs of whatever stands between.
    Query,
}

/// One storefront.
#[derive(Debug, Clone)]
pub struct StorefrontConfig {
    /// Its name; unique, since the breaker goes by it.
    pub name: String,
    /// Where it is, e.g. `https://shop.example`, with a base path if it has one.
    pub base_url: String,
    /// The route below the base.
    pub route: String,
    /// Where the secret is sent.
    pub secret_in: SecretIn,
    /// Paths a request. Each may be a full render within the route's own time limit.
    pub batch_size: usize,
    /// Requests at the same time.
    pub concurrency: usize,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// Requests beyond one a batch that a single purge may spend on telling paths apart.
    pub extra_requests: usize,
    /// From slug to path.
    pub paths: PathRules,
}

impl StorefrontConfig {
    /// The defaults for an address.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            name: "storefront".to_owned(),
            base_url: base_url.into(),
            route: "/api/revalidate".to_owned(),
            secret_in: SecretIn::Header,
            batch_size: 10,
            concurrency: 2,
            request_timeout: Duration::from_secs(20),
            extra_requests: 64,
            paths: PathRules::default(),
        }
    }
}

/// A storefront as a target.
pub struct Storefront {
    config: StorefrontConfig,
    endpoint: Url,
    headers: Vec<(HeaderName, Arc<dyn TokenSource>)>,
    secret: Arc<dyn TokenSource>,
    client: Client,
}

impl fmt::Debug for Storefront {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storefront")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Storefront {
    /// Checks the configuration.
    ///
    /// # Errors
    /// The address is none.
    pub fn new(
        config: StorefrontConfig,
        secret: impl TokenSource + 'static,
    ) -> Result<Self, ConfigurationProblem> {
        let mut endpoint = http::address(&config.base_url, "the address of the storefront")?;
        let base = endpoint.path().trim_end_matches('/').to_owned();
        endpoint.set_path(&format!("{base}/{}", config.route.trim_start_matches('/')));
        Ok(Self {
            endpoint,
            headers: Vec::new(),
            secret: Arc::new(secret),
            client: http::client()?,
            config,
        })
    }

    /// Sends a header along, e.g. `x-vercel-protection-bypass` for a protected deployment. Its value is read anew for each
    /// purge, as the secret is.
    ///
    /// # Errors
    /// No header can have this name, or it is one that is sent anyway.
    pub fn with_header(
        mut self,
        name: &str,
        value: impl TokenSource + 'static,
    ) -> Result<Self, ConfigurationProblem> {
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
        let parsed =
            parsed.filter(|name| ![AUTHORIZATION, CONTENT_TYPE, HOST, CONTENT_LENGTH].contains(name));
        let parsed = parsed.ok_or_else(|| ConfigurationProblem::Header(name.to_owned()))?;
        self.headers.push((parsed, Arc::new(value)));
        Ok(self)
    }

    /// The values of the headers sent along.
    async fn values(&self) -> Result<Vec<Secret>, Outage> {
        let mut values = Vec::with_capacity(self.headers.len());
        for (name, value) in &self.headers {
            let value = value.current().await.map_err(|error| Outage {
                retry_after: None,
                what: Reason::new(format!("the value of header {name} cannot be read: {error}")),
            })?;
            values.push(value);
        }
        Ok(values)
    }

    async fn session<'a>(&'a self, values: &'a [Secret], deadline: Deadline) -> Result<Session<'a>, Outage> {
        let limit = self.config.request_timeout;
        let others = values.iter().collect();
        Session::open(&*self.secret, others, &self.endpoint, limit, deadline).await
    }

    fn request(&self, secret: &Secret, values: &[Secret]) -> Option<RequestBuilder> {
        let mut endpoint = self.endpoint.clone();
        let mut headers = HeaderMap::new();
        for ((name, _), value) in self.headers.iter().zip(values) {
            headers.insert(name, sensitive(value.expose())?);
        }
        match self.config.secret_in {
            SecretIn::Header => {
                headers.insert(AUTHORIZATION, sensitive(&format!("Bearer {}", secret.expose()))?);
            }
            SecretIn::Query => {
                endpoint.query_pairs_mut().append_pair("secret", secret.expose());
            }
        }
        Some(
            self.client
                .post(endpoint)
                .headers(headers)
                .header(CONTENT_TYPE, "application/json"),
        )
    }
}

impl Target for Storefront {
    fn layer(&self) -> Layer {
        Layer::Storefront
    }

    fn name(&self) -> &str {
        &self.config.name
    }

    async fn purge(&self, keys: &[Key], deadline: Deadline) -> PurgeReport {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut units: Vec<String> = Vec::new();
        let units_of: Vec<Result<Vec<usize>, Reason>> = keys
            .iter()
            .map(|key| match key {
                Key::Slug { slug } => self.config.paths.paths(slug).map(|paths| {
                    paths
                        .into_iter()
                        .map(|path| {
                            *places.entry(path).or_insert_with_key(|path| {
                                units.push(path.clone());
                                units.len() - 1
                            })
                        })
                        .collect()
                }),
                Key::Object { .. } => Err(Reason::new("a storefront knows slugs, not objects")),
            })
            .collect();

        let values = if units.is_empty() {
            Ok(vec![])
        } else {
            self.values().await
        };
        let (finished, calls) = match (units.len(), &values) {
            (0, _) => (Finished::default(), 0),
            (count, Err(outage)) => (Finished::out(count, outage.clone()), 0),
            (count, Ok(values)) => match self.session(values, deadline).await {
                Err(outage) => (Finished::out(count, outage), 0),
                Ok(session) => {
                    let limits = Limits {
                        batch: self.config.batch_size,
                        apart: 1,
                        extra_requests: self.config.extra_requests,
                    };
                    let wire = Revalidations {
                        storefront: self,
                        session: &session,
                        values,
                        paths: &units,
                    };
                    let finished =
                        drive(&wire, Work::new(count, limits), self.config.concurrency, deadline).await;
                    (finished, session.calls())
                }
            },
        };
        report(keys, units_of, &finished, calls)
    }
}

struct Revalidations<'a> {
    storefront: &'a Storefront,
    session: &'a Session<'a>,
    values: &'a [Secret],
    paths: &'a [String],
}

impl Wire for Revalidations<'_> {
    async fn send(&self, batch: &Batch) -> Answer {
        let paths: Vec<&str> = batch
            .units
            .iter()
            .filter_map(|unit| self.paths.get(*unit))
            .map(String::as_str)
            .collect();
        let body = json!({ "slugs": paths }).to_string();
        let answer = self
            .session
            .post(|secret| Some(self.storefront.request(secret, self.values)?.body(body.clone())))
            .await;
        match answer {
            Ok(body) => answer::read(&body, &paths, &|ours, theirs| self.session.quote(ours, theirs)),
            Err(answer) => answer,
        }
    }
}
