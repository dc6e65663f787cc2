//! What a 2xx of Stellate says. Success is `{"data":{"<alias>":true}}` and nothing less; `errors` come with status 200 too.

use serde_json::Value;

use super::request::Mutation;
use crate::work::{Answer, Verdict};
use crate::{Outage, Reason};

/// The verdicts on the `count` items of `mutation`. `quote` makes a reason of an error message.
pub(super) fn read(body: &[u8], mutation: &Mutation, count: usize, quote: &dyn Fn(&str) -> Reason) -> Answer {
    let out = |what: &str| {
        Answer::Outage(Outage {
            retry_after: None,
            what: what.into(),
        })
    };
    let Ok(Value::Object(answer)) = serde_json::from_slice::<Value>(body) else {
        return out("the answer is not the JSON of a GraphQL server");
    };
    let errors = answer
        .get("errors")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let data = answer.get("data").filter(|data| data.is_object());
    if data.is_none() && errors.is_empty() {
        return out("the answer holds neither data nor errors");
    }
    let message = |error: &Value| quote(error.get("message").and_then(Value::as_str).unwrap_or_default());

    let mut of_alias: Vec<Option<Reason>> = vec![None; mutation.groups.len()];
    for error in errors {
        match alias_of(error).and_then(|alias| of_alias.get_mut(alias)) {
            Some(reason) => *reason = Some(message(error)),
            // Without a path it is about the request: the token, a limit, a variable. Nothing in the answer counts then.
            None => {
                return Answer::OfSomeUnitOrTarget {
                    reason: message(error),
                    retry_after: None,
                };
            }
        }
    }
    let mut verdicts = vec![Verdict::Unclear(Reason::new("not in the answer")); count];
    for (alias, group) in mutation.groups.iter().enumerate() {
        let done = data.and_then(|data| data.get(format!("p{alias}"))) == Some(&Value::Bool(true));
        let verdict = match (of_alias.get(alias).cloned().flatten(), done) {
            (None, true) => Verdict::Confirmed,
            (reason, _) => {
                let reason = reason.unwrap_or_else(|| Reason::new("the answer does not confirm it"));
                // One bad key must not take the others of its type with it.
                if group.len() == 1 {
                    Verdict::Refused(reason)
                } else {
                    Verdict::Unclear(reason)
                }
            }
        };
        for place in group {
            if let Some(of_item) = verdicts.get_mut(*place) {
                *of_item = verdict.clone();
            }
        }
    }
    Answer::Each(verdicts)
}

/// The number of the alias in an error's path.
fn alias_of(error: &Value) -> Option<usize> {
    error
        .pointer("/path/0")?
        .as_str()?
        .strip_prefix('p')?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::super::request::Item;
    use super::*;

    /// Two pages and a slug: `p0` is the pages, `p1` the slug.
    fn answer(body: &str) -> Answer {
        let item = |graphql_type, value| Item {
            graphql_type,
            field: "_id",
            value,
        };
        let items = [item("Page", "1"), item("Page", "2"), item("Routing", "/a")];
        let mutation = Mutation::of(&items, false, false).unwrap();
        read(body.as_bytes(), &mutation, 3, &|theirs| {
            Reason::quoting("GraphQL error", theirs, &[])
        })
    }

    #[test]
    fn only_true_confirms() {
        let confirmed = Answer::Each(vec![Verdict::Confirmed; 3]);
        assert_eq!(answer(r#"{"data":{"p0":true,"p1":true}}"#), confirmed);
        assert_eq!(answer(r#"{"data":{"p0":true,"p1":true},"errors":[]}"#), confirmed);
        assert_eq!(
            answer(r#"{"data":{"p0":true,"p1":true},"errors":null}"#),
            confirmed
        );
        for other in [r#""true""#, "1", "null", "false", "{}"] {
            let body = format!(r#"{{"data":{{"p0":true,"p1":{other}}}}}"#);
            let refused = Verdict::Refused("the answer does not confirm it".into());
            assert_eq!(
                answer(&body),
                Answer::Each(vec![Verdict::Confirmed, Verdict::Confirmed, refused])
            );
        }
    }

    #[test]
    fn an_error_with_a_path_concerns_its_alias_alone() {
        let reason = || Reason::new("GraphQL error: unknown type");
        assert_eq!(
            answer(r#"{"data":{"p0":null,"p1":true},"errors":[{"message":"unknown type","path":["p0"]}]}"#),
            Answer::Each(vec![
                Verdict::Unclear(reason()),
                Verdict::Unclear(reason()),
                Verdict::Confirmed
            ]),
        );
        assert_eq!(
            answer(r#"{"data":{"p0":true,"p1":true},"errors":[{"message":"unknown type","path":["p1"]}]}"#),
            Answer::Each(vec![
                Verdict::Confirmed,
                Verdict::Confirmed,
                Verdict::Refused(reason())
            ]),
        );
    }

    #[test]
    fn an_error_without_a_path_fails_everything() {
        for path in ["", r#","path":[]"#, r#","path":["other"]"#, r#","path":["p9"]"#] {
            let body =
                format!(r#"{{"data":{{"p0":true,"p1":true}},"errors":[{{"message":"limit"{path}}}]}}"#);
            let all = Answer::OfSomeUnitOrTarget {
                reason: "GraphQL error: limit".into(),
                retry_after: None,
            };
            assert_eq!(answer(&body), all, "{path}");
        }
        assert!(matches!(
            answer(r#"{"errors":[{}]}"#),
            Answer::OfSomeUnitOrTarget { .. }
        ));
    }

    #[test]
    fn what_is_not_graphql_is_an_outage() {
        for body in [
            "",
            "<html>",
            "[]",
            "true",
            "{}",
            r#"{"data":null}"#,
            r#"{"message":"ok"}"#,
        ] {
            assert!(matches!(answer(body), Answer::Outage(_)), "{body}");
        }
    }
}
