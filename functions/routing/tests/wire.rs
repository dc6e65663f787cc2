//! What goes over the wire to DynamoDB, and how its failures are taken: a server that answers as it is told to.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use platform::Deadline;
use routing::model::{DocumentRef, Entry, Route, RouteChange, RouteName, RouteWrite};
use routing::store::dynamo::DynamoStore;
use routing::store::{NextStep, Outcome, RouteStore, StoreError};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

/// Answers one after the other; the last one again and again.
#[derive(Clone)]
struct Script(Arc<Mutex<VecDeque<ResponseTemplate>>>);

impl Respond for Script {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let mut answers = self.0.lock().unwrap();
        match answers.len() {
            1 => answers[0].clone(),
            _ => answers.pop_front().unwrap(),
        }
    }
}

struct Wire {
    server: MockServer,
    store: DynamoStore,
}

impl Wire {
    async fn answering(answers: impl IntoIterator<Item = ResponseTemplate>) -> Self {
        let server = MockServer::start().await;
        let script = Script(Arc::new(Mutex::new(answers.into_iter().collect())));
        Mock::given(any()).respond_with(script).mount(&server).await;
        let store = store_at(server.uri());
        Self { server, store }
    }

    /// Operation and body of every request so far.
    async fn requests(&self) -> Vec<(String, Value)> {
        let requests = self.server.received_requests().await.unwrap();
        let read = |request: &Request| {
            let target = request.headers["x-amz-target"].to_str().unwrap();
            let operation = target.split_once('.').unwrap().1.to_owned();
            assert!(
                ["Query", "BatchGetItem", "TransactWriteItems"].contains(&operation.as_str()),
                "{operation} is not among the operations of this store, Scan least of all"
            );
            (operation, request.body_json().unwrap())
        };
        requests.iter().map(read).collect()
    }
}

fn store_at(url: String) -> DynamoStore {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(url)
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .build();
    DynamoStore::new(aws_sdk_dynamodb::Client::from_conf(config), "routes")
}

fn ok(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

fn error(status: u16, code: &str, more: Value) -> ResponseTemplate {
    let mut body =
        json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{code}"), "message": "because"});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    ResponseTemplate::new(status).set_body_json(body)
}

/// A cancelled transaction whose actions failed for `reasons`.
fn cancelled(reasons: Value) -> ResponseTemplate {
    error(
        400,
        "TransactionCanceledException",
        json!({"CancellationReasons": reasons}),
    )
}

fn deadline() -> Deadline {
    Deadline::after(Duration::from_secs(50))
}

fn document() -> DocumentRef {
    DocumentRef::new("production", "p1")
}

fn change() -> RouteChange {
    let mut route = Route {
        dataset: "production".into(),
        document_id: "p1".into(),
        document_type: "page".into(),
        graphql_type: "Page".into(),
        route: "default".into(),
        slug: "/new".into(),
        dependencies: vec!["b1".into()],
        source_revision: "r2".into(),
        source_second: 100,
        item_hash: String::new(),
        version: 2,
    };
    route.item_hash = route.content_hash();
    let before = Route {
        version: 1,
        ..route.clone()
    };
    RouteChange::Write(Box::new(RouteWrite {
        route,
        replaces: Some(Entry::Live(before)),
        add_edges: vec!["b1".into()],
        remove_edges: vec!["b2".into()],
        old_slug: Some("/old".into()),
    }))
}

fn stored(change: &RouteChange) -> Value {
    let RouteChange::Write(write) = change else {
        panic!("a write")
    };
    let route = &write.route;
    json!({
        "pk": {"S": "DOC#production#p1"}, "sk": {"S": "ROUTE#default"}, "dataset": {"S": "production"},
        "document_id": {"S": "p1"}, "document_type": {"S": "page"}, "graphql_type": {"S": "Page"},
        "route": {"S": "default"}, "slug": {"S": route.slug}, "dependencies": {"L": [{"S": "b1"}]},
        "source_revision": {"S": "r2"}, "source_second": {"N": "100"}, "item_hash": {"S": route.item_hash},
        "version": {"N": route.version.to_string()},
    })
}

#[tokio::test]
async fn law_9_a_route_is_one_transaction_on_the_version_read() {
    let wire = Wire::answering([ok(json!({}))]).await;
    assert_eq!(
        wire.store.apply(&change(), &deadline()).await,
        Ok(Outcome::Applied)
    );
    let requests = wire.requests().await;
    assert_eq!(requests.len(), 1);
    let actions = requests[0].1["TransactItems"].as_array().unwrap();
    let keys: Vec<String> = actions
        .iter()
        .map(|action| {
            let (verb, action) = action.as_object().unwrap().iter().next().unwrap();
            let key = action.get("Item").or(action.get("Key")).unwrap();
            format!(
                "{verb} {} {}",
                key["pk"]["S"].as_str().unwrap(),
                key["sk"]["S"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        keys,
        [
            "Put DOC#production#p1 ROUTE#default",
            "Put SLUG#production#/new ROUTE#p1#default",
            "Delete SLUG#production#/old ROUTE#p1#default",
            "Put DEP#production#b1 PAGE#p1#default",
            "Delete DEP#production#b2 PAGE#p1#default",
        ]
    );
    assert_eq!(actions[0]["Put"]["Item"], stored(&change()));
    assert_eq!(actions[0]["Put"]["ConditionExpression"], "#version = :version");
    assert_eq!(
        actions[0]["Put"]["ExpressionAttributeValues"],
        json!({":version": {"N": "1"}})
    );
    assert_eq!(actions[1]["Put"]["Item"]["owner"], json!({"S": "p1#default"}));
}

#[tokio::test]
async fn a_transaction_in_conflict_with_another_is_tried_again() {
    let conflict = json!([{"Code": "TransactionConflict"}, {"Code": "None"}]);
    let throttled = json!([{"Code": "None"}, {"Code": "ThrottlingError"}]);
    let wire = Wire::answering([
        cancelled(conflict),
        cancelled(throttled),
        error(400, "ProvisionedThroughputExceededException", json!({})),
        error(500, "InternalServerError", json!({})),
        ok(json!({})),
    ])
    .await;
    assert_eq!(
        wire.store.apply(&change(), &deadline()).await,
        Ok(Outcome::Applied)
    );
    assert_eq!(wire.requests().await.len(), 5);
}

#[tokio::test]
async fn a_failed_condition_is_a_conflict_unless_the_change_is_there() {
    let moved = |item: Value| {
        let mut reason = json!({"Code": "ConditionalCheckFailed"});
        if !item.is_null() {
            reason["Item"] = item;
        }
        // A conflict on an edge at the same time does not hide it.
        cancelled(json!([reason, {"Code": "None"}, {"Code": "TransactionConflict"}]))
    };
    let (made, mut other, mut later) = (stored(&change()), stored(&change()), stored(&change()));
    other["item_hash"] = json!({"S": "another"});
    later["version"] = json!({"N": "3"});
    let cases = [
        (made, Outcome::Unchanged),
        (other, Outcome::Conflict),
        (later, Outcome::Conflict),
        (Value::Null, Outcome::Conflict),
        (json!({"pk": {"S": "of another shape"}}), Outcome::Conflict),
    ];
    for (item, expected) in cases {
        let wire = Wire::answering([moved(item.clone())]).await;
        assert_eq!(
            wire.store.apply(&change(), &deadline()).await,
            Ok(expected),
            "{item}"
        );
        assert_eq!(wire.requests().await.len(), 1);
    }
}

#[tokio::test]
async fn what_no_attempt_can_mend_fails_at_once_and_says_why() {
    let invalid = json!([{"Code": "ValidationError", "Message": "Item size has exceeded"}, {"Code": "TransactionConflict"}]);
    for (answer, words) in [
        (cancelled(invalid), "ValidationError: Item size has exceeded"),
        (
            error(400, "AccessDeniedException", json!({})),
            "AccessDeniedException: because",
        ),
        (
            error(400, "ResourceNotFoundException", json!({})),
            "ResourceNotFoundException: because",
        ),
    ] {
        let wire = Wire::answering([answer]).await;
        let error = wire.store.apply(&change(), &deadline()).await.unwrap_err();
        assert_eq!(error.next_step(), NextStep::Fail);
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(wire.requests().await.len(), 1);
    }
}

#[tokio::test]
async fn the_deadline_ends_an_operation_that_hangs() {
    let wire = Wire::answering([ok(json!({})).set_delay(Duration::from_secs(60))]).await;
    let soon = Deadline::after(Duration::from_millis(200));
    let operation = "TransactWriteItems";
    assert_eq!(
        wire.store.apply(&change(), &soon).await,
        Err(StoreError::OutOfTime { operation })
    );
    let soon = Deadline::after(Duration::from_millis(200));
    let error = wire.store.routes_of(&document(), &soon).await.unwrap_err();
    assert_eq!(error, StoreError::OutOfTime { operation: "Query" });
    assert_eq!(error.next_step(), NextStep::Defer);
}

#[tokio::test]
async fn a_server_that_is_away_is_busy() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let soon = Deadline::after(Duration::from_millis(300));
    let store = store_at(format!("http://{free}"));
    let error = store.routes_of(&document(), &soon).await.unwrap_err();
    assert_eq!(error.next_step(), NextStep::Defer);
}

#[tokio::test]
async fn law_9_edges_are_queried_page_by_page_and_consistently() {
    let edge = |n: usize| json!({"pk": {"S": "DEP#production#p1"}, "sk": {"S": "x"}, "document_id": {"S": format!("d{n}")}, "route": {"S": "default"}});
    let last = json!({"pk": {"S": "DEP#production#p1"}, "sk": {"S": "PAGE#d2#default"}});
    let pages = [
        ok(json!({"Items": [edge(1), edge(2)], "LastEvaluatedKey": last})),
        ok(json!({"Items": [edge(3)]})),
    ];
    let wire = Wire::answering(pages.clone()).await;
    let found = wire
        .store
        .dependants_of(&document(), 10, &deadline())
        .await
        .unwrap();
    assert_eq!((found.pages.len(), found.more), (3, false));
    let requests = wire.requests().await;
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].1["ExclusiveStartKey"], last);
    for (operation, body) in requests {
        assert_eq!(operation, "Query");
        assert_eq!(body["ConsistentRead"], true);
        assert!(body.get("FilterExpression").is_none() && body.get("IndexName").is_none());
    }
    let wire = Wire::answering(pages).await;
    let found = wire
        .store
        .dependants_of(&document(), 1, &deadline())
        .await
        .unwrap();
    assert_eq!((found.pages.len(), found.more), (1, true));
    assert_eq!(
        wire.requests().await.len(),
        1,
        "beyond the bound nothing more is read"
    );
}

#[tokio::test]
async fn keys_left_unprocessed_are_asked_for_again_and_no_key_twice_at_once() {
    let key =
        |n: usize| json!({"pk": {"S": format!("DOC#production#d{n:03}")}, "sk": {"S": "ROUTE#default"}});
    let item = |n: usize| {
        let mut item = stored(&change());
        item["document_id"] = json!({"S": format!("d{n:03}")});
        item
    };
    let items = |range: std::ops::Range<usize>| json!({"routes": range.map(item).collect::<Vec<_>>()});
    let wire = Wire::answering([
        ok(json!({"Responses": items(0..98), "UnprocessedKeys": {"routes": {"Keys": [key(98), key(99)]}}})),
        ok(json!({"Responses": {"routes": []}, "UnprocessedKeys": {"routes": {"Keys": [key(98), key(99)]}}})),
        error(400, "ThrottlingException", json!({})),
        ok(json!({"Responses": items(98..100), "UnprocessedKeys": {}})),
        ok(json!({"Responses": items(100..120)})),
    ])
    .await;
    let names: BTreeSet<RouteName> = (0..120)
        .map(|n| RouteName {
            document: DocumentRef::new("production", format!("d{n:03}")),
            route: "default".into(),
        })
        .collect();
    let found = wire.store.entries(&names, &deadline()).await.unwrap();
    assert_eq!(found.len(), 120);
    let asked: Vec<Vec<Value>> = wire
        .requests()
        .await
        .into_iter()
        .map(|(_, body)| {
            assert_eq!(body["RequestItems"]["routes"]["ConsistentRead"], true);
            body["RequestItems"]["routes"]["Keys"].as_array().unwrap().clone()
        })
        .collect();
    assert_eq!(asked.iter().map(Vec::len).collect::<Vec<_>>(), [100, 2, 2, 2, 20]);
    for keys in &asked {
        let distinct: BTreeSet<String> = keys.iter().map(Value::to_string).collect();
        assert_eq!(distinct.len(), keys.len());
    }
    assert_eq!(
        wire.store.entries(&BTreeSet::new(), &deadline()).await,
        Ok(vec![])
    );
    assert_eq!(
        wire.requests().await.len(),
        5,
        "nothing is asked for without keys"
    );
}
