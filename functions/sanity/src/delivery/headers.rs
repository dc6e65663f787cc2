//! The headers of a webhook. None of them is signed.

use std::collections::BTreeMap;

use crate::signature;

const LONGEST_KEPT: usize = 512;
const LONGEST_NAME: usize = 200;

/// What a person or a later version of this program may want to know about how a webhook came. The signature is among
/// them so that the verdict can be repeated from the ledger.
const RELEVANT: [&str; 12] = [
    "content-type",
    "idempotency-key",
    "sanity-dataset",
    "sanity-document-id",
    "sanity-operation",
    "sanity-project-id",
    "sanity-transaction-id",
    "sanity-transaction-time",
    "sanity-webhook-id",
    signature::HEADER,
    "traceparent",
    "user-agent",
];

/// The headers to keep, each cut to a bounded length.
pub(super) fn relevant(headers: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let kept = RELEVANT
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), headers.get(*name)?)));
    kept.map(|(name, value)| (name, value[..value.floor_char_boundary(LONGEST_KEPT)].to_owned()))
        .collect()
}

/// A header that names something: trimmed, not empty, at most 200 bytes.
pub(super) fn short(headers: &BTreeMap<String, String>, name: &str) -> Option<String> {
    let value = headers.get(name)?.trim();
    (!value.is_empty() && value.len() <= LONGEST_NAME).then(|| value.to_owned())
}

/// The idempotency key. The draft that Sanity follows makes it a quoted string; both forms are one key.
pub(super) fn idempotency_key(headers: &BTreeMap<String, String>) -> Option<String> {
    let value = short(headers, "idempotency-key")?;
    let unquoted = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(&value);
    (!unquoted.is_empty()).then(|| unquoted.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn a_key_is_the_same_with_and_without_quotes() {
        for text in ["abc", "\"abc\"", " \"abc\" "] {
            let found = idempotency_key(&headers(&[("idempotency-key", text)]));
            assert_eq!(found.as_deref(), Some("abc"), "{text}");
        }
        let long = "x".repeat(201);
        for text in ["", "\"\"", &long] {
            assert_eq!(
                idempotency_key(&headers(&[("idempotency-key", text)])),
                None,
                "{text}"
            );
        }
        assert_eq!(
            idempotency_key(&headers(&[("idempotency-key", "\"")])).as_deref(),
            Some("\"")
        );
    }

    #[test]
    fn what_is_kept_is_bounded_and_holds_no_credentials() {
        let kept = relevant(&headers(&[
            ("authorization", "Bearer hunter2"),
            ("cookie", "session=hunter2"),
            ("x-own", "1"),
            ("user-agent", &"é".repeat(400)),
            ("sanity-webhook-id", "hook"),
        ]));
        assert_eq!(
            kept.keys().collect::<Vec<_>>(),
            ["sanity-webhook-id", "user-agent"]
        );
        assert_eq!(kept["user-agent"].len(), 512);
    }
}
