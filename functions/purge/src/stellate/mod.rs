//! Stellate's purging API: a GraphQL mutation to `https://admin.stellate.co/<service>`.
//!
//! Only cached *documents* are purged: an answer that does not contain an object is not tagged by it. So a new entry of a list is
//! seen through the objects that the list page depends on.

mod answer;
mod request;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ledger::plan::{Key, Layer};
use platform::Deadline;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Url};

use crate::Reason;
use crate::drive::{Wire, drive};
use crate::http::{self, ConfigurationProblem, sensitive};
use crate::session::{Session, report};
use crate::target::{PurgeReport, Target};
use crate::token::TokenSource;
use crate::work::{Answer, Batch, Finished, Limits, Work};
use request::{Item, Mutation, is_graphql_name};

/// How to reach Stellate and what to purge there.
#[derive(Debug, Clone)]
pub struct StellateConfig {
    /// `https://admin.stellate.co/<service>`.
    pub url: String,
    /// Mark as stale and refresh behind the next visitor, instead of dropping. Stale answers are then served once more, and the
    /// layers outside may refill from them: off unless the origin cannot bear the load.
    pub soft: bool,
    /// Keys a request. Stellate publishes no limit.
    pub batch_size: usize,
    /// Requests at the same time.
    pub concurrency: usize,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// Requests beyond one a batch that a single purge may spend on telling keys apart.
    pub extra_requests: usize,
    /// The type that answers which page belongs to a slug.
    pub routing_type: String,
    /// Its key field.
    pub routing_field: String,
    /// The key field of every other type.
    pub id_field: String,
}

impl StellateConfig {
    /// The defaults for a service's address.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            soft: false,
            batch_size: 100,
            concurrency: 2,
            request_timeout: Duration::from_secs(5),
            extra_requests: 64,
            routing_type: "Routing".to_owned(),
            routing_field: "slug".to_owned(),
            id_field: "_id".to_owned(),
        }
    }
}

/// Stellate as a target.
pub struct Stellate {
    config: StellateConfig,
    endpoint: Url,
    token: Arc<dyn TokenSource>,
    client: Client,
}

impl fmt::Debug for Stellate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stellate")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Stellate {
    /// Checks the configuration. The token is sent as the header `stellate-token`.
    ///
    /// # Errors
    /// The address is none, or the routing type is no GraphQL name.
    pub fn new(
        config: StellateConfig,
        token: impl TokenSource + 'static,
    ) -> Result<Self, ConfigurationProblem> {
        let endpoint = http::address(&config.url, "the address of Stellate")?;
        if !is_graphql_name(&config.routing_type) {
            return Err(ConfigurationProblem::Name(config.routing_type));
        }
        Ok(Self {
            endpoint,
            token: Arc::new(token),
            client: http::client()?,
            config,
        })
    }

    /// The key as Stellate knows it, or why it cannot be sent.
    fn item<'a>(&'a self, key: &'a Key) -> Result<Item<'a>, Reason> {
        match key {
            Key::Slug { slug } => Ok(Item {
                graphql_type: &self.config.routing_type,
                field: &self.config.routing_field,
                value: slug,
            }),
            Key::Object { graphql_type, .. } if !is_graphql_name(graphql_type) => {
                Err(Reason::new("the type is not a GraphQL name"))
            }
            // What an empty id means to Stellate is not documented; it might be the whole type.
            Key::Object { id, .. } if id.is_empty() => Err(Reason::new("the id is empty")),
            Key::Object { graphql_type, id } => Ok(Item {
                graphql_type,
                field: &self.config.id_field,
                value: id,
            }),
        }
    }
}

impl Target for Stellate {
    fn layer(&self) -> Layer {
        Layer::GraphqlCdn
    }

    fn name(&self) -> &str {
        "stellate"
    }

    async fn purge(&self, keys: &[Key], deadline: Deadline) -> PurgeReport {
        let items: Vec<Result<Item<'_>, Reason>> = keys.iter().map(|key| self.item(key)).collect();
        // Each once, and in the order of their types, so that a batch names few of them.
        let mut places: BTreeMap<Item<'_>, usize> = items.iter().flatten().map(|item| (*item, 0)).collect();
        for (place, (_, of_item)) in places.iter_mut().enumerate() {
            *of_item = place;
        }
        let units: Vec<Item<'_>> = places.keys().copied().collect();
        let units_of = items
            .into_iter()
            .map(|item| item.map(|item| places.get(&item).copied().into_iter().collect()))
            .collect();

        let limit = self.config.request_timeout;
        let (finished, calls) = match units.len() {
            0 => (Finished::default(), 0),
            count => match Session::open(&*self.token, Vec::new(), &self.endpoint, limit, deadline).await {
                Err(outage) => (Finished::out(count, outage), 0),
                Ok(session) => {
                    let limits = Limits {
                        batch: self.config.batch_size,
                        apart: self.config.batch_size,
                        extra_requests: self.config.extra_requests,
                    };
                    let wire = Mutations {
                        stellate: self,
                        session: &session,
                        units: &units,
                    };
                    let work = Work::new(count, limits);
                    let finished = drive(&wire, work, self.config.concurrency, deadline).await;
                    (finished, session.calls())
                }
            },
        };
        report(keys, units_of, &finished, calls)
    }
}

struct Mutations<'a> {
    stellate: &'a Stellate,
    session: &'a Session<'a>,
    units: &'a [Item<'a>],
}

impl Wire for Mutations<'_> {
    async fn send(&self, batch: &Batch) -> Answer {
        let items: Vec<Item<'_>> = batch
            .units
            .iter()
            .filter_map(|unit| self.units.get(*unit).copied())
            .collect();
        let Some(mutation) = Mutation::of(&items, batch.apart, self.stellate.config.soft) else {
            // A mutation without keys would purge whole types.
            return Answer::Each(Vec::new());
        };
        let body = mutation.body();
        let answer = self
            .session
            .post(|token| {
                let request = self.stellate.client.post(self.stellate.endpoint.clone());
                let token = sensitive(token.expose())?;
                Some(
                    request
                        .header("stellate-token", token)
                        .header(CONTENT_TYPE, "application/json")
                        .body(body.clone()),
                )
            })
            .await;
        match answer {
            Ok(body) => answer::read(&body, &mutation, items.len(), &|theirs| {
                self.session.quote("GraphQL error", theirs)
            }),
            Err(answer) => answer,
        }
    }
}
