//! What one cascade costs: DynamoDB requests, items read, read units and time, by the real code of the routes table on the
//! emulator, beside a Scan with `contains` over the routes' dependencies.
//!
//! Requests and items are counted by an interceptor of the SDK, so nothing that is sent escapes. Read units are computed from
//! the sizes of the items read, as DynamoDB's documentation says, because the emulator reports one for anything.

pub mod meter;
pub mod report;
pub mod scan;
pub mod site;
pub mod size;

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use platform::Deadline;
use routing::{
    Changed, RouteStore, RoutesConfig, affected, cascade, reading,
    store::{Outcome, dynamo::DynamoStore},
};

use meter::{Meter, Reading};

/// Whatever went wrong, for the person who runs the benchmark.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What one way of finding the pages of a component costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// As counted.
    pub reading: Reading,
    /// Wall clock, the routing query not included.
    pub time: Duration,
}

/// A client of the database that the AWS variables name, with `meter` in it.
pub async fn client(meter: &Meter) -> Client {
    let config = aws_sdk_dynamodb::config::Builder::from(&aws_config::load_from_env().await);
    Client::from_conf(config.interceptor(meter.clone()).build())
}

/// The cascade of one component of the site: `times` times over, the median of the times.
///
/// # Errors
/// The database refused, the pages found are not the ones that show the component, or two runs read differently.
pub async fn cascade_cost(store: &DynamoStore, meter: &Meter, times: usize) -> Result<Cost, Failure> {
    let mut costs = Vec::new();
    for _ in 0..times {
        meter.take();
        let began = Instant::now();
        run(store).await?;
        let time = began.elapsed();
        costs.push(Cost {
            reading: meter.take(),
            time,
        });
    }
    median(costs)
}

/// As the consumer does it, with the answers of the routing query at hand.
async fn run(store: &DynamoStore) -> Result<(), Failure> {
    let config = RoutesConfig::embedded()?;
    let limits = config.limits();
    let deadline = Deadline::after(Duration::from_secs(60));
    let changed = Changed {
        document: site::component(),
        document_type: Some("banner".to_owned()),
        slugs: vec![],
    };
    let only = std::slice::from_ref(&changed.document);
    let mut held = affected(store, only, limits.maximum_width, &deadline).await?;
    let mut reading = reading::Reading::new(&config, &held, site::DATASET);
    while let Some(query) = reading.next_query() {
        reading.answer(&query, &site::rows(&query.ids));
    }
    let rows = reading.into_rows();
    held.complete(store, &config, &rows, &deadline).await?;
    let cascade = cascade(&config, &changed, &held, &rows);
    for change in &cascade.changes {
        if store.apply(change, &deadline).await? != Outcome::Applied {
            return Err("a route was written by somebody else".into());
        }
    }
    if cascade.routes.len() != site::DEPENDANTS || !cascade.problems.is_empty() {
        return Err(format!("the cascade found {} pages", cascade.routes.len()).into());
    }
    Ok(())
}

/// The cost with the median time.
///
/// # Errors
/// There is none, or they read differently.
pub fn median(mut costs: Vec<Cost>) -> Result<Cost, Failure> {
    costs.sort_by_key(|cost| cost.time);
    let middle = *costs.get(costs.len() / 2).ok_or("nothing was measured")?;
    if costs.iter().any(|cost| cost.reading != middle.reading) {
        return Err(format!("the same work was read differently: {costs:?}").into());
    }
    Ok(middle)
}
