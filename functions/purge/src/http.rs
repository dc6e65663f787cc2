//! One POST to a target, and whose fault its status is.

use std::time::Duration;

use platform::Deadline;
use reqwest::header::{HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, RequestBuilder, StatusCode, Url, redirect};
use serde_json::Value;
use time::OffsetDateTime;

use crate::retry_after::retry_after;
use crate::work::Answer;
use crate::{Outage, Reason};

/// An answer has a line a key at most; what is larger is not from the target we think it is.
const LARGEST_ANSWER: usize = 1024 * 1024;
/// Time kept back before the deadline, so that what was confirmed can still be recorded.
const MARGIN: Duration = Duration::from_millis(100);

/// Why a target cannot be made from its configuration. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationProblem {
    /// The address is not one.
    #[error("{0} must be an http or https address without credentials, query or fragment")]
    Address(&'static str),
    /// An extra header cannot be sent.
    #[error("the extra header {0:?} has a name or a value that a header cannot have")]
    Header(String),
    /// A name is not a GraphQL name.
    #[error("{0:?} is not a GraphQL name")]
    Name(String),
    /// The HTTP client could not be built, e.g. for want of TLS roots.
    #[error("the HTTP client could not be built")]
    Client,
}

/// A client that never follows a redirect: it would carry the secret to wherever the answer points.
pub(crate) fn client() -> Result<Client, ConfigurationProblem> {
    Client::builder()
        .redirect(redirect::Policy::none())
        .connect_timeout(Duration::from_secs(5))
        .user_agent(concat!("cascata/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|_| ConfigurationProblem::Client)
}

/// Checks an address, without a trailing slash.
pub(crate) fn address(text: &str, what: &'static str) -> Result<Url, ConfigurationProblem> {
    let problem = ConfigurationProblem::Address(what);
    let url = Url::parse(text.trim().trim_end_matches('/')).map_err(|_| problem.clone())?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    plain.then_some(url).ok_or(problem)
}

/// A header value that never shows in debug output.
pub(crate) fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// What came back.
#[derive(Debug)]
pub(crate) enum Reply {
    Answered {
        status: StatusCode,
        headers: HeaderMap,
        body: Vec<u8>,
    },
    /// No answer, or not a whole one; in our words, since the client's own text holds the address, and with it a secret.
    Nothing(&'static str),
    /// The deadline came before the target's time was up.
    OutOfTime,
}

/// Sends `request`; waits `limit` for the whole answer, less if the deadline is nearer.
pub(crate) async fn exchange(request: RequestBuilder, limit: Duration, deadline: Deadline) -> Reply {
    let left = deadline.remaining().saturating_sub(MARGIN);
    match tokio::time::timeout(limit.min(left), receive(request)).await {
        Ok(reply) => reply,
        Err(_) if left < limit => Reply::OutOfTime,
        Err(_) => Reply::Nothing("no answer in time"),
    }
}

async fn receive(request: RequestBuilder) -> Reply {
    let mut response = match request.send().await {
        Ok(response) => response,
        Err(error) if error.is_timeout() => return Reply::Nothing("no connection in time"),
        Err(error) if error.is_connect() => return Reply::Nothing("no connection"),
        Err(error) if error.is_builder() => return Reply::Nothing("the request could not be built"),
        Err(_) => return Reply::Nothing("the connection broke"),
    };
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > LARGEST_ANSWER => {
                return Reply::Nothing("the answer is larger than any that was expected");
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => {
                return Reply::Answered {
                    status,
                    headers,
                    body,
                };
            }
            Err(_) => return Reply::Nothing("the answer broke off"),
        }
    }
}

/// What a status other than 2xx means; `None` for 2xx, which only the body explains. `said` is what the body says, in one line.
pub(crate) fn judge(
    status: StatusCode,
    headers: &HeaderMap,
    endpoint: &Url,
    said: Reason,
    now: OffsetDateTime,
) -> Option<Answer> {
    let wait = || retry_after(headers, now);
    let out = |what: Reason| {
        Answer::Outage(Outage {
            retry_after: wait(),
            what,
        })
    };
    match status.as_u16() {
        200..=299 => None,
        408 | 429 | 503 => Some(out(said)),
        // A rotated token, a route that moved or does not take POST: nothing that a key could do.
        401 | 403 | 404 | 405 | 407 => Some(out(said)),
        300..=399 if endpoint_moved(headers, endpoint) => Some(out(Reason::new(format!(
            "{said}: the endpoint itself is redirected"
        )))),
        300..=499 => Some(Answer::OfSomeUnit(said)),
        500..=599 => Some(Answer::OfSomeUnitOrTarget {
            reason: said,
            retry_after: wait(),
        }),
        _ => Some(out(said)),
    }
}

/// A redirect to another host, or to the same path with other slashes at its end: `http` to `https`, a sign-in page, the
/// endpoint under `trailingSlash`. A key has no part in that.
fn endpoint_moved(headers: &HeaderMap, endpoint: &Url) -> bool {
    let target = headers
        .get(LOCATION)
        .and_then(|location| location.to_str().ok())
        .and_then(|location| endpoint.join(location).ok());
    target.is_some_and(|target| {
        let bare = |url: &Url| url.path().trim_end_matches('/').to_owned();
        target.host_str() != endpoint.host_str() || bare(&target) == bare(endpoint)
    })
}

/// The error message of a JSON answer in any of its usual places: GraphQL `errors`, `message`, `error`.
pub(crate) fn message(body: &[u8]) -> String {
    let Ok(json) = serde_json::from_slice::<Value>(body) else {
        return String::new();
    };
    let places = ["/errors/0/message", "/message", "/error/message", "/error"];
    let text = places
        .iter()
        .find_map(|place| json.pointer(place).and_then(Value::as_str));
    text.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(status: u16, headers: &[(&'static str, &str)]) -> Option<Answer> {
        let headers = headers
            .iter()
            .map(|(name, value)| {
                (
                    reqwest::header::HeaderName::from_static(name),
                    HeaderValue::from_str(value).unwrap(),
                )
            })
            .collect();
        let endpoint = Url::parse("https://shop.example/api/revalidate?secret=s3cret").unwrap();
        let status = StatusCode::from_u16(status).unwrap();
        let said = Reason::new(format!("HTTP {}", status.as_u16()));
        judge(status, &headers, &endpoint, said, OffsetDateTime::UNIX_EPOCH)
    }

    #[test]
    fn a_status_tells_whose_fault_it_is() {
        for status in [401, 403, 404, 405, 407, 408, 429, 503] {
            assert!(matches!(judged(status, &[]), Some(Answer::Outage(_))), "{status}");
        }
        for status in [300, 301, 304, 307, 308, 400, 402, 409, 410, 413, 422, 431, 451] {
            assert!(
                matches!(judged(status, &[]), Some(Answer::OfSomeUnit(_))),
                "{status}"
            );
        }
        for status in [500, 501, 502, 504, 520, 599] {
            assert!(
                matches!(judged(status, &[]), Some(Answer::OfSomeUnitOrTarget { .. })),
                "{status}"
            );
        }
        for status in [200, 202, 204, 207] {
            assert_eq!(judged(status, &[]), None);
        }
    }

    #[test]
    fn the_wish_of_the_target_is_kept() {
        for status in [429, 503] {
            let Some(Answer::Outage(outage)) = judged(status, &[("retry-after", "17")]) else {
                panic!()
            };
            assert_eq!(outage.retry_after, Some(Duration::from_secs(17)));
        }
    }

    #[test]
    fn a_redirect_of_the_endpoint_is_no_keys_fault() {
        for location in [
            "/api/revalidate/",
            "http://shop.example/api/revalidate",
            "https://www.shop.example/",
            "//login.example/x",
        ] {
            assert!(
                matches!(judged(308, &[("location", location)]), Some(Answer::Outage(_))),
                "{location}"
            );
        }
        for location in ["/a/", "/api/other", "https://shop.example/a"] {
            assert!(
                matches!(
                    judged(308, &[("location", location)]),
                    Some(Answer::OfSomeUnit(_))
                ),
                "{location}"
            );
        }
    }

    #[test]
    fn an_address_holds_no_secret_and_no_surprise() {
        assert_eq!(
            address(" https://x.example/shop/ ", "X").unwrap().as_str(),
            "https://x.example/shop"
        );
        assert!(address("http://127.0.0.1:3000", "X").is_ok());
        for wrong in [
            "",
            "x.example",
            "ftp://x",
            "https://u:p@x.example",
            "https://x.example?a=b",
            "https://x.example#a",
        ] {
            assert_eq!(
                address(wrong, "X"),
                Err(ConfigurationProblem::Address("X")),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_message_is_found_in_its_usual_places() {
        for body in [
            r#"{"errors":[{"message":"m"}]}"#,
            r#"{"message":"m"}"#,
            r#"{"error":"m"}"#,
            r#"{"error":{"message":"m"}}"#,
        ] {
            assert_eq!(message(body.as_bytes()), "m");
        }
        assert_eq!(message(b"<html>"), "");
        assert_eq!(message(br#"{"message":{"a":1}}"#), "");
    }
}
