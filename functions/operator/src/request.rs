//! What can be asked, read strictly: a misspelt field is an error, not a default.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::answer::OperatorError;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// What waits for a person.
    List(List),
    /// One event.
    Show(Show),
    /// One document or slug.
    Trace(Trace),
    /// Handle again.
    Reprocess(Reprocess),
    /// Close.
    Settle(Settle),
    /// Build routes.
    Rebuild(Rebuild),
}

/// The verbs, for error messages.
const VERBS: &str = "list, show, trace, reprocess, settle, rebuild";

/// `list`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// `in_review`, `failed` or `dead`.
    pub state: String,
    /// Only of this `_type`.
    #[serde(default, rename = "type")]
    pub document_type: Option<String>,
    /// Only what was received at or after this time, RFC 3339.
    #[serde(default)]
    pub since: Option<String>,
    /// How many at the most: 1 to 500.
    #[serde(default = "fifty")]
    pub limit: u32,
    /// `next` of the answer before.
    #[serde(default)]
    pub from: Option<String>,
}

/// `show`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// The event.
    pub event_id: String,
    /// With the body as received. It holds content: leave it out where the answer is logged.
    #[serde(default)]
    pub payload: bool,
}

/// `trace`: exactly one of the three.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The document of this event.
    #[serde(default)]
    pub event_id: Option<String>,
    /// This document.
    #[serde(default)]
    pub document_id: Option<String>,
    /// The page at this slug, and what it is made of.
    #[serde(default)]
    pub slug: Option<String>,
    /// Default: the first dataset of this stack.
    #[serde(default)]
    pub dataset: Option<String>,
    /// History entries a document, newest kept: 1 to 500.
    #[serde(default = "fifty")]
    pub limit: u32,
}

/// `reprocess`: one of `event_id`, `document_id`, `state`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reprocess {
    /// This event.
    #[serde(default)]
    pub event_id: Option<String>,
    /// The newest state of this document.
    #[serde(default)]
    pub document_id: Option<String>,
    /// Everything in this state: `in_review`, `failed` or `dead`.
    #[serde(default)]
    pub state: Option<String>,
    /// With `state`: only of this `_type`.
    #[serde(default, rename = "type")]
    pub document_type: Option<String>,
    /// With `state`: only what was received at or after this time.
    #[serde(default)]
    pub since: Option<String>,
    /// With `state`: how many in one call at the most: 1 to 100.
    #[serde(default = "twenty")]
    pub limit: u32,
    /// With `state`: `next` of the answer before.
    #[serde(default)]
    pub from: Option<String>,
    /// Default: the first dataset of this stack.
    #[serde(default)]
    pub dataset: Option<String>,
    /// Who asks.
    pub requester: String,
    /// Why.
    pub reason: String,
    /// True unless said otherwise: only say what would be done.
    #[serde(default = "yes")]
    pub dry_run: bool,
}

/// `settle`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// The event. Or else:
    #[serde(default)]
    pub event_id: Option<String>,
    /// the two keys that `list` shows, for a wake that is no event of its own.
    #[serde(default)]
    pub document_key: Option<String>,
    /// See `document_key`.
    #[serde(default)]
    pub sort_key: Option<String>,
    /// Who asks.
    pub requester: String,
    /// Why nothing will handle it.
    pub reason: String,
    /// True unless said otherwise.
    #[serde(default = "yes")]
    pub dry_run: bool,
}

/// `rebuild`: everything, or only some ids or one type.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rebuild {
    /// Only these documents: 1 to 1000.
    #[serde(default)]
    pub ids: Option<Vec<String>>,
    /// Only this `_type`.
    #[serde(default, rename = "type")]
    pub document_type: Option<String>,
    /// Default: the first dataset of this stack.
    #[serde(default)]
    pub dataset: Option<String>,
    /// Begin anew, although an earlier rebuild stopped half way.
    #[serde(default)]
    pub restart: bool,
    /// With a dry run: `next` of the answer before.
    #[serde(default)]
    pub from: Option<String>,
    /// Who asks.
    pub requester: String,
    /// Why.
    pub reason: String,
    /// True unless said otherwise.
    #[serde(default = "yes")]
    pub dry_run: bool,
}

fn yes() -> bool {
    true
}

fn twenty() -> u32 {
    20
}

fn fifty() -> u32 {
    50
}

fn bad(what: impl Into<String>) -> OperatorError {
    OperatorError::BadRequest(what.into())
}

/// Checks that a limit is in its range.
fn within(limit: u32, most: u32) -> Result<(), OperatorError> {
    if (1..=most).contains(&limit) {
        Ok(())
    } else {
        Err(bad(format!("`limit` must be 1 to {most}, not {limit}")))
    }
}

fn waiting(state: &str) -> Result<(), OperatorError> {
    let states = ledger::store::operator::WAITING;
    if states.contains(&state) {
        Ok(())
    } else {
        Err(bad(format!(
            "`state` must be one of {}, not {state:?}",
            states.join(", ")
        )))
    }
}

fn said(name: &str, text: &str) -> Result<(), OperatorError> {
    if text.trim().is_empty() || text.len() > 500 {
        return Err(bad(format!("`{name}` must be said, in 500 bytes at the most")));
    }
    Ok(())
}

fn one_of(names: &str, given: &[bool]) -> Result<(), OperatorError> {
    match given.iter().filter(|it| **it).count() {
        1 => Ok(()),
        _ => Err(bad(format!("exactly one of {names} must be given"))),
    }
}

/// A time as the index writes it: RFC 3339 to the millisecond. Empty for none.
pub(crate) fn since(text: Option<&str>) -> Result<String, OperatorError> {
    text.map_or(Ok(String::new()), |text| {
        OffsetDateTime::parse(text, &Rfc3339)
            .map(ledger::record::rfc3339)
            .map_err(|_| {
                bad(format!(
                    "`since` must be a time such as 2026-01-31T12:00:00Z, not {text:?}"
                ))
            })
    })
}

impl Request {
    /// Reads and checks a request.
    ///
    /// # Errors
    /// [`OperatorError::BadRequest`], with what is allowed.
    pub fn read(event: &Value) -> Result<Self, OperatorError> {
        let mut fields = event
            .as_object()
            .cloned()
            .ok_or_else(|| bad(format!("an object with a `verb` is expected: {VERBS}")))?;
        let verb = fields.remove("verb");
        let verb = verb
            .as_ref()
            .and_then(Value::as_str)
            .ok_or_else(|| bad(format!("`verb` is missing: {VERBS}")))?;
        let fields = Value::Object(fields);
        let request = match verb {
            "list" => Self::List(fields_of(verb, fields)?),
            "show" => Self::Show(fields_of(verb, fields)?),
            "trace" => Self::Trace(fields_of(verb, fields)?),
            "reprocess" => Self::Reprocess(fields_of(verb, fields)?),
            "settle" => Self::Settle(fields_of(verb, fields)?),
            "rebuild" => Self::Rebuild(fields_of(verb, fields)?),
            other => return Err(bad(format!("`verb` {other:?} is none of {VERBS}"))),
        };
        request.check()?;
        Ok(request)
    }

    fn check(&self) -> Result<(), OperatorError> {
        match self {
            Self::List(list) => {
                waiting(&list.state)?;
                since(list.since.as_deref())?;
                within(list.limit, 500)
            }
            Self::Show(show) => said("event_id", &show.event_id),
            Self::Trace(trace) => {
                within(trace.limit, 500)?;
                let given = [&trace.event_id, &trace.document_id, &trace.slug].map(Option::is_some);
                one_of("`event_id`, `document_id`, `slug`", &given)
            }
            Self::Reprocess(asked) => {
                said("requester", &asked.requester)?;
                said("reason", &asked.reason)?;
                within(asked.limit, 100)?;
                since(asked.since.as_deref())?;
                if let Some(state) = &asked.state {
                    waiting(state)?;
                } else if asked.document_type.is_some() || asked.since.is_some() || asked.from.is_some() {
                    return Err(bad("`type`, `since` and `from` go with `state`"));
                }
                let given = [&asked.event_id, &asked.document_id, &asked.state].map(Option::is_some);
                one_of("`event_id`, `document_id`, `state`", &given)
            }
            Self::Settle(asked) => {
                said("requester", &asked.requester)?;
                said("reason", &asked.reason)?;
                if asked.document_key.is_some() != asked.sort_key.is_some() {
                    return Err(bad("`document_key` and `sort_key` go together"));
                }
                let given = [asked.event_id.is_some(), asked.sort_key.is_some()];
                one_of("`event_id`, `document_key` with `sort_key`", &given)
            }
            Self::Rebuild(asked) => {
                said("requester", &asked.requester)?;
                said("reason", &asked.reason)?;
                if asked.ids.is_some() && asked.document_type.is_some() {
                    return Err(bad("`ids` and `type` exclude each other"));
                }
                match asked.ids.as_ref().map(Vec::len) {
                    Some(0 | 1001..) => Err(bad("`ids` must hold 1 to 1000 ids")),
                    _ => Ok(()),
                }
            }
        }
    }
}

fn fields_of<T: DeserializeOwned>(verb: &str, fields: Value) -> Result<T, OperatorError> {
    serde_json::from_value(fields).map_err(|error| bad(format!("{verb}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(event: Value) -> String {
        Request::read(&event).unwrap_err().to_string()
    }

    #[test]
    fn law_14_what_changes_something_is_a_dry_run_and_says_who_and_why() {
        let asked = json!({"verb": "reprocess", "event_id": "evt_1", "requester": "me", "reason": "because"});
        let Request::Reprocess(read) = Request::read(&asked).unwrap() else {
            panic!()
        };
        assert!(read.dry_run);
        for (missing, name) in [
            (
                json!({"verb": "reprocess", "event_id": "evt_1", "reason": "r"}),
                "requester",
            ),
            (
                json!({"verb": "reprocess", "event_id": "evt_1", "requester": "me"}),
                "reason",
            ),
            (
                json!({"verb": "settle", "event_id": "evt_1", "requester": "me", "reason": " "}),
                "reason",
            ),
            (
                json!({"verb": "rebuild", "requester": "", "reason": "r"}),
                "requester",
            ),
        ] {
            assert!(problem(missing).contains(name), "{name}");
        }
    }

    #[test]
    fn bad_input_is_told_what_is_allowed() {
        let cases = [
            (json!([]), "list, show, trace"),
            (json!({}), "`verb` is missing"),
            (json!({"verb": "purge"}), "none of list, show"),
            (
                json!({"verb": "list", "state": "pending"}),
                "in_review, failed, dead",
            ),
            (json!({"verb": "list", "state": "failed", "limit": 0}), "1 to 500"),
            (
                json!({"verb": "list", "state": "failed", "since": "yesterday"}),
                "2026-01-31",
            ),
            (json!({"verb": "list", "state": "failed", "typ": "page"}), "typ"),
            (json!({"verb": "trace"}), "exactly one of"),
            (
                json!({"verb": "reprocess", "event_id": "e", "state": "failed", "requester": "m", "reason": "r"}),
                "exactly one of",
            ),
            (
                json!({"verb": "reprocess", "event_id": "e", "type": "page", "requester": "m", "reason": "r"}),
                "go with `state`",
            ),
            (
                json!({"verb": "rebuild", "ids": [], "requester": "m", "reason": "r"}),
                "1 to 1000",
            ),
        ];
        for (event, expected) in cases {
            let problem = problem(event.clone());
            assert!(problem.contains(expected), "{event}: {problem}");
        }
    }
}
