//! The query client against a server that a test directs.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use platform::{Deadline, Secret, SecretError};
use sanity::query::{
    Client, NextStep, QueryConfig, QueryConfigError, QueryError, Token, http_client, observe,
};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use wiremock::matchers::{any, body_json, header, method, path, query_param, query_param_is_missing};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

fn config(server: &MockServer, token: Token) -> QueryConfig {
    QueryConfig {
        api_url: Some(server.uri()),
        project: "abc123".into(),
        version: "v2025-02-19".into(),
        token,
    }
}

fn client(server: &MockServer) -> Client {
    Client::new(
        http_client().unwrap(),
        config(server, Token::fixed(Secret::new("hunter2"))),
    )
    .unwrap()
}

fn params(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

async fn ask(client: &Client) -> Result<Value, QueryError> {
    client
        .query("production", "*[_id == $id]", params(json!({"id": "a"})), soon())
        .await
}

async fn answering(response: ResponseTemplate) -> (MockServer, Client) {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(response).mount(&server).await;
    let client = client(&server);
    (server, client)
}

#[tokio::test]
async fn a_short_query_goes_by_get() {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path("/v2025-02-19/data/query/production"))
        .and(query_param("query", "*[_id == $id && title == \"a&b=c+d\"]"))
        .and(query_param("$id", "\"a\""))
        .and(query_param("$list", "[\"x\",1]"))
        .and(query_param("perspective", "published"))
        .and(header("authorization", "Bearer hunter2"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"ms": 3, "result": [{"n": 1}]})))
        .expect(1)
        .mount(&server)
        .await;
    let result: Value = client(&server)
        .query(
            "production",
            "*[_id == $id && title == \"a&b=c+d\"]",
            params(json!({"id": "a", "list": ["x", 1]})),
            soon(),
        )
        .await
        .unwrap();
    assert_eq!(result, json!([{"n": 1}]));
}

#[tokio::test]
async fn sanity_io_client_255_a_long_one_goes_by_post_and_keeps_its_perspective_in_the_address() {
    let server = MockServer::start().await;
    let ids: Vec<String> = (0..400)
        .map(|n| format!("a-document-with-a-long-id-{n:08}"))
        .collect();
    Mock::given(method("POST"))
        .and(path("/v2025-02-19/data/query/production"))
        .and(query_param("perspective", "published"))
        .and(query_param_is_missing("query"))
        .and(body_json(
            json!({"query": "*[_id in $ids]", "params": {"ids": ids}}),
        ))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"result": []})))
        .expect(1)
        .mount(&server)
        .await;
    let result: Value = client(&server)
        .query(
            "production",
            "*[_id in $ids]",
            params(json!({"ids": ids})),
            soon(),
        )
        .await
        .unwrap();
    assert_eq!(result, json!([]));
}

#[tokio::test]
async fn the_address_decides_between_get_and_post() {
    let (server, client) = answering(ResponseTemplate::new(200).set_body_json(json!({"result": null}))).await;
    let url = |filler: usize| format!("*[{}]", "x".repeat(filler));
    let query = async |filler: usize| -> Option<Value> {
        client
            .query("production", &url(filler), Map::new(), soon())
            .await
            .unwrap()
    };
    query(0).await;
    let base = server.received_requests().await.unwrap()[0].url.as_str().len();
    // The recorded address may have another form of the host than the one measured; both sides of the bound get room.
    query(11_000 - base - 40).await;
    query(11_000 - base + 40).await;
    let methods: Vec<String> = server
        .received_requests()
        .await
        .unwrap()
        .iter()
        .map(|r| r.method.to_string())
        .collect();
    assert_eq!(methods, ["GET", "GET", "POST"]);
}

#[tokio::test]
async fn without_a_token_no_header_is_sent() {
    let server = MockServer::start().await;
    Mock::given(|request: &Request| !request.headers.contains_key("authorization"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"result": 1})))
        .mount(&server)
        .await;
    let client = Client::new(http_client().unwrap(), config(&server, Token::none())).unwrap();
    assert_eq!(ask(&client).await, Ok(json!(1)));
}

#[tokio::test]
async fn the_token_is_asked_for_each_time_and_its_absence_is_no_refusal() {
    let (server, _) = answering(ResponseTemplate::new(200).set_body_json(json!({"result": 1}))).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counting = asked.clone();
    let token = Token::from_fn(move || {
        let number = counting.fetch_add(1, Ordering::SeqCst);
        async move {
            if number < 2 {
                Ok(Secret::new(format!("t{number}")))
            } else {
                Err(SecretError::Denied)
            }
        }
    });
    let client = Client::new(http_client().unwrap(), config(&server, token)).unwrap();
    ask(&client).await.unwrap();
    ask(&client).await.unwrap();
    let error = ask(&client).await.unwrap_err();
    assert_eq!(error.next_step(), NextStep::Defer { after: None });
    let seen: Vec<_> = server
        .received_requests()
        .await
        .unwrap()
        .iter()
        .map(|r| r.headers["authorization"].clone())
        .collect();
    assert_eq!(seen, ["Bearer t0", "Bearer t1"]);
}

#[tokio::test]
async fn statuses_say_what_to_do_next() {
    let defer = NextStep::Defer { after: None };
    let later = NextStep::Defer {
        after: Some(Duration::from_secs(7)),
    };
    for (status, expected) in [
        (429, later),
        (500, later),
        (502, later),
        (503, later),
        (408, later),
        (302, later),
        (204, later),
        (401, defer),
        (402, defer),
        (403, defer),
        (404, defer),
        (400, NextStep::Fail),
        (413, NextStep::Fail),
        (414, NextStep::Fail),
    ] {
        let response = ResponseTemplate::new(status).insert_header("retry-after", "7");
        let (_server, client) = answering(response).await;
        let error = ask(&client).await.unwrap_err();
        assert_eq!(error.next_step(), expected, "{status}: {error}");
    }
}

#[tokio::test]
async fn the_apis_message_is_passed_on_and_a_page_is_not() {
    let parse_error =
        json!({"error": {"type": "queryParseError", "description": "expected ']'", "query": "*["}});
    let gateway = json!({"statusCode": 401, "error": "Unauthorized", "message": "Session not found"});
    for (status, body, expected) in [
        (400, parse_error.to_string(), "expected ']'"),
        (401, gateway.to_string(), "Session not found"),
        (500, json!({"error": "plain"}).to_string(), "plain"),
        (502, "<html>Bad Gateway</html>".to_owned(), "status 502"),
    ] {
        let (_server, client) = answering(ResponseTemplate::new(status).set_body_string(body)).await;
        let text = ask(&client).await.unwrap_err().to_string();
        assert!(text.ends_with(expected), "{text}");
        assert!(!text.contains("hunter2"));
    }
}

#[tokio::test]
async fn a_good_status_with_a_bad_body_is_told_apart() {
    for body in ["<html>hello</html>", "{}", "[]", ""] {
        let (_server, page) = answering(ResponseTemplate::new(200).set_body_string(body)).await;
        assert_eq!(
            ask(&page).await.unwrap_err().next_step(),
            NextStep::Defer { after: None },
            "{body}"
        );
    }
    let (_server, shape) =
        answering(ResponseTemplate::new(200).set_body_json(json!({"result": {"title": "secret plan"}})))
            .await;
    let error = shape
        .query::<Vec<String>>("production", "*", Map::new(), soon())
        .await
        .unwrap_err();
    assert_eq!(error.next_step(), NextStep::Fail);
    assert!(!error.to_string().contains("secret plan"), "{error}");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_put_off() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api_url = Some(format!("http://{}", listener.local_addr().unwrap()));
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
        let half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"result\":[]}";
        stream.write_all(half.as_bytes()).await.unwrap();
    });
    let config = QueryConfig {
        api_url,
        project: "abc123".into(),
        version: "v2025-02-19".into(),
        token: Token::none(),
    };
    let client = Client::new(http_client().unwrap(), config).unwrap();
    let error = ask(&client).await.unwrap_err();
    assert_eq!(error.next_step(), NextStep::Defer { after: None }, "{error}");
    server.await.unwrap();
}

#[tokio::test]
async fn a_slow_answer_is_given_up_at_the_deadline() {
    let slow = ResponseTemplate::new(200).set_delay(Duration::from_secs(60));
    let (_server, client) = answering(slow).await;
    let deadline = Deadline::after(Duration::from_millis(50));
    let error = client
        .query::<Value>("production", "*", Map::new(), deadline)
        .await
        .unwrap_err();
    assert_eq!(error.next_step(), NextStep::Defer { after: None });
    assert!(deadline.remaining() < Duration::from_millis(50));
}

#[tokio::test]
async fn no_server_is_an_outage_and_says_nothing_of_the_query() {
    let config = QueryConfig {
        api_url: Some("http://127.0.0.1:9".into()),
        project: "abc123".into(),
        version: "v2025-02-19".into(),
        token: Token::none(),
    };
    let error = ask(&Client::new(http_client().unwrap(), config).unwrap())
        .await
        .unwrap_err();
    assert_eq!(
        error,
        QueryError::Unavailable {
            what: "no connection".into(),
            retry_after: None
        }
    );
}

#[tokio::test]
async fn a_dataset_cannot_reach_out_of_its_place() {
    let (server, client) = answering(ResponseTemplate::new(200).set_body_json(json!({"result": 1}))).await;
    for dataset in [
        "",
        "../../v1/data/mutate/production",
        "a/b",
        "a?b",
        "Production",
        "a%2fb",
    ] {
        let error = client
            .query::<Value>(dataset, "*", Map::new(), soon())
            .await
            .unwrap_err();
        assert_eq!(error.next_step(), NextStep::Fail, "{dataset}");
    }
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[test]
fn sanity_io_nextjs_blog_cms_sanity_v3_131_what_cannot_be_right_is_refused_at_the_start() {
    let new = |api_url: Option<&str>, project: &str, version: &str| {
        let config = QueryConfig {
            api_url: api_url.map(str::to_owned),
            project: project.into(),
            version: version.into(),
            token: Token::none(),
        };
        Client::new(http_client().unwrap(), config).map(|_| ())
    };
    assert_eq!(new(None, "abc123", "v2025-02-19"), Ok(()));
    assert_eq!(
        new(Some("https://abc123.apicdn.sanity.io"), "abc123", "v2025-02-19"),
        Err(QueryConfigError::Cdn)
    );
    for version in [
        "",
        "v1",
        "vX",
        "2025-02-19",
        "v2021-10-21",
        "v2025-02-19x",
        "v2025-2-19",
    ] {
        assert_eq!(
            new(None, "abc123", version),
            Err(QueryConfigError::Version),
            "{version}"
        );
    }
    for project in ["", "a.b", "a/b", "Ä"] {
        assert_eq!(
            new(None, project, "v2025-02-19"),
            Err(QueryConfigError::Project),
            "{project}"
        );
    }
}

#[tokio::test]
async fn observing_tells_every_id() {
    let rows = json!([
        {"_id": "a", "_rev": "r1", "_updatedAt": "2026-03-13T05:29:29Z", "_type": "page"},
        {"_id": "unasked", "_rev": "r9", "_updatedAt": "2026-03-13T05:29:29Z", "_type": "page"},
    ]);
    let server = MockServer::start().await;
    Mock::given(query_param("query", "*[_id in $ids]{_id,_rev,_updatedAt,_type}"))
        .and(query_param("$ids", "[\"a\",\"b\"]"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"result": rows})))
        .expect(1)
        .mount(&server)
        .await;
    let ids = ["b", "a", "b"].map(str::to_owned);
    let observed = observe(&client(&server), "production", &ids, soon())
        .await
        .unwrap();
    assert_eq!(observed.keys().collect::<Vec<_>>(), ["a", "b"]);
    let a = observed["a"].as_ref().unwrap();
    assert_eq!((a.revision.as_str(), a.document_type.as_str()), ("r1", "page"));
    assert_eq!(a.updated_at.unwrap().unix_timestamp(), 1_773_379_769);
    assert_eq!(observed["b"], None);
    assert!(
        observe(&client(&server), "production", &[], soon())
            .await
            .unwrap()
            .is_empty()
    );
}
