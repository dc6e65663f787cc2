//! The table of requests and answers, row by row.

use std::time::Duration;

use crate::support::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ledger::item::{State, Status};
use routing::RoutesConfig;
use serde_json::{Value, json};
use webhook::answer::Answer;

fn error(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.body["error"].as_str().unwrap())
}

async fn refused(world: &World, event: Value, status: u16, code: &str, metric: &str) {
    let function = world.function();
    let answer = send(&function, event).await;
    assert_eq!(error(&answer), (status, code));
    assert_eq!(counted(&function), metric, "{code}");
    assert_eq!(world.stored(), 0, "{code}");
    let text = answer.into_response().to_string();
    assert!(!text.contains(SECRET), "{text}");
}

#[tokio::test]
async fn not_post() {
    let world = World::new();
    for method in ["GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] {
        let mut event = edit(json!({}));
        event["requestContext"]["http"]["method"] = method.into();
        // The method is told first, whatever else is wrong.
        let event = with_header(
            with_header(event, "content-type", "text/plain"),
            "sanity-webhook-signature",
            Value::Null,
        );
        refused(&world, event, 405, "method", "RequestsRefused").await;
    }
}

#[tokio::test]
async fn not_json_by_content_type() {
    let world = World::new();
    for content_type in [
        json!(null),
        json!("text/plain"),
        json!("application/x-www-form-urlencoded"),
    ] {
        let event = with_header(edit(json!({})), "content-type", content_type);
        // Told before the signature.
        let event = with_header(event, "sanity-webhook-signature", Value::Null);
        refused(&world, event, 415, "content_type", "RequestsRefused").await;
    }
}

#[tokio::test]
async fn sanity_io_next_sanity_483_no_malformed_or_wrong_signature() {
    let world = World::new();
    let body = projection(json!({}));
    let right = signature(&body, SECRET);
    for (header, status, code) in [
        (json!(null), 401, "signature_missing"),
        (json!(""), 400, "signature_malformed"),
        (json!("nonsense"), 400, "signature_malformed"),
        (json!(format!("{right},{right}")), 400, "signature_malformed"),
        (json!(right.replace("000,", ",")), 400, "signature_malformed"),
        (json!(right.replace(',', ", ")), 401, "signature_mismatch"),
        (json!(signature(&body, "another")), 401, "signature_mismatch"),
        (
            json!(signature(b"another body", SECRET)),
            401,
            "signature_mismatch",
        ),
    ] {
        let event = with_header(event(&body, SECRET), "sanity-webhook-signature", header);
        refused(&world, event, status, code, "SignatureRefused").await;
    }
    let twice = with_header(event(&body, SECRET), "Sanity-Webhook-Signature", right);
    refused(&world, twice, 400, "signature_malformed", "SignatureRefused").await;
    refused(&world, event(b"", SECRET), 400, "body_empty", "SignatureRefused").await;
}

#[tokio::test]
async fn sanity_io_webhook_toolkit_9_the_bytes_are_verified_and_not_what_they_mean() {
    let world = World::new();
    let function = world.function();
    let raw = br#"{"_id":"a","_type":"page","html":"\u003cp\u003e","url":"https:\/\/x", "n":1.0}"#;
    assert_eq!(send(&function, event(raw, SECRET)).await.status, 200);
    let again = serde_json::from_slice::<Value>(raw).unwrap().to_string();
    let rewritten = with_header(
        event(again.as_bytes(), SECRET),
        "sanity-webhook-signature",
        signature(raw, SECRET),
    );
    assert_eq!(
        error(&send(&function, rewritten).await),
        (401, "signature_mismatch")
    );
}

#[tokio::test]
async fn a_window_of_age_is_off_by_default() {
    let mut world = World::new();
    world.clock.advance(Duration::from_secs(86_400));
    assert_eq!(
        send(&world.function(), edit(json!({"_rev": "old"}))).await.status,
        200
    );

    world = World::new();
    world.max_age = Some(Duration::from_secs(2100));
    world.clock.advance(Duration::from_secs(2100));
    assert_eq!(
        send(&world.function(), edit(json!({}))).await.status,
        200,
        "the window's end is inside"
    );
    world = World::new();
    world.max_age = Some(Duration::from_secs(2100));
    world.clock.advance(Duration::from_millis(2_100_001));
    refused(
        &world,
        edit(json!({})),
        401,
        "signature_too_old",
        "SignatureRefused",
    )
    .await;
    let forged = event(&projection(json!({})), "another");
    refused(&world, forged, 401, "signature_mismatch", "SignatureRefused").await;
}

#[tokio::test]
async fn valid_and_new() {
    let world = World::new();
    let function = world.function();
    let body = projection(json!({}));
    let event = with_header(
        event(&body, SECRET),
        "traceparent",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    );
    let answer = send(&function, event).await;
    assert_eq!(answer.status, 200);
    let event_id = answer.body["event_id"].as_str().unwrap();
    let expected = json!({"received": true, "duplicate": false, "event_id": event_id, "state": "pending"});
    assert_eq!(Value::Object(answer.body.clone()), expected);
    assert_eq!(counted(&function), "EventsAccepted");

    let record = world.ledger.memory.event(event_id).unwrap();
    assert_eq!(
        record.payload.as_deref(),
        Some(&body[..]),
        "the raw bytes are the evidence"
    );
    assert_eq!(record.verified_by, "current");
    assert_eq!(record.idempotency_key.as_deref(), Some("key-1"));
    assert_eq!(record.slugs, ["new", "old"]);
    assert_eq!(record.declared_at, "2026-03-13T05:29:30.000Z");
    let [item] = &world.ledger.memory.all_items()[..] else {
        panic!("one outbox item")
    };
    assert_eq!((item.state, item.status), (State::Pending, Some(Status::Ready)));
    assert!(item.message_group_id.is_some() && item.message_deduplication_id.is_some());
    assert_eq!(
        item.trace_parent.as_deref(),
        Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    );
}

#[tokio::test]
async fn valid_and_seen_also_twenty_at_once() {
    let world = World::new();
    let function = world.function();
    let at_once = futures::future::join_all((0..20).map(|_| send(&function, edit(json!({}))))).await;
    assert!(
        at_once
            .iter()
            .all(|answer| answer.status == 200 && answer.body["received"] == true)
    );
    let duplicates = at_once
        .iter()
        .filter(|answer| answer.body["duplicate"] == true)
        .count();
    assert_eq!(duplicates, 19);
    assert_eq!(function.metrics.sum("EventsAccepted"), 1.0);
    assert_eq!(function.metrics.sum("EventsDuplicate"), 19.0);
    assert_eq!(world.stored(), 1);
    assert_eq!(world.ledger.memory.all_items()[0].deliveries, 20);
    assert!(
        at_once[1].body.get("state").is_none(),
        "what has become of it since is not read"
    );

    // Signed anew, as a retry may be: still the same event.
    world.set_fault(Fault::CountFails);
    let answer = send(&function, edit(json!({}))).await;
    assert_eq!(
        answer.body["duplicate"], true,
        "a count that fails is no reason to fail"
    );
}

#[tokio::test]
async fn sanity_io_sanity_9621_drafts_versions_and_ignored_types() {
    for (changes, reason) in [
        (json!({"_id": "drafts.page-1"}), "draft_or_version"),
        (json!({"_id": "versions.r1.page-1"}), "draft_or_version"),
        (json!({"_type": "sanity.fileAsset"}), "type_ignored"),
    ] {
        let world = World::new();
        let function = world.function();
        let answer = send(&function, edit(changes)).await;
        assert_eq!(
            (answer.status, &answer.body["state"], &answer.body["reason"]),
            (200, &json!("ignored"), &json!(reason))
        );
        assert_eq!(counted(&function), "EventsIgnored");
        assert_eq!(world.stored(), 1);
        let [item] = &world.ledger.memory.all_items()[..] else {
            panic!("one outbox item")
        };
        assert_eq!(
            (item.state, item.status, item.reason.as_deref()),
            (State::Ignored, None, Some(reason))
        );
        assert_eq!(
            (&item.message_group_id, item.next_attempt),
            (&None, None),
            "never READY"
        );
    }
}

#[tokio::test]
async fn types_without_routes_cascade_and_unknown_ones_follow_the_policy() {
    let mut world = World::new();
    for document_type in ["banner", "nobody-listed-this"] {
        let answer = send(
            &world.function(),
            edit(json!({"_type": document_type, "_id": document_type})),
        )
        .await;
        assert_eq!(answer.body["state"], "pending", "{document_type}");
    }
    let review = ROUTES.replace("unknown_types = \"cascade\"", "unknown_types = \"review\"");
    world.routes = RoutesConfig::parse(&review).unwrap();
    let answer = send(&world.function(), edit(json!({"_type": "banner", "_rev": "r3"}))).await;
    assert_eq!(answer.body["state"], "pending");
    for document_type in [json!("nobody-listed-this"), json!(null)] {
        let function = world.function();
        let answer = send(
            &function,
            edit(json!({"_type": document_type, "_id": document_type.to_string()})),
        )
        .await;
        assert_eq!(
            (&answer.body["state"], &answer.body["reason"]),
            (&json!("in_review"), &json!("unknown_type"))
        );
        assert_eq!(counted(&function), "EventsInReview");
    }
}

#[tokio::test]
async fn other_projects_and_datasets_are_set_aside() {
    let world = World::new();
    for (changes, reason) in [
        (json!({"project": "other"}), "project_not_configured"),
        (json!({"dataset": "private"}), "dataset_not_configured"),
    ] {
        let answer = send(&world.function(), edit(changes)).await;
        assert_eq!((answer.status, &answer.body["reason"]), (200, &json!(reason)));
    }
    assert_eq!(
        send(&world.function(), edit(json!({"dataset": "staging"})))
            .await
            .body["state"],
        "pending"
    );
    let unsigned = edit(json!({"_id": "b", "dataset": null, "project": null}));
    let forged = with_header(unsigned.clone(), "sanity-dataset", "private");
    assert_eq!(
        send(&world.function(), forged).await.body["reason"],
        "dataset_not_configured"
    );
    assert_eq!(
        send(&world.function(), unsigned).await.body["state"],
        "pending",
        "no dataset is the first configured"
    );
}

#[tokio::test]
async fn sanity_io_sanity_3033_signed_but_unintelligible() {
    for (body, reason) in [
        (&b"[]"[..], "not_an_object"),
        (b"{\"_type\":\"page\"}", "no_document_id"),
        (b"hello=world", "not_json"),
        (b"{\"_id\":\"\xff\"}", "not_utf8"),
    ] {
        let world = World::new();
        let function = world.function();
        let answer = send(&function, event(body, SECRET)).await;
        assert_eq!(
            (answer.status, &answer.body["state"], &answer.body["reason"]),
            (200, &json!("in_review"), &json!(reason))
        );
        assert_eq!(counted(&function), "EventsInReview");
        let record = world
            .ledger
            .memory
            .event(answer.body["event_id"].as_str().unwrap())
            .unwrap();
        assert_eq!(
            record.payload.as_deref(),
            Some(body),
            "{reason}: the raw bytes are kept"
        );
        let [item] = &world.ledger.memory.all_items()[..] else {
            panic!("one outbox item")
        };
        assert_eq!((item.state, item.status), (State::InReview, None));
        let again = send(&function, event(body, SECRET)).await;
        assert_eq!(again.body["duplicate"], true, "{reason}");
    }
}

#[tokio::test]
async fn large_bodies_are_accepted() {
    let world = World::new();
    let body = projection(json!({"text": "lorem ipsum ".repeat(480_000)}));
    assert!(body.len() > 5_700_000);
    let answer = send(&world.function(), event(&body, SECRET)).await;
    assert_eq!(answer.status, 200);
    let record = world
        .ledger
        .memory
        .event(answer.body["event_id"].as_str().unwrap())
        .unwrap();
    assert_eq!(record.payload_bytes, body.len() as u64);
}

#[tokio::test]
async fn redwoodjs_graphql_2339_base64_and_capitals_make_no_difference() {
    let world = World::new();
    let body = projection(json!({}));
    let first = send(&world.function(), event(&body, SECRET)).await;
    let mut encoded = event(&body, SECRET);
    encoded["body"] = STANDARD.encode(&body).into();
    encoded["isBase64Encoded"] = true.into();
    let headers = encoded["headers"].as_object().unwrap();
    let shouted = headers
        .iter()
        .map(|(name, value)| (name.to_uppercase(), value.clone()));
    encoded["headers"] = Value::Object(shouted.collect());
    let second = send(&world.function(), encoded).await;
    assert_eq!(second.body["duplicate"], true);
    assert_eq!(first.body["event_id"], second.body["event_id"]);
}
