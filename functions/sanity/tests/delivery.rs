//! What is read from bodies and headers.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use sanity::delivery::{Class, Delivery, Fact, Operation, ReviewReason};
use sanity::signature::SignedAt;
use serde_json::{Value, json};

fn headers() -> BTreeMap<String, String> {
    [
        ("content-type", "application/json"),
        ("idempotency-key", "\"key-1\""),
        ("sanity-dataset", "production"),
        ("sanity-document-id", "forged"),
        ("sanity-operation", "update"),
        ("sanity-project-id", "abc123"),
        ("sanity-transaction-id", "tx1"),
        ("sanity-transaction-time", "2026-03-13T05:29:29Z"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}

fn read(raw: impl AsRef<[u8]>) -> Delivery {
    Delivery::read(raw.as_ref(), &headers(), SignedAt(1_754_041_234_567))
}

fn read_json(body: Value) -> Delivery {
    read(body.to_string())
}

fn signed<T>(value: impl Into<T>) -> Option<Fact<T>> {
    Some(Fact {
        value: value.into(),
        signed: true,
    })
}

fn unsigned<T>(value: impl Into<T>) -> Option<Fact<T>> {
    Some(Fact {
        value: value.into(),
        signed: false,
    })
}

#[test]
fn a_whole_document() {
    let delivery = read_json(json!({
        "_id": "page-1", "_type": "page", "_rev": "r2", "_createdAt": "2026-01-01T00:00:00Z",
        "_updatedAt": "2026-03-13T05:29:29Z", "slug": {"_type": "slug", "current": "hello"}, "title": "Hello",
    }));
    assert_eq!(delivery.document_id.as_deref(), Some("page-1"));
    assert_eq!(delivery.document_type.as_deref(), Some("page"));
    assert_eq!(delivery.revision.as_deref(), Some("r2"));
    assert_eq!(delivery.updated_at.unwrap().unix_timestamp(), 1_773_379_769);
    assert_eq!(delivery.slugs, ["hello"]);
    assert_eq!(delivery.operation, unsigned(Operation::Update));
    assert_eq!(delivery.project, unsigned("abc123"));
    assert_eq!(delivery.dataset, unsigned("production"));
    assert_eq!(delivery.idempotency_key.as_deref(), Some("key-1"));
    assert_eq!(delivery.transaction_id.as_deref(), Some("tx1"));
    assert_eq!(delivery.transaction_time.as_deref(), Some("2026-03-13T05:29:29Z"));
    assert_eq!(delivery.review, None);
    assert!(!delivery.is_draft_or_version());
}

#[test]
fn the_recommended_projection() {
    let delivery = read_json(json!({
        "_id": "page-1", "_type": "page", "_rev": "r2", "_updatedAt": "2026-03-13T05:29:29.123Z",
        "operation": "delete", "slug": null, "previousSlug": "old", "previousRevision": "r1",
        "projectId": "xyz", "dataset": "staging",
    }));
    assert_eq!(delivery.operation, signed(Operation::Delete));
    assert_eq!(delivery.operation.unwrap().value.class(), Class::Delete);
    assert_eq!(delivery.project, signed("xyz"));
    assert_eq!(delivery.dataset, signed("staging"));
    assert_eq!(delivery.previous_revision.as_deref(), Some("r1"));
    assert_eq!(delivery.slugs, ["old"]);
    assert_eq!(delivery.review, None);
}

#[test]
fn a_forged_header_does_not_beat_the_signed_body() {
    let delivery =
        read_json(json!({"_id": "a", "operation": "create", "project": "xyz", "dataset": "staging"}));
    assert_eq!(delivery.document_id.as_deref(), Some("a"));
    assert_eq!(delivery.operation, signed(Operation::Create));
    assert_eq!(delivery.project, signed("xyz"));
    assert_eq!(delivery.dataset, signed("staging"));
}

#[test]
fn a_whole_documents_own_fields_are_not_taken_for_facts() {
    let body = json!({
        "_id": "a", "_type": "surgery", "_createdAt": "2026-01-01T00:00:00Z",
        "operation": "delete", "project": "Alpha", "dataset": {"_ref": "x"}, "slugs": ["not", "these"],
        "after": {"slug": "nor-this"}, "before": {"_rev": "nor-this"},
    });
    let delivery = read_json(body.clone());
    assert_eq!(delivery.operation, unsigned(Operation::Update));
    assert_eq!(delivery.project, unsigned("abc123"));
    assert_eq!(delivery.dataset, unsigned("production"));
    assert_eq!(delivery.slugs, [""; 0]);
    assert_eq!(delivery.previous_revision, None);

    let mut agreeing = headers();
    agreeing.insert("sanity-operation".into(), "delete".into());
    let delivery = Delivery::read(body.to_string().as_bytes(), &agreeing, SignedAt(1));
    assert_eq!(
        delivery.operation,
        signed(Operation::Delete),
        "a spread projection that agrees is signed"
    );
}

#[test]
fn before_and_after_objects() {
    let delivery = read_json(json!({
        "before": {"_id": "a", "_type": "page", "_rev": "r1", "slug": {"current": "old"}},
        "after": {"_id": "a", "_type": "page", "_rev": "r2", "_updatedAt": "2026-03-13T05:29:29Z", "slug": "new"},
        "operation": "update",
    }));
    assert_eq!(delivery.document_id.as_deref(), Some("a"));
    assert_eq!(delivery.revision.as_deref(), Some("r2"));
    assert_eq!(delivery.previous_revision.as_deref(), Some("r1"));
    assert_eq!(delivery.slugs, ["new", "old"]);
    let delivery = read_json(json!({"before": {"_id": "a", "_rev": "r1", "slug": "old"}, "after": null}));
    assert_eq!(delivery.document_id.as_deref(), Some("a"));
    assert_eq!(delivery.revision.as_deref(), Some("r1"));
    assert_eq!(delivery.slugs, ["old"]);
}

#[test]
fn slugs_of_many_shapes_none_twice() {
    let delivery = read_json(json!({
        "_id": "a", "slug": {"_type": "slug", "current": "one"}, "previousSlug": "one",
        "slugs": ["two", "", null, 3, {"current": "three"}, {"_key": "no", "value": {"current": "four"}}],
    }));
    assert_eq!(delivery.slugs, ["one", "two", "three", "four"]);
    assert_eq!(delivery.review, None);
}

#[test]
fn what_cannot_be_acted_on_says_why() {
    let long = "x".repeat(257);
    let many: Vec<String> = (0..101).map(|n| format!("slug-{n}")).collect();
    for (body, reason, id) in [
        (b"{\"_id\":\"\xff\"}".to_vec(), ReviewReason::NotUtf8, None),
        (b"hello=world".to_vec(), ReviewReason::NotJson, None),
        (b"{\"_id\":\"a\"} trailing".to_vec(), ReviewReason::NotJson, None),
        ("\u{feff}{\"_id\":\"a\"}".into(), ReviewReason::NotJson, None),
        (b"{\"_id\":\"\0\"}".to_vec(), ReviewReason::NotJson, None),
        (b" \n".to_vec(), ReviewReason::NotJson, None),
        (b"null".to_vec(), ReviewReason::NotAnObject, None),
        (b"[{\"_id\":\"a\"}]".to_vec(), ReviewReason::NotAnObject, None),
        (b"{}".to_vec(), ReviewReason::NoDocumentId, None),
        (b"{\"_id\":null}".to_vec(), ReviewReason::NoDocumentId, None),
        (b"{\"_id\":\"\"}".to_vec(), ReviewReason::NoDocumentId, None),
        (b"{\"_id\":7}".to_vec(), ReviewReason::NoDocumentId, None),
        (
            b"{\"_id\":\"\\ud800\"}".to_vec(),
            ReviewReason::NoDocumentId,
            None,
        ),
        (
            json!({"_id": long}).to_string().into(),
            ReviewReason::FieldTooLong,
            None,
        ),
        (
            json!({"_id": "a", "_rev": long}).to_string().into(),
            ReviewReason::FieldTooLong,
            Some("a"),
        ),
        (
            json!({"_id": "a", "dataset": long}).to_string().into(),
            ReviewReason::FieldTooLong,
            Some("a"),
        ),
        (
            json!({"_id": "a", "slugs": many}).to_string().into(),
            ReviewReason::SlugsOutOfBounds,
            Some("a"),
        ),
        (
            json!({"_id": "a", "slug": "x".repeat(16_385)}).to_string().into(),
            ReviewReason::SlugsOutOfBounds,
            Some("a"),
        ),
        (
            json!({"_id": "a", "slug": "x".repeat(100_000)})
                .to_string()
                .into(),
            ReviewReason::SlugsOutOfBounds,
            Some("a"),
        ),
    ] {
        let delivery = read(&body);
        assert_eq!(
            delivery.review,
            Some(reason),
            "{}",
            String::from_utf8_lossy(&body[..body.len().min(80)])
        );
        assert_eq!(delivery.document_id.as_deref(), id);
        assert_eq!(
            delivery.operation,
            unsigned(Operation::Update),
            "the headers are read all the same"
        );
        assert_eq!(delivery.body_sha256.len(), 64);
    }
}

#[test]
fn odd_texts_are_kept_as_they_are() {
    let delivery = read(b"{\"_id\":\"a\\u0000b\",\"_type\":\"\\\"; drop\",\"_updatedAt\":\"yesterday\"}");
    assert_eq!(delivery.document_id.as_deref(), Some("a\0b"));
    assert_eq!(delivery.document_type.as_deref(), Some("\"; drop"));
    assert_eq!(delivery.updated_at, None);
    assert_eq!(delivery.review, None);
    assert_eq!(
        read_json(json!({"_id": "a", "_updatedAt": "1969-12-31T23:59:59Z"})).updated_at,
        None
    );
    assert_eq!(
        read(b"{\"_id\":\"first\",\"_id\":\"last\"}")
            .document_id
            .as_deref(),
        Some("last")
    );
}

#[test]
fn deep_nesting_is_read_without_a_fingerprint() {
    let body = format!(
        "{{\"x\":{}{},\"_id\":\"a\"}}",
        "[".repeat(2_000_000),
        "]".repeat(2_000_000)
    );
    let delivery = read(body);
    assert_eq!(delivery.document_id.as_deref(), Some("a"));
    assert_eq!((delivery.content_fingerprint, delivery.review), (None, None));
}

#[test]
fn drafts_and_versions_are_told_by_their_ids() {
    for (id, expected) in [
        ("drafts.a", true),
        ("versions.r1.a", true),
        ("drafts", false),
        ("draftsman", false),
        ("a.drafts.b", false),
    ] {
        assert_eq!(
            read_json(json!({"_id": id})).is_draft_or_version(),
            expected,
            "{id}"
        );
    }
}

#[test]
fn the_fingerprint_knows_content_and_not_versions() {
    let fingerprint = |body: &str| read(body).content_fingerprint.unwrap();
    let one =
        fingerprint(r#"{"_id":"a","_rev":"1","_updatedAt":"2026-01-01T00:00:00Z","tags":["x","y"],"n":1.0}"#);
    assert_eq!(
        one,
        fingerprint(r#"{ "n": 1.0, "tags": ["x", "y"], "_rev": "2", "_id": "a" }"#)
    );
    assert_ne!(
        one,
        fingerprint(r#"{"_id":"a","tags":["y","x"],"n":1.0}"#),
        "the order of a list is content"
    );
    assert_ne!(
        one,
        fingerprint(r#"{"_id":"a","tags":["x","y"],"n":1}"#),
        "numbers stay as written"
    );
    assert_ne!(read("{ }").body_sha256, read("{}").body_sha256);
}

#[test]
fn without_headers_nothing_is_guessed() {
    let delivery = Delivery::read(b"{\"_id\":\"a\"}", &BTreeMap::new(), SignedAt(1));
    assert_eq!(
        (delivery.operation, delivery.project, delivery.dataset),
        (None, None, None)
    );
    assert_eq!((delivery.idempotency_key, delivery.transaction_id), (None, None));
}

proptest! {
    #[test]
    fn no_body_and_no_header_panics(
        body in proptest::collection::vec(any::<u8>(), 0..200),
        headers in proptest::collection::btree_map("[a-z-]{1,12}", ".*", 0..5),
    ) {
        let _ = Delivery::read(&body, &headers, SignedAt(1));
    }

    #[test]
    fn no_object_panics(
        name in prop_oneof![Just("_id"), Just("slug"), Just("before"), Just("after"), Just("dataset"), Just("_updatedAt")],
        json in "[\\[\\]{}\",:0-9a]{0,30}",
        id in ".*",
    ) {
        let _ = read(format!("{{\"{name}\":{json},\"_id\":{}}}", Value::from(id)));
    }
}
