//! `settle`: closes what nothing will handle, with a reason.

use ledger::{
    intervention::Intervention,
    record::{milliseconds, rfc3339},
    store::{
        Documents, Written,
        jobs::Letters,
        operator::{Change, Inspection, Interventions, Request},
    },
};
use platform::{Clock, fault_point};
use serde_json::{Value, json};

use crate::{
    Operator,
    answer::{OperatorError, line},
    reprocess::state_of,
    request::Settle,
    verbs::VERSION,
};

const SECONDS_A_DAY: i64 = 86_400;

impl<L, R, S, C> Operator<L, R, S, C>
where
    L: Documents + Letters + Inspection + Interventions,
    C: Clock,
{
    pub(crate) async fn settle(&self, asked: Settle) -> Result<Value, OperatorError> {
        let target = match (&asked.event_id, &asked.document_key, &asked.sort_key) {
            (Some(event_id), ..) => self.target_of_event(event_id).await?,
            (_, Some(pk), Some(sk)) => self.target_of_item(pk, sk).await?,
            _ => return Err(OperatorError::BadRequest("nothing is named".to_owned())),
        };
        let item = target.item.ok_or_else(|| {
            OperatorError::NotFound("its outbox item has expired; there is nothing to settle".to_owned())
        })?;
        let state = state_of(&item);
        if item.state_key.is_none() {
            return Err(OperatorError::Refused(format!(
                "it is {state}; only what is in_review, failed or dead can be settled"
            )));
        }
        if asked.dry_run {
            return Ok(
                json!({"dry_run": true, "outcome": "would_settle", "state": state, "item": line(&item)}),
            );
        }
        let now = self.clock.now();
        let request = Request {
            intervention: Intervention {
                pk: item.pk.clone(),
                sk: Intervention::sort_key(milliseconds(now), &format!("{}#settle", item.message_base())),
                verb: "settle".to_owned(),
                requester: asked.requester,
                because: asked.reason.clone(),
                event_id: item.event_id.clone(),
                from_state: Some(state.clone()),
                generation: None,
                at: rfc3339(now),
                handler_version: VERSION.to_owned(),
            },
            wake: None,
            change: Some((
                item.clone(),
                Change::Close {
                    reason: format!("settled by hand: {}", asked.reason),
                    expires_at: now.unix_timestamp() + self.settings.retention_days * SECONDS_A_DAY,
                },
            )),
        };
        if self.ledger.intervene(&request).await? == Written::Moved {
            return Err(OperatorError::Refused(
                "it was changed meanwhile; look at it again".to_owned(),
            ));
        }
        fault_point!("operator.settled");
        self.metrics.count("EventsSettledByHand", 1);
        tracing::info!(event_id = item.event_id, state, "settled by hand");
        Ok(json!({"dry_run": false, "outcome": "settled", "state": state, "event_id": item.event_id}))
    }
}
