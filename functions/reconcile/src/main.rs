//! Reconcile: each quarter of an hour, what the webhook never delivered is entered (law 13). Wiring only.

use std::{process::ExitCode, sync::Arc};

use lambda_runtime::{Error, LambdaEvent, service_fn};
use ledger::store::dynamo::DynamoLedger;
use platform::{Deadline, Environment, Metrics, SystemClock};
use reconcile::{configuration::Configuration, run::Reconcile, sanity_source::SanityLake};
use routing::{RoutesConfig, store::dynamo::DynamoStore};
use serde_json::Value;

#[tokio::main]
async fn main() -> ExitCode {
    platform::run("reconcile", Box::pin(start())).await
}

async fn start() -> Result<(), Error> {
    let configuration = Configuration::read(Environment::from_process())?;
    let aws = aws_config::load_from_env().await;
    let stage = configuration.settings.ledger.stage.clone();
    let secrets = configuration
        .targets_secret
        .open(aws_sdk_secretsmanager::Client::new(&aws));
    let client = configuration
        .sanity
        .open(&configuration.settings.ledger.project, Arc::new(secrets))?;
    let dynamo = aws_sdk_dynamodb::Client::new(&aws);
    let reconcile = Reconcile {
        ledger: Arc::new(DynamoLedger::new(
            dynamo.clone(),
            configuration.events,
            configuration.outbox,
        )),
        routes: Arc::new(DynamoStore::new(dynamo, configuration.routes)),
        source: Arc::new(SanityLake::new(client)),
        config: RoutesConfig::embedded()?,
        settings: configuration.settings,
        clock: SystemClock,
        metrics: Metrics::new(stage, "reconcile"),
    };
    let reconcile = &reconcile;
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| async move {
        // A person may ask for a sweep: {"sweep": true}.
        let sweep_now = event.payload.get("sweep").and_then(Value::as_bool) == Some(true);
        let deadline = Deadline::from_context(&event.context);
        let summary = reconcile.run(sweep_now, deadline).await;
        reconcile.metrics.flush();
        tracing::info!(?summary, "reconcile run done");
        summary.map_err(Error::from)
    }))
    .await
}
