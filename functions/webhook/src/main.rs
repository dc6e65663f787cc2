//! Wires the webhook function: configuration, clients, secret, then one request at a time.

use std::process::ExitCode;
use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::timeout::TimeoutConfig;
use lambda_runtime::{LambdaEvent, service_fn};
use ledger::store::dynamo::DynamoLedger;
use platform::{Deadline, Environment, Metrics, SystemClock};
use routing::RoutesConfig;
use serde_json::Value;
use webhook::handler::Handler;
use webhook::settings::Settings;

#[tokio::main]
async fn main() -> ExitCode {
    platform::run("webhook", Box::pin(start())).await
}

async fn start() -> Result<(), lambda_runtime::Error> {
    let settings = Settings::read(Environment::from_process())?;
    let routes = RoutesConfig::embedded()?;
    // An attempt that hangs must leave time for another one before the function's own timeout.
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(2))
        .operation_attempt_timeout(Duration::from_secs(3))
        .build();
    let aws = aws_config::defaults(BehaviorVersion::latest())
        .timeout_config(timeouts)
        .load()
        .await;
    let secrets = settings.secret.open(aws_sdk_secretsmanager::Client::new(&aws));
    // Read now, while nobody waits. If it fails, requests are answered 503 until it can be read.
    if let Err(error) = secrets.current_and_previous().await {
        tracing::error!(%error, "the webhook secret could not be read at the start");
    }
    let handler = Handler {
        recorder: DynamoLedger::new(
            aws_sdk_dynamodb::Client::new(&aws),
            settings.events_table,
            settings.outbox_table,
        ),
        secrets,
        clock: SystemClock,
        metrics: Metrics::new(settings.ledger.stage.clone(), "webhook"),
        routes,
        settings: settings.ledger,
        signature_max_age: settings.signature_max_age,
    };
    let handler = &handler;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| async move {
        let deadline = Deadline::from_context(&event.context);
        let answer = handler
            .handle(event.payload, event.context.xray_trace_id.as_deref(), deadline)
            .await;
        handler.metrics.flush();
        Ok::<_, lambda_runtime::Error>(answer.into_response())
    }))
    .await
}
