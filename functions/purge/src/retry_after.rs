//! The `retry-after` header (RFC 9110, section 10.2.3): seconds, or a date.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// No target is left alone for longer on its own word. What is owed to it waits in the outbox meanwhile.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// How long to wait. A date is measured by the target's own clock (its `date` header) where it shows one, else from `now`. A date
/// in the past is no wait; what does not parse is no wish.
pub(crate) fn retry_after(headers: &HeaderMap, now: OffsetDateTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a u64 holds is still a number of seconds.
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(LONGEST));
    }
    let from = headers
        .get(DATE)
        .and_then(|date| date.to_str().ok())
        .and_then(parse_date)
        .unwrap_or(now);
    let wait = Duration::try_from(parse_date(text)? - from).unwrap_or(Duration::ZERO);
    Some(wait.min(LONGEST))
}

fn parse_date(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text.trim(), &Rfc2822).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(value: &str, date: Option<&str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, value.parse().unwrap());
        if let Some(date) = date {
            headers.insert(DATE, date.parse().unwrap());
        }
        // Sun, 06 Nov 1994 08:49:37 GMT
        retry_after(
            &headers,
            OffsetDateTime::from_unix_timestamp(784_111_777).unwrap(),
        )
        .map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_dates_and_nonsense() {
        for (value, date, expected) in [
            ("120", None, Some(120)),
            (" 7 ", None, Some(7)),
            ("0", None, Some(0)),
            ("99999999999999999999999", None, Some(86_400)),
            ("Sun, 06 Nov 1994 08:51:37 GMT", None, Some(120)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", None, Some(0)),
            ("Sun, 06 Nov 2094 08:49:00 GMT", None, Some(86_400)),
            (
                "Wed, 21 Oct 2015 07:28:30 GMT",
                Some("Wed, 21 Oct 2015 07:28:00 GMT"),
                Some(30),
            ),
            ("soon", None, None),
            ("-5", None, None),
            ("1.5", None, None),
            ("", None, None),
        ] {
            assert_eq!(wait(value, date), expected, "{value:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), OffsetDateTime::UNIX_EPOCH), None);
    }
}
