//! The consumer function. Wiring only.

use std::{process::ExitCode, sync::Arc};

use aws_lambda_events::sqs::SqsEvent;
use consumer::{
    configuration::Configuration, document::Consumer, handler, sanity_source::SanitySource, source::Observer,
};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use ledger::store::dynamo::DynamoLedger;
use platform::{Deadline, Environment, Metrics, SecretCache, SecretOrigin, SystemClock};
use purge::{AnyTarget, SecretField, Stellate, StellateConfig, Storefront, Targets};
use routing::{config::RoutesConfig, store::dynamo::DynamoStore};

type Secrets = Arc<SecretCache<SecretOrigin>>;

#[tokio::main]
async fn main() -> ExitCode {
    platform::run("consumer", Box::pin(start())).await
}

async fn start() -> Result<(), Error> {
    let configuration = Configuration::read(Environment::from_process())?;
    let config = RoutesConfig::embedded()?;
    let aws = aws_config::load_from_env().await;
    let secrets = configuration.targets_secret.clone();
    let secrets = Arc::new(secrets.open(aws_sdk_secretsmanager::Client::new(&aws)));
    let targets = targets(&configuration, &config, secrets.clone())?;
    let project = &configuration.settings.ledger.project;
    let source = Arc::new(SanitySource::new(configuration.sanity.open(project, secrets)?));
    targets.announce();
    let dynamo = aws_sdk_dynamodb::Client::new(&aws);
    let stage = configuration.settings.ledger.stage.clone();
    let consumer = Arc::new(Consumer {
        ledger: Arc::new(DynamoLedger::new(
            dynamo.clone(),
            configuration.events,
            configuration.outbox,
        )),
        routes: Arc::new(DynamoStore::new(dynamo, configuration.routes)),
        observer: Observer::new(source.clone()),
        source,
        targets,
        config,
        settings: configuration.settings,
        clock: SystemClock,
        metrics: Metrics::new(stage, "consumer"),
    });
    let consumer = &consumer;
    lambda_runtime::run(service_fn(|event: LambdaEvent<SqsEvent>| async move {
        let deadline = Deadline::from_context(&event.context);
        let answer = handler::handle(consumer.clone(), event.payload, deadline).await;
        consumer.metrics.flush();
        answer.map_err(Error::from)
    }))
    .await
}

fn targets(configuration: &Configuration, config: &RoutesConfig, secrets: Secrets) -> Result<Targets, Error> {
    let mut all = Vec::new();
    if let Some(url) = &configuration.stellate_url {
        let names = config.graphql();
        let stellate = StellateConfig {
            soft: configuration.stellate_soft,
            routing_type: names.routing_type.clone(),
            routing_field: names.slug_field.clone(),
            id_field: names.id_field.clone(),
            ..StellateConfig::new(url)
        };
        all.push(AnyTarget::new(Stellate::new(
            stellate,
            SecretField::new(secrets.clone(), "stellate_token"),
        )?));
    }
    for settings in &configuration.storefronts {
        let field = |name: String| SecretField::new(secrets.clone(), name);
        let mut storefront = Storefront::new(settings.config.clone(), field(settings.secret_field()))?;
        for header in &settings.headers {
            storefront = storefront.with_header(header, field(settings.header_field(header)))?;
        }
        all.push(AnyTarget::new(storefront));
    }
    Ok(Targets::new(all))
}
