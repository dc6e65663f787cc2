//! What an answer of the query API means.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use super::{QueryError, describe};

/// No query of ours comes near; a larger answer is a mistake that would fill the memory.
const LARGEST: usize = 16 * 1024 * 1024;
const LONGEST_WAIT: Duration = Duration::from_secs(900);

/// Reads an answer: its result, or what its status and message say.
pub(super) async fn read<T: DeserializeOwned>(response: reqwest::Response) -> Result<T, QueryError> {
    let status = response.status();
    let retry_after = retry_after(response.headers(), OffsetDateTime::now_utc());
    let body = body(response).await;
    if status == StatusCode::OK {
        return result(&body?);
    }
    let what = message(&body.unwrap_or_default(), status);
    Err(match status.as_u16() {
        429 => QueryError::Throttled { retry_after },
        401..=404 => QueryError::Refused {
            status: status.as_u16(),
            what,
        },
        408 | 425 => QueryError::Unavailable { what, retry_after },
        400..=499 => QueryError::Invalid { what },
        _ => QueryError::Unavailable { what, retry_after },
    })
}

fn result<T: DeserializeOwned>(body: &[u8]) -> Result<T, QueryError> {
    let answer: Option<Map<String, Value>> = serde_json::from_slice(body).ok();
    let result = answer.and_then(|mut answer| answer.remove("result"));
    let result = result.ok_or_else(|| QueryError::unavailable("an answer that is not the API's"))?;
    // Content stays out of errors: serde's message can quote it, line and column cannot.
    serde_json::from_value(result).map_err(|error| QueryError::Invalid {
        what: format!(
            "the result has another shape than expected ({:?})",
            error.classify()
        ),
    })
}

async fn body(mut response: reqwest::Response) -> Result<Vec<u8>, QueryError> {
    let mut body = vec![];
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| QueryError::unavailable(describe(&error)))?
    {
        if body.len() + chunk.len() > LARGEST {
            return Err(QueryError::Invalid {
                what: "the answer is larger than 16 MB".into(),
            });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The API's own message in its three shapes, or the status alone: a proxy's page helps nobody.
fn message(body: &[u8], status: StatusCode) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &body["error"];
    let texts = [&error["description"], &body["message"], error];
    match texts.iter().find_map(|text| text.as_str()) {
        Some(text) => text.chars().take(300).collect(),
        None => format!("status {}", status.as_u16()),
    }
}

/// `retry-after` in seconds or as a date, at most 15 minutes.
fn retry_after(headers: &HeaderMap, now: OffsetDateTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let at = OffsetDateTime::parse(&text.replace("GMT", "+0000"), &Rfc2822).ok()?;
            Duration::try_from(at - now).unwrap_or_default()
        }
    };
    Some(wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let now = OffsetDateTime::from_unix_timestamp(1_445_412_480).unwrap(); // 2015-10-21T07:28:00Z
        for (text, expected) in [
            ("7", Some(7)),
            ("0", Some(0)),
            ("86400", Some(900)),
            ("Wed, 21 Oct 2015 07:28:30 GMT", Some(30)),
            ("Wed, 21 Oct 2015 07:27:30 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]);
            assert_eq!(
                retry_after(&headers, now),
                expected.map(Duration::from_secs),
                "{text}"
            );
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
