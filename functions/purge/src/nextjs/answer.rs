//! What a 2xx of the storefront's route says. The status alone says nothing: the route of Next.js' own documentation answers 200
//! with `revalidated: false` too.

use serde_json::Value;

use crate::work::{Answer, Verdict};
use crate::{Outage, Reason};

/// The verdicts on the `paths` sent, in their order. `quote` makes a reason of our words and an error message.
pub(super) fn read(body: &[u8], paths: &[&str], quote: &dyn Fn(&str, &str) -> Reason) -> Answer {
    let out = |what: &str| {
        Answer::Outage(Outage {
            retry_after: None,
            what: what.into(),
        })
    };
    let Ok(Value::Object(answer)) = serde_json::from_slice::<Value>(body) else {
        return out("the answer is not the JSON of a revalidation route");
    };
    if let Some(results) = answer.get("results").and_then(Value::as_array) {
        return Answer::Each(of_results(results, paths, quote));
    }
    match answer.get("revalidated") {
        Some(Value::Bool(true)) => Answer::Each(vec![Verdict::Confirmed; paths.len()]),
        Some(Value::Bool(false)) => {
            let said = ["message", "error"]
                .iter()
                .find_map(|name| answer.get(*name).and_then(Value::as_str));
            Answer::OfSomeUnit(quote("not revalidated", said.unwrap_or_default()))
        }
        _ => out("the answer does not say whether it revalidated"),
    }
}

fn of_results(results: &[Value], paths: &[&str], quote: &dyn Fn(&str, &str) -> Reason) -> Vec<Verdict> {
    let path_of = |result: &Value| {
        ["slug", "path"]
            .iter()
            .find_map(|name| result.get(*name).and_then(Value::as_str).map(str::to_owned))
    };
    // Results without a path are taken in the order sent, if there is one for each.
    let by_place = results.len() == paths.len() && results.iter().all(|result| path_of(result).is_none());
    paths
        .iter()
        .enumerate()
        .map(|(place, path)| {
            let of_path = results.iter().enumerate().filter(|(at, result)| {
                if by_place {
                    *at == place
                } else {
                    path_of(result).as_deref() == Some(path)
                }
            });
            // A path named twice is done when both say so.
            of_path
                .map(|(_, result)| of_result(result, quote))
                .reduce(|one, other| match one {
                    Verdict::Confirmed => other,
                    bad => bad,
                })
        })
        .map(|verdict| verdict.unwrap_or_else(|| Verdict::Unclear(Reason::new("no result for this path"))))
        .collect()
}

fn of_result(result: &Value, quote: &dyn Fn(&str, &str) -> Reason) -> Verdict {
    let status = result.get("status").and_then(|status| match status {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    });
    // A page that became a 404 and was revalidated is done: what was there is gone. So `revalidated` counts before `status`.
    let done = match result.get("revalidated") {
        Some(Value::Bool(done)) => *done,
        _ => status.is_some_and(|status| (200..300).contains(&status)),
    };
    if done {
        return Verdict::Confirmed;
    }
    let said = ["error", "message"]
        .iter()
        .find_map(|name| result.get(*name).and_then(Value::as_str));
    let ours = status.map_or_else(
        || "not revalidated".to_owned(),
        |status| format!("not revalidated, status {status}"),
    );
    let reason = quote(&ours, said.unwrap_or_default());
    match status {
        // The page could not be rendered now: its own fault, or that of what the storefront reads from.
        Some(408 | 429 | 500..=599) => Verdict::Suspect(reason),
        _ => Verdict::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str) -> Answer {
        read(body.as_bytes(), &["/a", "/b"], &|ours, theirs| {
            Reason::quoting(ours, theirs, &[])
        })
    }

    fn refused(reason: &str) -> Verdict {
        Verdict::Refused(reason.into())
    }

    #[test]
    fn one_word_for_all() {
        assert_eq!(
            answer(r#"{"revalidated":true}"#),
            Answer::Each(vec![Verdict::Confirmed; 2])
        );
        assert_eq!(
            answer(r#"{"revalidated":false,"message":"Missing path to revalidate"}"#),
            Answer::OfSomeUnit("not revalidated: Missing path to revalidate".into()),
        );
    }

    #[test]
    fn a_result_a_path() {
        let cases: [(&str, Verdict); 11] = [
            (r#"{"slug":"/b","revalidated":true}"#, Verdict::Confirmed),
            (r#"{"path":"/b","revalidated":true}"#, Verdict::Confirmed),
            (
                r#"{"slug":"/b","revalidated":true,"status":404}"#,
                Verdict::Confirmed,
            ),
            (r#"{"slug":"/b","status":200}"#, Verdict::Confirmed),
            (r#"{"slug":"/b","status":"204"}"#, Verdict::Confirmed),
            (
                r#"{"slug":"/b","revalidated":false,"error":"boom"}"#,
                refused("not revalidated: boom"),
            ),
            (
                r#"{"slug":"/b","status":308}"#,
                refused("not revalidated, status 308"),
            ),
            (
                r#"{"slug":"/b","status":404}"#,
                refused("not revalidated, status 404"),
            ),
            (
                r#"{"slug":"/b","revalidated":false,"status":500}"#,
                Verdict::Suspect("not revalidated, status 500".into()),
            ),
            (r#"{"slug":"/b"}"#, refused("not revalidated")),
            (
                r#"{"slug":"/other","revalidated":true}"#,
                Verdict::Unclear("no result for this path".into()),
            ),
        ];
        for (result, expected) in cases {
            let body =
                format!(r#"{{"revalidated":false,"results":[{result},{{"slug":"/a","revalidated":true}}]}}"#);
            assert_eq!(
                answer(&body),
                Answer::Each(vec![Verdict::Confirmed, expected]),
                "{result}"
            );
        }
    }

    #[test]
    fn results_without_paths_are_taken_in_order_only_when_complete() {
        assert_eq!(
            answer(r#"{"results":[{"revalidated":true},{"revalidated":false}]}"#),
            Answer::Each(vec![Verdict::Confirmed, refused("not revalidated")]),
        );
        let unclear = || Verdict::Unclear("no result for this path".into());
        assert_eq!(
            answer(r#"{"results":[{"revalidated":true}]}"#),
            Answer::Each(vec![unclear(), unclear()])
        );
        assert_eq!(
            answer(r#"{"revalidated":true,"results":[]}"#),
            Answer::Each(vec![unclear(), unclear()]),
            "an empty list confirms nothing"
        );
    }

    #[test]
    fn a_path_named_twice_must_succeed_twice() {
        assert_eq!(
            answer(
                r#"{"results":[{"slug":"/a","revalidated":true},{"slug":"/b","revalidated":true},{"slug":"/a","revalidated":false}]}"#
            ),
            Answer::Each(vec![refused("not revalidated"), Verdict::Confirmed]),
        );
    }

    #[test]
    fn what_is_no_such_route_is_an_outage() {
        for body in [
            "",
            "<!doctype html>",
            "[]",
            "null",
            "{}",
            r#"{"revalidated":"true"}"#,
            r#"{"ok":true}"#,
        ] {
            assert!(matches!(answer(body), Answer::Outage(_)), "{body}");
        }
    }
}
