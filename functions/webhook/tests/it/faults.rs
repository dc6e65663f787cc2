//! A fault of ours is 503, so that Sanity tries again; and never a bad signature (law 1). In paused time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::*;
use platform::{Deadline, SecretError, fault::watched};
use serde_json::{Value, json};

async fn code(function: &Function<'_>, event: Value) -> (u16, String) {
    let answer = send(function, event).await;
    let code = answer.body.get("error").and_then(Value::as_str).unwrap_or("none");
    (answer.status, code.to_owned())
}

fn secret_unavailable() -> (u16, String) {
    (503, "secret_unavailable".to_owned())
}

fn mismatch() -> (u16, String) {
    (401, "signature_mismatch".to_owned())
}

fn accepted() -> (u16, String) {
    (200, "none".to_owned())
}

async fn pass(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn sanity_io_next_sanity_423_a_secret_that_cannot_be_read_never_reads_as_a_bad_signature() {
    for error in [
        SecretError::Denied,
        SecretError::Missing,
        SecretError::NotText,
        SecretError::Unavailable("ThrottlingException".into()),
    ] {
        let world = World::new();
        world.set_secrets(Err(error));
        let function = world.function();
        for secret in [SECRET, "another"] {
            assert_eq!(
                code(&function, event(&projection(json!({})), secret)).await,
                secret_unavailable()
            );
            assert_eq!(counted(&function), "WebhookFaults");
        }
        world.set_secrets(Ok(("", None)));
        assert_eq!(
            code(&function, edit(json!({}))).await,
            secret_unavailable(),
            "an empty secret is none"
        );
        world.set_secrets(Ok((SECRET, None)));
        assert_eq!(code(&function, edit(json!({}))).await, accepted(), "and it heals");
        assert_eq!(world.stored(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_no_secret_could_mend_is_refused_without_one() {
    let world = World::new();
    world.set_secrets(Err(SecretError::Denied));
    let function = world.function();
    let malformed = with_header(edit(json!({})), "sanity-webhook-signature", "nonsense");
    assert_eq!(
        code(&function, malformed).await,
        (400, "signature_malformed".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn two_secrets_are_live_and_the_event_says_which_verified() {
    let world = World::new();
    world.set_secrets(Ok((SECRET, Some(PREVIOUS))));
    let function = world.function();
    for (secret, revision, verified_by) in [(SECRET, "r1", "current"), (PREVIOUS, "r2", "previous")] {
        let answer = send(&function, event(&projection(json!({"_rev": revision})), secret)).await;
        let record = world
            .ledger
            .memory
            .event(answer.body["event_id"].as_str().unwrap())
            .unwrap();
        assert_eq!(record.verified_by, verified_by);
    }
}

#[tokio::test(start_paused = true)]
async fn a_rotation_is_noticed_by_the_first_signature_that_does_not_fit() {
    let world = World::new();
    let function = world.function();
    assert_eq!(code(&function, edit(json!({"_rev": "r1"}))).await, accepted());
    pass(31).await;
    world.set_secrets(Ok(("whsec_next", Some(SECRET))));
    assert_eq!(
        code(&function, event(&projection(json!({"_rev": "r2"})), "whsec_next")).await,
        accepted()
    );
    assert_eq!(
        code(&function, edit(json!({"_rev": "r3"}))).await,
        accepted(),
        "the old one stays live"
    );
    assert_eq!(world.secrets.reads.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn bad_signatures_do_not_become_calls() {
    let world = World::new();
    let function = world.function();
    assert_eq!(code(&function, edit(json!({}))).await, accepted());
    pass(31).await;
    for _ in 0..100 {
        assert_eq!(code(&function, event(b"{}", "another")).await, mismatch());
    }
    assert_eq!(world.secrets.reads.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_mismatch_while_the_secret_cannot_be_refreshed_proves_nothing() {
    let world = World::new();
    let function = world.function();
    assert_eq!(code(&function, edit(json!({"_rev": "r1"}))).await, accepted());
    pass(31).await;
    world.set_secrets(Err(SecretError::Denied));
    for _ in 0..3 {
        let unknown = event(&projection(json!({"_rev": "r2"})), "whsec_next");
        assert_eq!(code(&function, unknown).await, secret_unavailable());
    }
    assert_eq!(
        code(&function, edit(json!({"_rev": "r3"}))).await,
        accepted(),
        "what fits is accepted all along"
    );
    world.set_secrets(Ok(("whsec_next", None)));
    pass(31).await;
    assert_eq!(
        code(&function, event(&projection(json!({"_rev": "r2"})), "whsec_next")).await,
        accepted()
    );
}

#[tokio::test(start_paused = true)]
async fn a_ledger_that_does_not_commit() {
    for (fault, expected) in [
        (Fault::Busy, "ledger_unavailable"),
        (Fault::Denied, "ledger_unavailable"),
        (Fault::Corrupt, "ledger_unavailable"),
        (Fault::Hangs, "out_of_time"),
    ] {
        let world = World::new();
        let function = world.function();
        world.set_fault(fault);
        assert_eq!(
            code(&function, edit(json!({}))).await,
            (503, expected.to_owned()),
            "{fault:?}"
        );
        assert_eq!(counted(&function), "WebhookFaults");
        world.set_fault(Fault::None);
        let answer = send(&function, edit(json!({}))).await;
        assert_eq!(
            (answer.status, &answer.body["duplicate"]),
            (200, &json!(false)),
            "the retry is the first"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_is_near() {
    let world = World::new();
    let function = world.function();
    let near = Deadline::after(Duration::from_millis(1400));
    let answer = function.handle(edit(json!({})), None, near).await;
    assert_eq!(
        (answer.status, &answer.body["error"]),
        (503, &json!("out_of_time"))
    );
    assert_eq!(counted(&function), "WebhookFaults");
    assert_eq!(world.stored(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_hanging_ledger_leaves_time_to_answer() {
    let world = World::new();
    world.set_fault(Fault::Hangs);
    let function = world.function();
    let deadline = soon();
    let answer = function.handle(edit(json!({})), None, deadline).await;
    assert_eq!(answer.status, 503);
    assert!(
        deadline.remaining() >= Duration::from_millis(400),
        "{:?}",
        deadline.remaining()
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_not_api_gateways() {
    let world = World::new();
    let function = world.function();
    for other in [
        json!(null),
        json!({"version": "1.0", "httpMethod": "POST"}),
        json!({"Records": []}),
    ] {
        assert_eq!(code(&function, other).await, (503, "not_a_request".to_owned()));
        assert_eq!(counted(&function), "WebhookFaults");
    }
}

/// Sanity had no answer, so it sends the delivery again.
#[tokio::test(start_paused = true)]
async fn law_1_killed_at_any_step_and_sent_again_a_delivery_is_recorded_once() {
    let whole = watched(send(&World::new().function(), edit(json!({}))), None)
        .await
        .reached;
    assert_eq!(whole, ["webhook.verified", "webhook.recorded"]);
    for (place, name) in whole.iter().enumerate() {
        let world = World::new();
        let killed = watched(send(&world.function(), edit(json!({}))), Some(place)).await;
        assert!(killed.end.is_none());
        let again = send(&world.function(), edit(json!({}))).await;
        assert_eq!((again.status, world.stored()), (200, 1), "{name}");
        assert_eq!(again.body["duplicate"], place == 1);
    }
}
