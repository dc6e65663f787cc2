//! The verbs over the ledger in memory, with the real consumer handling what they ask for.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod both;

use std::{collections::BTreeSet, time::Duration};

use both::{Both, rebuild, reprocess, world::ledger_settings};
use ledger::{
    item::{Kind, OutboxItem, State, Status},
    observed::Observation,
    plan::Layer,
    record::{Decision, NewEvent},
    store::{Documents, Outbox, Recorder, memory::MemoryLedger, operator::Happened},
};
use operator::answer::OperatorError;
use platform::Deadline;
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn law_14_an_applied_event_is_handled_again_within_five_minutes_of_its_first_message() {
    let both = Both::new();
    let event = both.publish("page", "page-1", Some("/a"), &[]).await;
    let before = both.history(&event).await;
    let answer = both.ask(reprocess(&event.event_id)).await;
    // The queue still remembers the event's own id; this one it has never seen.
    let id = answer["items"][0]["message_deduplication_id"].as_str().unwrap();
    assert_eq!(id, format!("{}#g1", event.event_id));
    both.world.drain(20).await;
    assert_eq!(both.world.slugs(Layer::Storefront), ["/a"]);
    both.world.assert_applied(&[&event]);
    let after = both.history(&event).await;
    assert_eq!(after[..before.len()], before[..], "the history only grows");
    assert_eq!(after.len(), before.len() + 2, "the request and the wake");
    let Happened::Operator(asked) = &after[before.len()] else {
        panic!()
    };
    assert_eq!(
        (asked.requester.as_str(), asked.because.as_str()),
        ("somebody", "a test")
    );
    assert_eq!(
        (asked.from_state.as_deref(), asked.generation),
        (Some("applied"), Some(1))
    );
    assert!(!asked.handler_version.is_empty());
    let state = both.world.ledger.read(&event.pk, &event.sk).await.unwrap();
    assert_eq!(state.head.generation, 1);
}

#[tokio::test(start_paused = true)]
async fn law_14_an_older_failed_event_ends_applied() {
    let both = Both::new();
    let older = both.write("page", "page-1", Some("/a"), &[]);
    tokio::time::advance(Duration::from_secs(60)).await;
    let newer = both.publish("page", "page-1", Some("/b"), &[]).await;
    let older = both.world.deliver(&older).await;
    both.fail(&older).await;
    both.world.drain(20).await;
    assert_eq!(
        both.world.item(&older).state,
        State::Failed,
        "nothing wakes it by itself"
    );
    both.ask(reprocess(&older.event_id)).await;
    both.world.drain(20).await;
    let purged = both.world.slugs(Layer::Storefront);
    assert!(
        purged.contains(&"/a".to_owned()),
        "its slugs join the plan: {purged:?}"
    );
    both.world.assert_applied(&[&older, &newer]);
    assert_eq!(both.slugs_of("page-1").await, ["/b"]);
}

#[tokio::test(start_paused = true)]
async fn law_14_two_requests_at_once_have_one_effect() {
    let both = Both::new();
    let event = both.publish("page", "page-1", Some("/a"), &[]).await;
    let (one, other) = tokio::join!(
        both.ask(reprocess(&event.event_id)),
        both.ask(reprocess(&event.event_id))
    );
    assert_eq!((&one["count"], &other["count"]), (&json!(1), &json!(1)));
    both.world.drain(20).await;
    assert_eq!(both.world.slugs(Layer::Storefront), ["/a"], "purged once");
    let asked = both
        .history(&event)
        .await
        .into_iter()
        .filter(|it| matches!(it, Happened::Operator(_)))
        .count();
    assert_eq!(asked, 2, "both are on record");
}

#[tokio::test(start_paused = true)]
async fn law_14_a_dry_run_changes_nothing() {
    let both = Both::new();
    let event = both.publish("page", "page-1", Some("/a"), &[]).await;
    both.write("page", "page-2", Some("/b"), &[]);
    let items = both.world.ledger.all_items();
    let history = both.history(&event).await;
    let mut asked = reprocess(&event.event_id);
    asked.as_object_mut().unwrap().remove("dry_run");
    let answer = both.ask(asked).await;
    assert_eq!(
        (&answer["dry_run"], &answer["items"][0]["outcome"]),
        (&json!(true), &json!("would_ask"))
    );
    let answer = both
        .ask(json!({"verb": "rebuild", "requester": "somebody", "reason": "a test"}))
        .await;
    assert_eq!(answer["progress"]["written"], json!(1), "{answer}");
    assert_eq!(both.world.ledger.all_items(), items);
    assert_eq!(both.history(&event).await, history);
    assert!(both.slugs_of("page-2").await.is_empty());
}

/// An event in review, as the webhook records one.
async fn in_review(both: &Both, id: Option<&str>, kind: &str) -> NewEvent {
    let body = json!({"_id": id, "_type": kind, "_rev": "r1", "operation": "update", "dataset": "production", "projectId": "project"});
    let raw = body.to_string().into_bytes();
    let delivery = sanity::delivery::Delivery::read(
        &raw,
        &Default::default(),
        sanity::signature::SignedAt(1_890_000_000_000),
    );
    let decision = Decision::InReview {
        reason: "unknown_type".to_owned(),
    };
    let now = platform::Clock::now(&both.world.clock);
    let event = NewEvent::from_delivery(delivery, raw, "current", decision, now, &ledger_settings(), None);
    let soon = Deadline::after(Duration::from_secs(5));
    both.world.ledger.record(&event, soon).await.unwrap();
    event
}

#[tokio::test(start_paused = true)]
async fn law_14_an_event_in_review_is_accepted_or_settled() {
    let both = Both::new();
    both.write("page", "page-1", Some("/a"), &[]);
    let accepted = in_review(&both, Some("page-1"), "page").await;
    let nameless = in_review(&both, None, "page").await;
    let listed = both.ask(json!({"verb": "list", "state": "in_review"})).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);

    both.ask(reprocess(accepted.event_id())).await;
    both.world.drain(20).await;
    both.world.assert_applied(&[&accepted.item]);
    assert_eq!(both.slugs_of("page-1").await, ["/a"]);

    let refused = both.try_ask(reprocess(nameless.event_id())).await.unwrap_err();
    assert!(matches!(refused, OperatorError::Refused(_)), "{refused}");
    let settle = |dry_run| {
        json!({"verb": "settle", "event_id": nameless.event_id(), "requester": "somebody",
            "reason": "the hook was mended", "dry_run": dry_run})
    };
    assert_eq!(both.ask(settle(true)).await["outcome"], "would_settle");
    assert_eq!(both.ask(settle(false)).await["outcome"], "settled");
    let held = both.world.item(&nameless.item);
    assert_eq!((held.state, held.status), (State::Ignored, None));
    assert!(held.reason.unwrap().contains("the hook was mended"));
    assert!(held.expires_at.is_some());
    let again = both.try_ask(settle(false)).await.unwrap_err();
    assert!(again.to_string().contains("ignored"), "{again}");
    let listed = both.ask(json!({"verb": "list", "state": "in_review"})).await;
    assert_eq!(listed["items"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn law_14_an_order_that_cannot_be_is_handled_once_a_person_has_looked_at_it() {
    let both = Both::new();
    let created = both.write("page", "page-1", Some("/a"), &[]);
    tokio::time::advance(Duration::from_secs(60)).await;
    both.publish("page", "page-1", Some("/b"), &[]).await;
    both.world.deliver(&both.world.lake.delete("page-1")).await;
    both.world.drain(20).await;
    let created = both.world.deliver(&created).await;
    both.world.drain(20).await;
    assert_eq!(both.world.item(&created).state, State::InReview);
    both.ask(reprocess(&created.event_id)).await;
    both.world.drain(20).await;
    both.world.assert_applied(&[&created]);
    assert!(both.slugs_of("page-1").await.is_empty(), "as the source shows it");
}

#[tokio::test(start_paused = true)]
async fn law_14_a_state_is_reprocessed_with_a_filter_and_a_limit() {
    let both = Both::new();
    let mut dead = Vec::new();
    for number in 0..6 {
        let kind = if number < 4 { "page" } else { "banner" };
        let slug = format!("/{number}");
        let slug = (kind == "page").then_some(slug.as_str());
        let change = both.write(kind, &format!("{kind}-{number}"), slug, &[]);
        let item = both.world.deliver(&change).await;
        both.world.ledger.bury(&item, "nobody answered").await.unwrap();
        dead.push(item);
    }
    let ask = |from: Value| {
        json!({"verb": "reprocess", "state": "dead", "type": "page", "limit": 3, "from": from,
            "requester": "somebody", "reason": "the target is back", "dry_run": false})
    };
    let first = both.ask(ask(Value::Null)).await;
    assert_eq!(first["count"], json!(3), "{first}");
    let second = both.ask(ask(first["next"].clone())).await;
    assert_eq!(second["count"], json!(1), "{second}");
    both.world.drain(40).await;
    for item in &dead[..4] {
        both.world.assert_applied(&[item]);
    }
    assert_eq!(
        both.world.item(&dead[4]).status,
        Some(Status::Dead),
        "a banner was not asked for"
    );
}

/// Found by the simulation: with a wake for each failed item, a person who asks for all of them whenever one fails doubled them each
/// time.
#[tokio::test(start_paused = true)]
async fn law_14_a_failure_that_lasts_does_not_grow_with_every_answer_to_it() {
    let both = Both::new();
    let mut events = Vec::new();
    for slug in ["/a", "/b", "/c"] {
        let change = both.write("page", "page-1", Some(slug), &[]);
        events.push(both.world.deliver(&change).await);
        tokio::time::advance(Duration::from_secs(60)).await;
    }
    let ask = json!({"verb": "reprocess", "state": "failed", "requester": "somebody", "reason": "told so", "dry_run": false});
    let open = |ledger: &MemoryLedger| -> Vec<OutboxItem> {
        let items = ledger.all_items().into_iter();
        items.filter(|item| item.status == Some(Status::Ready)).collect()
    };
    for round in 1..=4 {
        for item in open(&both.world.ledger) {
            both.fail(&item).await;
        }
        let answer = both.ask(ask.clone()).await;
        let failed = if round == 1 { 3 } else { 4 };
        assert_eq!(answer["count"], json!(failed), "{answer}");
        let ready = open(&both.world.ledger);
        assert_eq!(ready.len(), 1, "one wake for the document: {ready:?}");
        assert_eq!(ready[0].generation, Some(round));
        let asked = both.history(&events[0]).await;
        let asked = asked.iter().filter(|it| matches!(it, Happened::Operator(_)));
        assert_eq!(
            asked.count() as u64,
            3 + 4 * (round - 1),
            "each wish is on record"
        );
    }
    both.world.drain(40).await;
    both.world.assert_applied(&events.iter().collect::<Vec<_>>());
    let listed = both.ask(json!({"verb": "list", "state": "failed"})).await;
    assert_eq!(listed["items"], json!([]));
}

/// The wake under way may have been handled when the event is accepted: nothing would ever handle that.
#[tokio::test(start_paused = true)]
async fn law_14_what_is_accepted_from_review_has_a_wake_of_its_own() {
    let both = Both::new();
    let event = in_review(&both, Some("page-1"), "page").await;
    both.ask(json!({"verb": "reprocess", "document_id": "page-1", "requester": "somebody", "reason": "a test", "dry_run": false}))
        .await;
    let answer = both
        .ask(json!({"verb": "reprocess", "state": "in_review", "requester": "somebody", "reason": "a test", "dry_run": false}))
        .await;
    assert_eq!(answer["items"][0]["outcome"], "asked", "{answer}");
    assert_eq!(answer["items"][0]["generation"], 2);
    let item = both.world.item(&event.item);
    assert_eq!(item.state, State::Pending);
}

#[tokio::test(start_paused = true)]
async fn law_15_show_and_trace_say_why_a_page_was_purged() {
    let both = Both::new();
    both.publish("page", "page-1", Some("/a"), &["banner-1"]).await;
    let banner = both.publish("banner", "banner-1", None, &[]).await;
    let shown = both
        .ask(json!({"verb": "show", "event_id": banner.event_id}))
        .await;
    assert_eq!(shown["event"]["document_id"], "banner-1");
    assert_eq!(shown["item"]["state"], "applied");
    assert!(
        shown["event"].get("payload").is_none() && shown["event"].get("body").is_none(),
        "no content"
    );
    let shown = both
        .ask(json!({"verb": "show", "event_id": banner.event_id, "payload": true}))
        .await;
    assert!(
        shown["event"]["body"]
            .as_str()
            .unwrap()
            .contains("\"_id\":\"banner-1\"")
    );

    let traced = both.ask(json!({"verb": "trace", "slug": "/a"})).await;
    let because: BTreeSet<&str> = traced["purged"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["because_of"].as_str())
        .collect();
    assert_eq!(because, ["banner-1", "page-1"].into());

    let traced = both
        .ask(json!({"verb": "trace", "event_id": banner.event_id}))
        .await;
    assert_eq!(traced["document_id"], "banner-1");
    assert!(!traced["history"].as_array().unwrap().is_empty());
    assert_eq!(traced["plan"]["owed"], json!([]));
    for (asked, what) in [
        (json!({"verb": "trace", "slug": "/nowhere"}), "no page"),
        (
            json!({"verb": "trace", "document_id": "nobody"}),
            "nothing is known",
        ),
        (json!({"verb": "show", "event_id": "evt_none"}), "no event"),
    ] {
        let error = both.try_ask(asked).await.unwrap_err();
        assert_eq!(error.answer().unwrap()["error"]["code"], "not_found");
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn law_14_a_document_without_an_event_can_be_reprocessed() {
    let both = Both::new();
    both.write("page", "page-1", Some("/a"), &[]);
    both.ask(rebuild()).await;
    let asked = json!({"verb": "reprocess", "document_id": "page-1", "requester": "somebody", "reason": "a test", "dry_run": false});
    both.ask(asked).await;
    both.world.drain(20).await;
    assert_eq!(both.world.slugs(Layer::Storefront), ["/a"]);
    let items = both.world.ledger.all_items();
    assert!(
        items
            .iter()
            .all(|item| item.kind == Kind::Reprocess && item.state == State::Applied)
    );
}

#[tokio::test(start_paused = true)]
async fn drafts_are_not_reprocessed() {
    let both = Both::new();
    let observation = Observation {
        dataset: "production".to_owned(),
        document_id: "drafts.page-1".to_owned(),
        document_type: Some("page".to_owned()),
        class: ledger::item::Class::Write,
        seen: None,
        slugs: vec![],
    };
    let decision = Decision::Ignored {
        reason: "draft_or_version".to_owned(),
    };
    let now = platform::Clock::now(&both.world.clock);
    let event = NewEvent::observed(&observation, decision, now, &ledger_settings());
    let soon = Deadline::after(Duration::from_secs(5));
    both.world.ledger.record(&event, soon).await.unwrap();
    let error = both.try_ask(reprocess(event.event_id())).await.unwrap_err();
    assert_eq!(error.answer().unwrap()["error"]["code"], "refused");
}
