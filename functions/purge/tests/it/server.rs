//! A server that keeps what it was asked, and keys to ask it about.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ledger::plan::Key;
use platform::Deadline;
use purge::{KeyOutcome, PurgeReport};
use serde_json::Value;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

pub(crate) fn object(graphql_type: &str, id: &str) -> Key {
    Key::Object {
        graphql_type: graphql_type.to_owned(),
        id: id.to_owned(),
    }
}

pub(crate) fn slug(slug: &str) -> Key {
    Key::Slug {
        slug: slug.to_owned(),
    }
}

pub(crate) fn slugs(count: usize) -> Vec<Key> {
    (0..count).map(|number| slug(&format!("/{number}"))).collect()
}

pub(crate) fn a_minute() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

/// Answers the n-th request (from 0) with what `answer` says to it and its body.
pub(crate) async fn serve(
    answer: impl Fn(usize, &Value) -> ResponseTemplate + Send + Sync + 'static,
) -> MockServer {
    let server = MockServer::start().await;
    let count = Arc::new(AtomicUsize::new(0));
    Mock::given(any())
        .respond_with(move |request: &Request| {
            let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
            answer(count.fetch_add(1, Ordering::SeqCst), &body)
        })
        .mount(&server)
        .await;
    server
}

pub(crate) fn json(status: u16, body: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_raw(body.to_owned(), "application/json")
}

pub(crate) async fn asked(server: &MockServer) -> Vec<Request> {
    server.received_requests().await.unwrap()
}

/// The outcomes in short: `.` confirmed, `R` refused, `f` failed.
pub(crate) fn short(report: &PurgeReport) -> String {
    let letter = |outcome: &KeyOutcome| match outcome {
        KeyOutcome::Confirmed => '.',
        KeyOutcome::Refused { .. } => 'R',
        KeyOutcome::Failed { .. } => 'f',
    };
    report
        .outcomes
        .iter()
        .map(|(_, outcome)| letter(outcome))
        .collect()
}

pub(crate) fn reason(report: &PurgeReport, place: usize) -> &str {
    match &report.outcomes[place].1 {
        KeyOutcome::Confirmed => "",
        KeyOutcome::Refused { reason } | KeyOutcome::Failed { reason } => reason.as_str(),
    }
}

pub(crate) fn outage(report: &PurgeReport) -> &str {
    report.outage.as_ref().map_or("", |outage| outage.what.as_str())
}
