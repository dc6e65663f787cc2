//! Batches of messages, as Lambda hands them over and takes the answer (law 11).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod world;

use std::time::Duration;

use aws_lambda_events::sqs::SqsEvent;
use consumer::handler::handle;
use ledger::{item::OutboxItem, message::Message, plan::Key};
use platform::Deadline;
use serde_json::{Value, json};
use world::{World, target::Mood};

fn record(message_id: &str, group: &str, item: &OutboxItem) -> Value {
    let message = Message::new(&item.event_id, &item.pk, &item.sk);
    json!({
        "messageId": message_id, "body": serde_json::to_string(&message).unwrap(),
        "attributes": {"MessageGroupId": group}, "messageAttributes": {},
    })
}

#[tokio::test(start_paused = true)]
async fn aws_aws_lambda_rust_runtime_221_a_panic_is_a_records_failure_and_no_other_groups() {
    let world = World::new();
    let mut items = Vec::new();
    for id in ["bad", "good"] {
        let slug = format!("/{id}");
        items.push(
            world
                .deliver(&world.lake.write("page", id, Some(&slug), &[]))
                .await,
        );
    }
    world.storefront.set(Mood::PanicsAt(Key::Slug {
        slug: "/bad".to_owned(),
    }));
    tokio::time::advance(Duration::from_secs(45)).await;
    let event: SqsEvent = serde_json::from_value(json!({"Records": [
        record("a", "g1", &items[0]), record("b", "g2", &items[1]), record("c", "g1", &items[0]),
    ]}))
    .unwrap();
    let deadline = Deadline::after(Duration::from_secs(60));
    let answer = handle(world.consumer.clone(), event, deadline).await.unwrap();
    let failed: Vec<&str> = answer
        .batch_item_failures
        .iter()
        .map(|failure| failure.item_identifier.as_str())
        .collect();
    assert_eq!(failed, ["a", "c"]);
    world.assert_applied(&[&items[1]]);
    assert_eq!(world.sum("RecordsFailed"), 2.0);
}
