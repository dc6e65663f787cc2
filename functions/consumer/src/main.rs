//! The consumer function. Wiring only.

use std::{collections::BTreeMap, sync::Arc};

use aws_lambda_events::sqs::SqsEvent;
use consumer::{
    configuration::Configuration, document::Consumer, handler, sanity_source::SanitySource, source::Observer,
};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use ledger::store::dynamo::DynamoLedger;
use platform::{
    Deadline, Environment, FixedSecrets, Metrics, Secret, SecretCache, SecretOrigin, SecretsManager,
    SystemClock, secret_cache::DEFAULT_TTL,
};
use purge::{AnyTarget, SecretField, Stellate, StellateConfig, Storefront, Targets};
use routing::{config::RoutesConfig, store::dynamo::DynamoStore};
use sanity::query::{Client, QueryConfig, Token, http_client};

type Secrets = Arc<SecretCache<SecretOrigin>>;

#[tokio::main]
async fn main() -> Result<(), Error> {
    platform::logs::init_json();
    let configuration = Configuration::read(Environment::from_process())?;
    let config = RoutesConfig::embedded()?;
    let aws = aws_config::load_from_env().await;
    let secrets = secrets(&configuration, &aws);
    let source = Arc::new(SanitySource::new(sanity_client(&configuration, secrets.clone())?));
    let targets = targets(&configuration, &config, secrets)?;
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

fn secrets(configuration: &Configuration, aws: &aws_config::SdkConfig) -> Secrets {
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
    Arc::new(SecretCache::with_source(origin, DEFAULT_TTL))
}

fn sanity_client(configuration: &Configuration, secrets: Secrets) -> Result<Client, Error> {
    let token = Token::from_fn(move || {
        let secrets = secrets.clone();
        async move {
            let fields: BTreeMap<String, String> = secrets.json().await?;
            Ok(Secret::new(
                fields.get("sanity_token").map_or("", |token| token.trim()),
            ))
        }
    });
    let client = Client::new(
        http_client()?,
        QueryConfig {
            api_url: configuration.sanity_api_url.clone(),
            project: configuration.settings.ledger.project.clone(),
            version: configuration.sanity_api_version.clone(),
            token,
        },
    )?;
    Ok(client)
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
