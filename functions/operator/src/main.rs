//! The operator function: invoked by hand, one request an event. Wiring only.

use std::{collections::BTreeMap, sync::Arc};

use lambda_runtime::{Error, LambdaEvent, service_fn};
use ledger::store::dynamo::DynamoLedger;
use operator::{Operator, configuration::Configuration, sanity_source::SanityDataset};
use platform::{
    Deadline, Environment, FixedSecrets, Metrics, Secret, SecretCache, SecretOrigin, SecretsManager,
    SystemClock, secret_cache::DEFAULT_TTL,
};
use routing::{RoutesConfig, store::dynamo::DynamoStore};
use sanity::query::{Client, QueryConfig, Token, http_client};
use serde_json::Value;

#[tokio::main]
async fn main() -> Result<(), Error> {
    platform::logs::init_json();
    let configuration = Configuration::read(Environment::from_process())?;
    let aws = aws_config::load_from_env().await;
    let stage = configuration.settings.stage.clone();
    let client = sanity_client(&configuration, &aws)?;
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

fn sanity_client(configuration: &Configuration, aws: &aws_config::SdkConfig) -> Result<Client, Error> {
    let origin = match &configuration.local_targets_secret {
        Some(secret) => SecretOrigin::Fixed(FixedSecrets {
            current: secret.clone(),
            previous: None,
        }),
        None => SecretOrigin::Manager(SecretsManager::new(
            aws_sdk_secretsmanager::Client::new(aws),
            configuration.targets_secret.clone(),
        )),
    };
    let secrets = Arc::new(SecretCache::with_source(origin, DEFAULT_TTL));
    let token = Token::from_fn(move || {
        let secrets = secrets.clone();
        async move {
            let fields: BTreeMap<String, String> = secrets.json().await?;
            Ok(Secret::new(
                fields.get("sanity_token").map_or("", |token| token.trim()),
            ))
        }
    });
    Ok(Client::new(
        http_client()?,
        QueryConfig {
            api_url: configuration.sanity_api_url.clone(),
            project: configuration.settings.project.clone(),
            version: configuration.sanity_api_version.clone(),
            token,
        },
    )?)
}
