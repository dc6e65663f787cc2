//! One request from its event to its answer.
//!
//! The order of the checks: method, content type, form of the signature, secret, signature, age, then the ledger. The
//! first that fails answers.

use std::time::Duration;

use ledger::record::{Decision, NewEvent, Settings};
use ledger::store::{Recorded, Recorder};
use platform::{Clock, Deadline, Metrics, SecretCache, SecretSource, fault_point};
use routing::RoutesConfig;
use sanity::delivery::Delivery;
use sanity::signature;
use serde_json::Value;
use time::OffsetDateTime;

use crate::answer::{Answer, Refusal};
use crate::decide::decide;
use crate::request::Request;
use crate::trace::trace_parent;
use crate::verify::{Verified, verify};

/// What is kept of the invocation's time for the answer itself.
const FOR_THE_ANSWER: Duration = Duration::from_millis(500);
/// With less than this, a commit is not begun: it could pass without an answer that says so, for nothing.
const FOR_A_COMMIT: Duration = Duration::from_secs(1);
/// Counting a duplicate is worth no more of Sanity's time; it sends one request after the other.
const FOR_A_COUNT: Duration = Duration::from_secs(1);

/// Everything that a request needs.
#[derive(Debug)]
pub struct Handler<R, S, C> {
    /// Where events are recorded.
    pub recorder: R,
    /// The live secrets.
    pub secrets: SecretCache<S>,
    /// What time it is.
    pub clock: C,
    /// Where requests are counted; flushed by the caller.
    pub metrics: Metrics,
    /// What the document types mean.
    pub routes: RoutesConfig,
    /// What an event is recorded with.
    pub settings: Settings,
    /// The oldest signature accepted; `None` accepts any.
    pub signature_max_age: Option<Duration>,
}

impl<R: Recorder, S: SecretSource, C: Clock> Handler<R, S, C> {
    /// Answers API Gateway's event. Never fails: what goes wrong is in the answer, the log and the metrics.
    pub async fn handle(&self, event: Value, xray: Option<&str>, deadline: Deadline) -> Answer {
        match self.accept(event, xray, deadline.earlier(FOR_THE_ANSWER)).await {
            Ok(answer) => answer,
            Err(refusal) => {
                self.metrics.count(refusal.metric(), 1);
                tracing::warn!(error = refusal.code(), "request refused");
                refusal.into()
            }
        }
    }

    async fn accept(&self, event: Value, xray: Option<&str>, deadline: Deadline) -> Result<Answer, Refusal> {
        let received_at = self.clock.now();
        let Request { headers, body, .. } = check_form(event)?;
        let header = headers.get(signature::HEADER).map(String::as_str);
        let verifying = deadline.bound(verify(&body, header, &self.secrets)).await;
        let Verified { signed_at, by } = verifying.map_err(|_| Refusal::SecretUnavailable)??;
        self.check_age(signed_at, received_at)?;

        let delivery = Delivery::read(&body, &headers, signed_at);
        let decision = decide(&delivery, &self.settings, &self.routes);
        let event = NewEvent::from_delivery(
            delivery,
            body,
            by.as_str(),
            decision.clone(),
            received_at,
            &self.settings,
            trace_parent(&headers, xray),
        );
        fault_point!("webhook.verified");
        let recorded = self.record(&event, deadline).await?;
        fault_point!("webhook.recorded");
        let event_id = event.event_id();
        tracing::info!(
            event_id,
            ?recorded,
            ?decision,
            verified_by = by.as_str(),
            "delivery recorded"
        );
        if recorded == Recorded::Contradiction {
            tracing::error!(
                event_id,
                "a revision was told again with other content; that is in review"
            );
            self.metrics.count("EventsInReview", 1);
        }
        if recorded != Recorded::New {
            self.count_duplicate(&event, deadline).await;
            return Ok(Answer::received(event_id).with("duplicate", true));
        }
        let (metric, state, reason) = match decision {
            Decision::Pending => ("EventsAccepted", "pending", None),
            Decision::Ignored { reason } => ("EventsIgnored", "ignored", Some(reason)),
            Decision::InReview { reason } => ("EventsInReview", "in_review", Some(reason)),
        };
        self.metrics.count(metric, 1);
        let answer = Answer::received(event_id)
            .with("duplicate", false)
            .with("state", state);
        Ok(match reason {
            Some(reason) => answer.with("reason", reason),
            None => answer,
        })
    }

    fn check_age(&self, signed_at: signature::SignedAt, now: OffsetDateTime) -> Result<(), Refusal> {
        let Some(max_age) = self.signature_max_age else {
            return Ok(());
        };
        // A time beyond all calendars is not old.
        let age = signed_at.instant().map(|signed_at| now - signed_at);
        if age.is_some_and(|age| age > max_age) {
            Err(Refusal::SignatureTooOld)
        } else {
            Ok(())
        }
    }

    async fn record(&self, event: &NewEvent, deadline: Deadline) -> Result<Recorded, Refusal> {
        if deadline.is_near(FOR_A_COMMIT) {
            return Err(Refusal::OutOfTime);
        }
        match deadline.bound(self.recorder.record(event, deadline)).await {
            Ok(Ok(recorded)) => Ok(recorded),
            Ok(Err(error)) => {
                tracing::error!(%error, event_id = event.event_id(), "the event could not be recorded");
                Err(Refusal::LedgerUnavailable)
            }
            Err(_) => Err(Refusal::OutOfTime),
        }
    }

    async fn count_duplicate(&self, event: &NewEvent, deadline: Deadline) {
        self.metrics.count("EventsDuplicate", 1);
        let counting = deadline
            .capped(FOR_A_COUNT)
            .bound(self.recorder.count_delivery(event))
            .await;
        if !matches!(counting, Ok(Ok(()))) {
            tracing::warn!(
                event_id = event.event_id(),
                "a duplicate could not be counted on its outbox item"
            );
        }
    }
}

/// What can be refused without a look at the signature.
fn check_form(event: Value) -> Result<Request, Refusal> {
    let request = Request::from_event(event).map_err(|_| {
        tracing::error!("the event is not one of an HTTP API with payload format 2.0");
        Refusal::NotARequest
    })?;
    if request.method != "POST" {
        return Err(Refusal::Method);
    }
    if !request.is_json() {
        return Err(Refusal::ContentType);
    }
    Ok(request)
}
