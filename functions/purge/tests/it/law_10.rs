//! Random plans against targets that answer at random: an empty key list is never sent, and every key is answered once.

use ledger::plan::Key;
use platform::Secret;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use purge::{
    AnyTarget, PathRules, PurgeReport, Stellate, StellateConfig, Storefront, StorefrontConfig, Target,
};
use serde_json::{Value, json};
use wiremock::{MockServer, ResponseTemplate};

use crate::server::{a_minute, asked, object, serve, slug};

/// Types and ids few enough to repeat, some of them unfit.
fn keys() -> impl Strategy<Value = Vec<Key>> {
    let object = ("[AB]|1x||a b", "[ab]|").prop_map(|(graphql_type, id)| object(&graphql_type, &id));
    let slug =
        prop_oneof!["/?[a-d]{0,2}".boxed(), Just("x".repeat(1100)).boxed()].prop_map(|text| slug(&text));
    proptest::collection::vec(prop_oneof![object, slug], 0..25)
}

/// An answer by number: whole requests that fail, keys that fail, nonsense.
fn respond(kind: u8, body: &Value) -> ResponseTemplate {
    let status = match kind {
        0 => 500,
        1 => 400,
        2 => 308,
        3 => 429,
        4 => 502,
        _ => 200,
    };
    let answer = match kind {
        5 => json!({"errors": [{"message": "no path"}], "revalidated": false}),
        6 => json!("nonsense"),
        7 => {
            let errors = [json!({"message": "p0 is bad", "path": ["p0"]})];
            json!({"data": {"p1": true}, "errors": errors, "results": [{"slug": "/a", "revalidated": false, "status": 500}]})
        }
        8 => json!({"results": [], "data": {}}),
        _ => {
            let data: serde_json::Map<String, Value> =
                (0..30).map(|alias| (format!("p{alias}"), json!(true))).collect();
            json!({"data": data, "revalidated": true, "asked": body.get("slugs").map(|_| 1)})
        }
    };
    ResponseTemplate::new(status).set_body_json(answer)
}

/// Every list of keys in a request; a type without a list counts as an empty one.
fn lists(body: &Value) -> Vec<usize> {
    let length = |list: Option<&Value>| list.and_then(Value::as_array).map_or(0, Vec::len);
    match body.get("variables").and_then(Value::as_object) {
        None => vec![length(body.get("slugs"))],
        Some(variables) => {
            let mut lists: Vec<usize> = variables
                .keys()
                .filter(|name| name.starts_with('t'))
                .map(|name| length(variables.get(&name.replace('t', "k"))))
                .collect();
            let purges = body["query"]
                .as_str()
                .unwrap_or_default()
                .matches("_purgeType(")
                .count();
            lists.resize(purges.max(lists.len()).max(1), 0);
            lists
        }
    }
}

fn every_key_once(keys: &[Key], report: &PurgeReport) -> bool {
    keys.iter().eq(report.outcomes.iter().map(|(key, _)| key))
}

fn run(make: impl Fn(&MockServer) -> AnyTarget) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let plan = (keys(), proptest::collection::vec(0u8..14, 1..12));
    let mut runner = TestRunner::new(Config {
        cases: 80,
        ..Config::default()
    });
    let outcome = runner.run(&plan, |(keys, answers)| {
        runtime.block_on(async {
            let server = serve(move |number, body| respond(answers[number % answers.len()], body)).await;
            let report = make(&server).purge(&keys, a_minute()).await;
            prop_assert!(every_key_once(&keys, &report), "{:?}", report);
            let requests = asked(&server).await;
            prop_assert_eq!(requests.len(), report.calls as usize);
            for request in requests {
                let body: Value = request.body_json().unwrap();
                prop_assert!(
                    lists(&body).iter().all(|length| *length > 0),
                    "an empty list was sent: {}",
                    body
                );
            }
            Ok(())
        })
    });
    outcome.unwrap();
}

#[test]
fn stellatehq_wp_stellate_26_stellate_is_never_sent_an_empty_key_list() {
    run(|server| {
        let config = StellateConfig {
            batch_size: 6,
            ..StellateConfig::new(server.uri())
        };
        AnyTarget::new(Stellate::new(config, Secret::new("t")).unwrap())
    });
}

#[test]
fn law_10_a_storefront_is_never_sent_an_empty_key_list() {
    run(|server| {
        let paths = PathRules {
            locales: vec![String::new(), "it".to_owned()],
            ..PathRules::default()
        };
        let config = StorefrontConfig {
            batch_size: 4,
            paths,
            ..StorefrontConfig::new(server.uri())
        };
        AnyTarget::new(Storefront::new(config, Secret::new("t")).unwrap())
    });
}
