//! The requests of one purge: one token, renewed once when it is refused, and what the answers mean.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ledger::plan::Key;
use platform::{Deadline, Secret};
use reqwest::{RequestBuilder, StatusCode, Url};
use time::OffsetDateTime;

use crate::Reason;
use crate::http::{self, Reply, exchange, judge};
use crate::target::{KeyOutcome, Outage, PurgeReport};
use crate::token::TokenSource;
use crate::work::{Answer, Finished, Found};

pub(crate) struct Session<'a> {
    tokens: &'a dyn TokenSource,
    token: Mutex<Secret>,
    /// Other secrets that we send and that an error message may repeat.
    others: Vec<&'a Secret>,
    endpoint: &'a Url,
    limit: Duration,
    deadline: Deadline,
    calls: AtomicU32,
}

impl<'a> Session<'a> {
    /// Reads the token.
    pub(crate) async fn open(
        tokens: &'a dyn TokenSource,
        others: Vec<&'a Secret>,
        endpoint: &'a Url,
        limit: Duration,
        deadline: Deadline,
    ) -> Result<Self, Outage> {
        match tokens.current().await {
            Ok(token) => Ok(Self {
                tokens,
                token: Mutex::new(token),
                others,
                endpoint,
                limit,
                deadline,
                calls: AtomicU32::new(0),
            }),
            Err(error) => {
                let what = Reason::new(format!("the token cannot be read: {error}"));
                Err(Outage {
                    retry_after: None,
                    what,
                })
            }
        }
    }

    /// Requests sent so far.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    fn token(&self) -> Secret {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Our words and what the target said, without our secrets.
    pub(crate) fn quote(&self, ours: &str, theirs: &str) -> Reason {
        let token = self.token();
        // In a query the token stands percent-encoded.
        let mut url = self.endpoint.clone();
        url.query_pairs_mut().clear().append_key_only(token.expose());
        let encoded = Secret::new(url.query().unwrap_or_default());
        let secrets: Vec<&Secret> = [&token, &encoded]
            .into_iter()
            .chain(self.others.iter().copied())
            .collect();
        Reason::quoting(ours, theirs, &secrets)
    }

    /// Sends what `build` makes of the token, and gives the body of a 2xx. A token that is refused may have been rotated since it
    /// was read: if there is a newer one the request goes out once more.
    pub(crate) async fn post(
        &self,
        build: impl Fn(&Secret) -> Option<RequestBuilder> + Send + Sync,
    ) -> Result<Vec<u8>, Answer> {
        let token = self.token();
        let (status, answer) = self.once(&build, &token).await;
        match status {
            Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => match self.newer_than(&token).await {
                Some(newer) => self.once(&build, &newer).await.1,
                None => answer,
            },
            _ => answer,
        }
    }

    async fn newer_than(&self, used: &Secret) -> Option<Secret> {
        let known = self.token();
        if known != *used {
            return Some(known);
        }
        let newer = self
            .tokens
            .renewed()
            .await
            .ok()
            .flatten()
            .filter(|newer| newer != used)?;
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = newer.clone();
        Some(newer)
    }

    async fn once(
        &self,
        build: &(impl Fn(&Secret) -> Option<RequestBuilder> + Send + Sync),
        token: &Secret,
    ) -> (Option<StatusCode>, Result<Vec<u8>, Answer>) {
        let out = |what: &str| {
            Err(Answer::Outage(Outage {
                retry_after: None,
                what: what.into(),
            }))
        };
        let Some(request) = build(token) else {
            return (None, out("the token has characters that a header cannot hold"));
        };
        self.calls.fetch_add(1, Ordering::Relaxed);
        match exchange(request, self.limit, self.deadline).await {
            Reply::OutOfTime => (None, Err(Answer::OutOfTime)),
            Reply::Nothing(what) => (None, out(what)),
            Reply::Answered {
                status,
                headers,
                body,
            } => {
                let said = self.quote(&format!("HTTP {}", status.as_u16()), &http::message(&body));
                let answer = match judge(status, &headers, self.endpoint, said, OffsetDateTime::now_utc()) {
                    None => Ok(body),
                    Some(answer) => Err(answer),
                };
                (Some(status), answer)
            }
        }
    }
}

/// The report on `keys`, each of which is some units of the work, or was refused before anything was sent.
pub(crate) fn report(
    keys: &[Key],
    units_of: Vec<Result<Vec<usize>, Reason>>,
    finished: &Finished,
    calls: u32,
) -> PurgeReport {
    let suspect = |units: &[usize]| units.iter().any(|unit| finished.suspects.contains(unit));
    let mut report = PurgeReport {
        outage: finished.outage.clone(),
        calls,
        ..PurgeReport::default()
    };
    for (key, units) in keys.iter().zip(units_of) {
        let outcome = match units {
            Err(reason) => KeyOutcome::Refused { reason },
            Ok(units) => {
                if suspect(&units) && !report.suspects.contains(key) {
                    report.suspects.push(key.clone());
                }
                outcome(units.iter().filter_map(|unit| finished.found.get(*unit)))
            }
        };
        report.outcomes.push((key.clone(), outcome));
    }
    report
}

/// A key is confirmed when all its units are.
fn outcome<'a>(units: impl Iterator<Item = &'a Found>) -> KeyOutcome {
    let mut outcome = None;
    for found in units {
        outcome = Some(match (outcome, found) {
            (Some(failed @ KeyOutcome::Failed { .. }), _) => failed,
            (_, Found::Failed(reason)) => KeyOutcome::Failed {
                reason: reason.clone(),
            },
            (Some(refused @ KeyOutcome::Refused { .. }), _) => refused,
            (_, Found::Refused(reason)) => KeyOutcome::Refused {
                reason: reason.clone(),
            },
            (_, Found::Confirmed) => KeyOutcome::Confirmed,
        });
    }
    outcome.unwrap_or(KeyOutcome::Failed {
        reason: Reason::new("not tried"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_several_units_takes_the_worst_of_them() {
        let (failed, refused) = (Found::Failed("f".into()), Found::Refused("r".into()));
        let of = |units: &[&Found]| outcome(units.iter().copied());
        assert_eq!(of(&[&Found::Confirmed, &Found::Confirmed]), KeyOutcome::Confirmed);
        assert_eq!(
            of(&[&Found::Confirmed, &refused]),
            KeyOutcome::Refused { reason: "r".into() }
        );
        for units in [
            [&failed, &refused],
            [&refused, &failed],
            [&Found::Confirmed, &failed],
        ] {
            assert_eq!(of(&units), KeyOutcome::Failed { reason: "f".into() });
        }
        assert!(!of(&[]).is_confirmed());
    }
}
