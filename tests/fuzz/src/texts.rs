//! Messages of the queue, letters of the dead-letter queues, and the configuration file.

use std::collections::BTreeSet;

use consumer::batch::Batch;
use deadletters::letter::Letter;
use ledger::{identity, message::Message};
use routing::RoutesConfig;
use serde_json::json;

/// The body of a message, in a batch with a good one of another group: the good one is never reported.
pub fn sqs_body(input: &[u8]) {
    read_in_a_batch(&String::from_utf8_lossy(input));
}

/// The same for a stream record, whose letters in the Pipe's dead-letter queue are read as well.
pub fn pipe_record(input: &[u8]) {
    let body = String::from_utf8_lossy(input);
    read_in_a_batch(&body);
    let letter = Letter {
        message_id: "m".to_owned(),
        receipt: "r".to_owned(),
        body: body.into_owned(),
        receive_count: 1,
        sent_at: 0,
    };
    let _ = (letter.as_range(), letter.as_wake());
}

fn read_in_a_batch(body: &str) {
    let good = Message::new("evt_1", "DOC#1", &identity::sort_key(1, "evt_1"));
    let good = serde_json::to_string(&good).expect("JSON");
    let record = |id: &str, body: &str| json!({"messageId": id, "body": body, "messageAttributes": {}, "attributes": {"MessageGroupId": id}});
    let event = json!({"Records": [record("bent", body), record("good", &good)]});
    let event = serde_json::from_value(event).expect("an SQS event");
    let batch = Batch::read(event).expect("every message has an id");
    let failed = batch.failures(&BTreeSet::new());
    let readable = batch.records[0].wake.is_some();
    let expected: &[&str] = if readable { &[] } else { &["bent"] };
    assert_eq!(failed, expected);
    batch.documents();
}

/// A configuration file: refused with reasons, or usable.
pub fn routes_toml(input: &[u8]) {
    let Ok(config) = RoutesConfig::parse(&String::from_utf8_lossy(input)) else {
        return;
    };
    let ids = ["a", "b"].map(str::to_owned).into_iter().collect();
    assert!(!config.queries(&ids).is_empty());
    for document_type in ["page", "banner", "nobody"] {
        config.type_policy(document_type);
        config.graphql_type(document_type);
        config.event_paths(Some(document_type), "a/b");
    }
    config.limits();
}
