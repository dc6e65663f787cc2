//! The operator function: invoked by hand, one request an event. Wiring only.

use std::{process::ExitCode, sync::Arc};

use lambda_runtime::{Error, LambdaEvent, service_fn};
use ledger::store::dynamo::DynamoLedger;
use operator::{Operator, configuration::Configuration, sanity_source::SanityDataset};
use platform::{Deadline, Environment, Metrics, SystemClock};
use routing::{RoutesConfig, store::dynamo::DynamoStore};
use serde_json::Value;

#[tokio::main]
async fn main() -> ExitCode {
    platform::run("operator", Box::pin(start())).await
}

async fn start() -> Result<(), Error> {
    let configuration = Configuration::read(Environment::from_process())?;
    let aws = aws_config::load_from_env().await;
    let stage = configuration.settings.stage.clone();
    let secrets = configuration
        .targets_secret
        .open(aws_sdk_secretsmanager::Client::new(&aws));
    let client = configuration
        .sanity
        .open(&configuration.settings.project, Arc::new(secrets))?;
    let dynamo = aws_sdk_dynamodb::Client::new(&aws);
    let config = RoutesConfig::embedded()?;
    let operator = Operator {
        ledger: Arc::new(DynamoLedger::new(
            dynamo.clone(),
            configuration.events,
            configuration.outbox,
        )),
        routes: Arc::new(DynamoStore::new(dynamo, configuration.routes)),
        source: Arc::new(SanityDataset::new(client)),
        config,
        settings: configuration.settings,
        clock: SystemClock,
        metrics: Metrics::new(stage, "operator"),
    };
    let operator = &operator;
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| async move {
        let deadline = Deadline::from_context(&event.context);
        let answer = operator.handle(&event.payload, deadline).await;
        operator.metrics.flush();
        match answer {
            Ok(answer) => Ok(answer),
            // A request at fault is answered; what is ours fails the invocation, which is counted.
            Err(error) => error.answer().ok_or_else(|| Error::from(error)),
        }
    }))
    .await
}
