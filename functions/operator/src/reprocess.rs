//! `reprocess`: the same door as a new event (law 14). A new item raises the document's wanted generation; the consumer does
//! the rest, with every guarantee on.

use ledger::{
    intervention::Intervention,
    item::{Kind, Origin, OutboxItem, State, Status},
    record::{milliseconds, rfc3339},
    store::{
        DocumentState, Documents, Written,
        jobs::Letters,
        operator::{Change, Inspection, Interventions, Request},
    },
};
use platform::{Clock, Deadline, fault_point};
use routing::store::RouteStore;
use serde_json::{Value, json};
use std::time::Duration;

use crate::{
    Operator,
    answer::OperatorError,
    request::{Reprocess, since},
    target::Target,
    verbs::VERSION,
};

/// Attempts at one document while others change it.
const ROUNDS: usize = 5;
const SECONDS_A_DAY: i64 = 86_400;
/// With less than this left, no further document is begun.
const MARGIN: Duration = Duration::from_secs(5);

/// Who asks, why, and by which verb.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) verb: &'a str,
    pub(crate) requester: &'a str,
    pub(crate) because: &'a str,
}

/// The state as the answers and the index name it.
pub(crate) fn state_of(item: &OutboxItem) -> String {
    let key = item
        .state_key
        .as_deref()
        .and_then(|key| key.strip_prefix("STATE#"));
    let state = match item.state {
        State::Pending => "pending",
        State::Applied => "applied",
        State::Ignored => "ignored",
        State::InReview => "in_review",
        State::Failed => "failed",
    };
    key.unwrap_or(state).to_owned()
}

/// What a wish for a document does when a reprocess of it is under way already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnderWay {
    /// It is noted with that one: of a list, a document's events are as many wishes and one piece of work. With a wake for each,
    /// every answer to a failure that lasts would double what fails.
    Join,
    /// It is one more: somebody asks for this very event or document.
    Anew,
}

/// The generation that the relay or the Pipe will still bring to the consumer.
fn generation_under_way(state: &DocumentState) -> Option<u64> {
    let wakes = state
        .items
        .iter()
        .filter(|item| item.status == Some(Status::Ready));
    let newest = wakes.filter_map(|item| item.generation).max();
    newest.filter(|generation| *generation > state.head.generation)
}

/// The generation that a further wish asks for.
fn next_generation(state: &DocumentState) -> u64 {
    let asked = state.items.iter().filter_map(|item| item.generation).max();
    state.head.generation.max(asked.unwrap_or(0)) + 1
}

impl<L, R, S, C> Operator<L, R, S, C>
where
    L: Documents + Letters + Inspection + Interventions,
    R: RouteStore,
    C: Clock,
{
    pub(crate) async fn reprocess(
        &self,
        request: Reprocess,
        deadline: Deadline,
    ) -> Result<Value, OperatorError> {
        let asked = Asked {
            verb: "reprocess",
            requester: &request.requester,
            because: &request.reason,
        };
        let mut done = Vec::new();
        let mut next = None;
        if let Some(event_id) = &request.event_id {
            let target = self.target_of_event(event_id).await?;
            done.push(
                self.reprocess_one(target, asked, UnderWay::Anew, request.dry_run)
                    .await?,
            );
        } else if let Some(document_id) = &request.document_id {
            let dataset = self.dataset(request.dataset.clone())?;
            let target = self.target_of_document(&dataset, document_id).await?;
            done.push(
                self.reprocess_one(target, asked, UnderWay::Anew, request.dry_run)
                    .await?,
            );
        } else {
            let state = request.state.as_deref().unwrap_or_default();
            let since = since(request.since.as_deref())?;
            let wanted = request.document_type.as_deref();
            let listed = self
                .listed(state, wanted, &since, request.limit, request.from.clone())
                .await?;
            next = listed.next;
            for item in listed.items {
                if deadline.is_near(MARGIN) {
                    done.push(json!({"sort_key": item.sk, "outcome": "not_begun", "why": "no time left; ask again"}));
                    continue;
                }
                done.push(
                    self.reprocess_listed(&item, state, asked, request.dry_run)
                        .await?,
                );
            }
        }
        let (mut taken, mut refused) = (0, 0);
        for one in &done {
            match one["outcome"].as_str() {
                Some("asked" | "under_way" | "would_ask") => taken += 1,
                _ => refused += 1,
            }
        }
        Ok(json!({
            "dry_run": request.dry_run, "handler_version": VERSION, "count": taken, "not_taken": refused, "items": done, "next": next,
        }))
    }

    /// One line of a list: it may have moved on since the index was written, and one that cannot be reprocessed stops no other.
    async fn reprocess_listed(
        &self,
        item: &OutboxItem,
        state: &str,
        asked: Asked<'_>,
        dry_run: bool,
    ) -> Result<Value, OperatorError> {
        let refused = |why: String| json!({"event_id": item.event_id, "outcome": "refused", "why": why});
        let target = match self.target_of_item(&item.pk, &item.sk).await {
            Err(OperatorError::NotFound(why)) => return Ok(refused(why)),
            other => other?,
        };
        let now = target.item.as_ref().map(state_of).unwrap_or_default();
        if now != state {
            return Ok(refused(format!("it is {now} by now")));
        }
        match self.reprocess_one(target, asked, UnderWay::Join, dry_run).await {
            Err(OperatorError::Refused(why)) => Ok(refused(why)),
            other => other,
        }
    }

    /// Asks for one document to be handled again.
    pub(crate) async fn reprocess_one(
        &self,
        mut target: Target,
        asked: Asked<'_>,
        under_way: UnderWay,
        dry_run: bool,
    ) -> Result<Value, OperatorError> {
        let Some(document_id) = target.sleeper.document_id.clone() else {
            return Err(OperatorError::Refused(format!(
                "event {} names no document, so nothing can be computed from it; mend the hook's projection and settle it",
                target.sleeper.event_id
            )));
        };
        if document_id.starts_with("drafts.") || document_id.starts_with("versions.") {
            return Err(OperatorError::Refused(format!(
                "{document_id} is not published: no page shows it"
            )));
        }
        for round in 0..ROUNDS {
            let (request, generation) = self.request(&target, asked, under_way, round);
            let wake = request.wake.as_ref();
            let from_state = target.item.as_ref().map(state_of);
            let answer = |outcome: &str| {
                json!({
                    "event_id": target.sleeper.event_id, "document_id": document_id, "state": from_state,
                    "generation": generation, "outcome": outcome,
                    "message_deduplication_id": wake.and_then(|wake| wake.message_deduplication_id.clone()),
                })
            };
            if dry_run {
                return Ok(answer("would_ask"));
            }
            if self.ledger.intervene(&request).await? == Written::Done {
                fault_point!("operator.asked");
                self.metrics.count("EventsReprocessed", 1);
                tracing::info!(
                    event_id = target.sleeper.event_id,
                    generation,
                    requester = asked.requester,
                    "reprocessing was asked for"
                );
                return Ok(answer(if wake.is_some() { "asked" } else { "under_way" }));
            }
            target.state = self.whole(&target.sleeper.key).await?;
            if let Some(item) = &target.item {
                target.item = target.state.items.iter().find(|it| it.sk == item.sk).cloned();
            }
        }
        Err(OperatorError::Refused(format!(
            "{document_id} was changed {ROUNDS} times meanwhile; ask again"
        )))
    }

    fn request(
        &self,
        target: &Target,
        asked: Asked<'_>,
        under_way: UnderWay,
        round: usize,
    ) -> (Request, u64) {
        let now = self.clock.now();
        // What is accepted waits for a wake of its own: the one under way may come to its end before.
        let accepts = |item: &OutboxItem| item.kind == Kind::Event && item.state == State::InReview;
        let joins = under_way == UnderWay::Join && !target.item.as_ref().is_some_and(accepts);
        let joined = generation_under_way(&target.state).filter(|_| joins);
        let generation = joined.unwrap_or_else(|| next_generation(&target.state));
        let suffix = format!("g{generation}");
        let sleeper = &target.sleeper;
        // The item of a wake has a suffix of its own already; the request is about the event.
        let wake = joined.is_none().then(|| OutboxItem {
            generation: Some(generation),
            ..sleeper.wake(Kind::Reprocess, &suffix, Origin::Operator, now, &self.settings)
        });
        let change = target.item.as_ref().and_then(|item| {
            let change = match (item.kind, item.state_key.is_some()) {
                _ if accepts(item) => Change::Accept,
                (Kind::Recheck | Kind::Repeat | Kind::Reprocess, true) => Change::Close {
                    reason: format!("reprocessed as generation {generation}"),
                    expires_at: now.unix_timestamp() + self.settings.retention_days * SECONDS_A_DAY,
                },
                _ => return None,
            };
            Some((item.clone(), change))
        });
        let about = format!("{}#{suffix}", sleeper.event_id);
        let intervention = Intervention {
            pk: sleeper.key.clone(),
            // Another wish of the same millisecond may have this key.
            sk: Intervention::sort_key(milliseconds(now) + round as i64, &about),
            verb: asked.verb.to_owned(),
            requester: asked.requester.to_owned(),
            because: asked.because.to_owned(),
            event_id: sleeper.event_id.clone(),
            from_state: target.item.as_ref().map(state_of),
            generation: Some(generation),
            at: rfc3339(now),
            handler_version: VERSION.to_owned(),
        };
        let request = Request {
            intervention,
            wake,
            change,
        };
        (request, generation)
    }
}
