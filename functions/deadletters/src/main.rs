//! Dead letters: every five minutes, what the queue and the Pipe gave up on is marked, told and, once settled, removed. Wiring
//! only.

use std::{process::ExitCode, sync::Arc};

use deadletters::{
    aws::{SnsTopic, SqsLetters},
    notice::Place,
    step::DeadLetters,
};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use ledger::store::dynamo::DynamoLedger;
use platform::{Deadline, Environment, Metrics, SystemClock};
use serde_json::Value;

struct Configuration {
    place: Place,
    outbox: String,
    queue: String,
    pipe: String,
    topic: String,
    ready_shards: u32,
}

impl Configuration {
    fn read(mut env: Environment) -> Result<Self, platform::ConfigurationError> {
        let configuration = Self {
            place: Place {
                stage: env.text("STAGE"),
                operator: env.text("OPERATOR_FUNCTION"),
            },
            outbox: env.text("OUTBOX_TABLE"),
            queue: env.text("QUEUE_DEAD_LETTERS_URL"),
            pipe: env.text("PIPE_DEAD_LETTERS_URL"),
            topic: env.text("TOPIC_ARN"),
            ready_shards: env.number("READY_SHARDS", 1..=64),
        };
        env.finish(configuration)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    platform::run("deadletters", Box::pin(start())).await
}

async fn start() -> Result<(), Error> {
    let configuration = Configuration::read(Environment::from_process())?;
    let aws = aws_config::load_from_env().await;
    let sqs = aws_sdk_sqs::Client::new(&aws);
    let letters = |url: String| SqsLetters {
        client: sqs.clone(),
        url,
    };
    let stage = configuration.place.stage.clone();
    let job = DeadLetters {
        ledger: Arc::new(DynamoLedger::new(
            aws_sdk_dynamodb::Client::new(&aws),
            "",
            configuration.outbox,
        )),
        queue: Arc::new(letters(configuration.queue)),
        pipe: Arc::new(letters(configuration.pipe)),
        notices: Arc::new(SnsTopic {
            client: aws_sdk_sns::Client::new(&aws),
            arn: configuration.topic,
        }),
        place: configuration.place,
        ready_shards: configuration.ready_shards,
        clock: SystemClock,
    };
    let (job, stage) = (&job, stage.as_str());
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| async move {
        let metrics = Metrics::new(stage, "deadletters");
        let summary = job.step(Deadline::from_context(&event.context), &metrics).await;
        metrics.flush();
        tracing::info!(?summary, "dead letters looked at");
        if summary.faults > 0 {
            return Err(Error::from(format!(
                "{} letters could not be handled",
                summary.faults
            )));
        }
        Ok(summary)
    }))
    .await
}
