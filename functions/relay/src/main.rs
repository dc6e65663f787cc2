//! The relay: each minute, what is READY and due is sent again, settled or DEAD (law 12). Wiring only.

use std::{process::ExitCode, sync::Arc};

use lambda_runtime::{Error, LambdaEvent, service_fn};
use ledger::{identity::MessageGroup, resend::ResendLimits, store::dynamo::DynamoLedger};
use platform::{Deadline, Environment, Metrics, SystemClock};
use relay::{
    aws::{EventBridgePipe, SqsQueue},
    step::{Relay, Settings},
};
use serde_json::Value;

struct Configuration {
    stage: String,
    outbox: String,
    queue_url: String,
    pipe: String,
    settings: Settings,
}

impl Configuration {
    fn read(mut env: Environment) -> Result<Self, platform::ConfigurationError> {
        let configuration = Self {
            stage: env.text("STAGE"),
            outbox: env.text("OUTBOX_TABLE"),
            queue_url: env.text("QUEUE_URL"),
            pipe: env.text("PIPE_NAME"),
            settings: Settings {
                ready_shards: env.number("READY_SHARDS", 1..=64),
                limits: ResendLimits {
                    max_attempts: env.number("MAX_ATTEMPTS", 1..=100),
                    grace_seconds: env.number("OUTBOX_GRACE_SECONDS", 0..=86_400),
                },
                message_group: MessageGroup::read(&mut env),
            },
        };
        env.finish(configuration)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    platform::run("relay", Box::pin(start())).await
}

async fn start() -> Result<(), Error> {
    let configuration = Configuration::read(Environment::from_process())?;
    let aws = aws_config::load_from_env().await;
    let relay = Relay {
        outbox: Arc::new(DynamoLedger::new(
            aws_sdk_dynamodb::Client::new(&aws),
            "",
            configuration.outbox,
        )),
        queue: SqsQueue {
            client: aws_sdk_sqs::Client::new(&aws),
            url: configuration.queue_url,
        },
        pipe: EventBridgePipe {
            client: aws_sdk_pipes::Client::new(&aws),
            name: configuration.pipe,
        },
        clock: SystemClock,
        settings: configuration.settings,
    };
    let (relay, stage) = (&relay, configuration.stage.as_str());
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| async move {
        let metrics = Metrics::new(stage, "relay");
        let summary = relay.step(Deadline::from_context(&event.context), &metrics).await;
        metrics.flush();
        tracing::info!(?summary, "relay step done");
        if summary.faults > 0 {
            return Err(Error::from(format!(
                "{} items or shards could not be handled",
                summary.faults
            )));
        }
        Ok(summary)
    }))
    .await
}
