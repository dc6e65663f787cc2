//! Where a search begins: the signature vectors, the samples of `events/`, the golden records of the Pipe, answers as the
//! neighbours give them, and every input that once broke something.

use std::{fs, path::PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::requests::{SIGNED_AT, signed};

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn json_file(path: &str) -> Value {
    let bytes = fs::read(project().join(path)).expect("a file of the project");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// The samples of `events/`.
fn events() -> Vec<Value> {
    let mut files: Vec<PathBuf> = fs::read_dir(project().join("events"))
        .expect("events/")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let read = |path: &PathBuf| {
        serde_json::from_slice(&fs::read(path).expect("a sample")).expect("a sample is JSON")
    };
    files.iter().map(read).collect()
}

fn text(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        other => other.to_string().into_bytes(),
    }
}

fn texts(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Header line and body of each signature vector, and one that is right.
pub fn signatures() -> Vec<Vec<u8>> {
    let vectors = json_file("functions/sanity/tests/vectors/sanity-signature.json");
    let mut seeds = vec![[signed(b"{}", SIGNED_AT).as_bytes(), b"\n{}"].concat()];
    for case in vectors.as_array().expect("a list of cases") {
        let body = case.get("body").map(text).unwrap_or_default();
        let header = case.get("header").map(text).unwrap_or_default();
        seeds.push([header, b"\n".to_vec(), body].concat());
    }
    seeds
}

/// The bodies of the samples and of the signature vectors.
pub fn bodies() -> Vec<Vec<u8>> {
    let of_event = |event: &Value| {
        let body = event.get("body")?.as_str()?;
        match event.get("isBase64Encoded").and_then(Value::as_bool) {
            Some(true) => STANDARD.decode(body).ok(),
            _ => Some(body.as_bytes().to_vec()),
        }
    };
    let mut seeds: Vec<Vec<u8>> = events().iter().filter_map(of_event).collect();
    let vectors = json_file("functions/sanity/tests/vectors/sanity-signature.json");
    let cases = vectors.as_array().expect("a list of cases");
    seeds.extend(cases.iter().filter_map(|case| case.get("body")).map(text));
    seeds
}

/// The samples of the webhook, and one that this stack's secret has signed.
pub fn http_events() -> Vec<Vec<u8>> {
    let body = r#"{"_id":"home","_type":"page","_rev":"r1","_updatedAt":"2026-03-13T05:29:29Z","operation":"update"}"#;
    let right = json!({
        "version": "2.0",
        "requestContext": {"http": {"method": "POST"}},
        "headers": {
            "content-type": "application/json",
            "sanity-webhook-signature": signed(body.as_bytes(), SIGNED_AT),
            "idempotency-key": "\"k\"",
            "x-amzn-trace-id": "Root=1-65b1c2d3-0123456789abcdef01234567",
        },
        "body": body,
    });
    let of_the_api = |event: &Value| event.get("requestContext").is_some();
    std::iter::once(right)
        .chain(events().into_iter().filter(of_the_api))
        .map(|event| text(&event))
        .collect()
}

/// Bodies of the batches in `events/`.
pub fn sqs_bodies() -> Vec<Vec<u8>> {
    let mut seeds = texts(&["", "null", "[]", "this is no wake-up"]);
    for event in events() {
        let records = event.get("Records").and_then(Value::as_array).cloned();
        seeds.extend(
            records
                .unwrap_or_default()
                .iter()
                .filter_map(|it| it.get("body"))
                .map(text),
        );
    }
    seeds
}

/// The golden records of the Pipe, what it makes of them, and its dead letter.
pub fn pipe_records() -> Vec<Vec<u8>> {
    let mut seeds = vec![text(&json_file("tests/stack/golden/dead_letter.json"))];
    for file in [
        "tests/stack/golden/messages.json",
        "tests/stack/golden/filter.json",
    ] {
        each_record(&json_file(file), &mut seeds);
    }
    seeds.extend(sqs_bodies());
    seeds
}

fn each_record(value: &Value, seeds: &mut Vec<Vec<u8>>) {
    match value {
        Value::Object(fields) if fields.contains_key("dynamodb") => seeds.push(text(value)),
        Value::Object(fields) if fields.contains_key("DDBStreamBatchInfo") => seeds.push(text(value)),
        Value::Object(fields) => fields.values().for_each(|field| each_record(field, seeds)),
        Value::Array(all) => all.iter().for_each(|one| each_record(one, seeds)),
        _ => {}
    }
}

/// Answers of the query API in its shapes, good and bad.
pub fn sanity_answers() -> Vec<Vec<u8>> {
    texts(&[
        "200\n\n{\"ms\":3,\"result\":[{\"_id\":\"home\",\"_rev\":\"r1\",\"_type\":\"page\",\"_updatedAt\":\"2026-03-13T05:29:29Z\",\
         \"slug\":\"/home\",\"routes\":[{\"route\":\"default\",\"slug\":\"home\"}],\"dependencies\":[\"banner-sale\",\"menu-main\"]}]}",
        "200\n\n{\"result\":[]}",
        "200\n\n{\"result\":null}",
        "200\n\n{\"result\":[null,1,{\"_id\":\"home\"},{\"_id\":\"home\"}]}",
        "400\n\n{\"error\":{\"description\":\"expected ']'\",\"type\":\"queryParseError\",\"query\":\"*[\",\"start\":0,\"end\":2}}",
        "401\n\n{\"statusCode\":401,\"error\":\"Unauthorized\",\"message\":\"Session not found\"}",
        "429\nretry-after: 7\n\n{\"message\":\"slow down\"}",
        "503\nretry-after: Wed, 21 Oct 2026 07:28:00 GMT\n\nupstream",
        "302\nlocation: http://127.0.0.1/elsewhere\n\n",
        "204\n\n",
        "<html>a proxy</html>",
    ])
}

/// Answers of Stellate.
pub fn stellate_answers() -> Vec<Vec<u8>> {
    texts(&[
        "200\n\n{\"data\":{\"p0\":true,\"p1\":true}}",
        "200\n\n{\"data\":{\"p0\":true,\"p1\":null},\"errors\":[{\"message\":\"no\",\"path\":[\"p1\"]}]}",
        "200\n\n{\"data\":null,\"errors\":[{\"message\":\"token t refused\",\"path\":[\"p9\"]},{}]}",
        "200\n\n{\"errors\":[{\"message\":\"internal\"}]}",
        "200\n\n{\"data\":{\"p0\":false}}",
        "401\n\n{\"message\":\"who are you\"}",
        "429\nretry-after: 3\n\n",
        "500\n\n{\"error\":\"boom\"}",
        "302\nlocation: /elsewhere\n\n",
        "[]",
    ])
}

/// Answers of the storefront's route.
pub fn next_answers() -> Vec<Vec<u8>> {
    texts(&[
        "200\n\n{\"revalidated\":true}",
        "200\n\n{\"revalidated\":false,\"message\":\"no\"}",
        "200\n\n{\"results\":[{\"slug\":\"/home\",\"ok\":true},{\"slug\":\"/about\",\"ok\":false,\"error\":\"no\",\"status\":500}]}",
        "200\n\n{\"results\":[{\"revalidated\":true},{\"revalidated\":false}]}",
        "200\n\n{\"results\":[]}",
        "401\n\n{\"message\":\"Invalid token\"}",
        "404\n\n<html>",
        "308\nlocation: /api/revalidate/\n\n",
        "500\n\nError revalidating",
        "503\nretry-after: 120\n\n",
    ])
}

/// The embedded file, and small ones.
pub fn configurations() -> Vec<Vec<u8>> {
    let file = fs::read(project().join("functions/routing/routes.toml")).expect("routes.toml");
    let mut seeds = vec![file];
    seeds.extend(texts(&[
        "",
        "unknown_types = \"review\"\n[routed.page]\ngraphql = \"Page\"\n[limits]\ndepth = 3\n",
        "groq = \"*[_id in $ids]\"",
    ]));
    seeds
}
