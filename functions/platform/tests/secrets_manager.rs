//! What goes over the wire to Secrets Manager, and what its answers mean.

use std::time::Duration;

use aws_sdk_secretsmanager::config::{BehaviorVersion, Credentials, Region};
use platform::{Clock, Secret, SecretCache, SecretError, SecretVersion, SecretsManager, SystemClock};
use serde_json::json;
use wiremock::matchers::{body_partial_json, header};
use wiremock::{Mock, MockServer, ResponseTemplate};

const ARN: &str = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:webhook";

fn cache(server: &MockServer) -> SecretCache {
    SecretCache::with_source(manager(server), Duration::from_secs(300))
}

fn manager(server: &MockServer) -> SecretsManager {
    let config = aws_sdk_secretsmanager::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .retry_config(aws_sdk_secretsmanager::config::retry::RetryConfig::disabled())
        .endpoint_url(server.uri())
        .build();
    SecretsManager::new(aws_sdk_secretsmanager::Client::from_conf(config), ARN)
}

async fn answer(server: &MockServer, stage: &str, status: u16, body: serde_json::Value) {
    Mock::given(header("x-amz-target", "secretsmanager.GetSecretValue"))
        .and(body_partial_json(json!({"SecretId": ARN, "VersionStage": stage})))
        .respond_with(
            ResponseTemplate::new(status).set_body_raw(body.to_string(), "application/x-amz-json-1.1"),
        )
        .mount(server)
        .await;
}

fn error(code: &str) -> serde_json::Value {
    json!({"__type": code, "message": "said the store"})
}

#[tokio::test]
async fn both_versions_are_asked_for_by_their_labels() {
    let server = MockServer::start().await;
    answer(&server, "AWSCURRENT", 200, json!({"SecretString": " one\n"})).await;
    answer(&server, "AWSPREVIOUS", 200, json!({"SecretString": "two"})).await;
    let versions = cache(&server).current_and_previous().await.unwrap();
    let expected = [
        (SecretVersion::Current, Secret::new(" one\n")),
        (SecretVersion::Previous, Secret::new("two")),
    ];
    assert_eq!(versions, expected, "a secret is taken as it is");
}

#[tokio::test]
async fn a_secret_never_rotated_has_no_previous_version() {
    let server = MockServer::start().await;
    answer(&server, "AWSCURRENT", 200, json!({"SecretString": "one"})).await;
    answer(&server, "AWSPREVIOUS", 400, error("ResourceNotFoundException")).await;
    let versions = cache(&server).current_and_previous().await.unwrap();
    assert_eq!(versions, [(SecretVersion::Current, Secret::new("one"))]);
}

#[tokio::test]
async fn the_previous_version_is_refused_when_its_time_after_the_rotation_is_over() {
    let day = Duration::from_secs(86_400);
    for (hours_ago, live) in [(1, 2), (23, 2), (25, 1), (24 * 400, 1)] {
        let server = MockServer::start().await;
        let made = SystemClock.now().unix_timestamp() - hours_ago * 3600;
        answer(
            &server,
            "AWSCURRENT",
            200,
            json!({"SecretString": "new", "CreatedDate": made}),
        )
        .await;
        answer(&server, "AWSPREVIOUS", 200, json!({"SecretString": "old"})).await;
        let source = manager(&server).keeping_previous_for(day);
        let versions = SecretCache::with_source(source, Duration::from_secs(300))
            .current_and_previous()
            .await
            .unwrap();
        assert_eq!(versions.len(), live, "rotated {hours_ago} hours ago");
    }
}

#[tokio::test]
async fn errors_are_told_apart() {
    for (code, status, expected) in [
        ("ResourceNotFoundException", 400, SecretError::Missing),
        ("AccessDeniedException", 400, SecretError::Denied),
        ("DecryptionFailure", 400, SecretError::Denied),
        (
            "ThrottlingException",
            400,
            SecretError::Unavailable("ThrottlingException".into()),
        ),
        (
            "InternalServiceError",
            500,
            SecretError::Unavailable("InternalServiceError".into()),
        ),
    ] {
        let server = MockServer::start().await;
        answer(&server, "AWSCURRENT", status, error(code)).await;
        assert_eq!(
            cache(&server).current_and_previous().await,
            Err(expected),
            "{code}"
        );
    }
}

#[tokio::test]
async fn a_binary_secret_is_refused() {
    let server = MockServer::start().await;
    answer(&server, "AWSCURRENT", 200, json!({"SecretBinary": "AAEC"})).await;
    assert_eq!(
        cache(&server).current_and_previous().await,
        Err(SecretError::NotText)
    );
}
