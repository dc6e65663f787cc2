use std::time::Duration;

use ledger::plan::{Key, Layer};
use platform::Secret;
use purge::{AnyTarget, ConfigurationProblem, Stellate, StellateConfig, Target};
use serde_json::{Map, Value, json};
use wiremock::{MockServer, ResponseTemplate};

use crate::server::{a_minute, asked, json as answer, object, outage, reason, serve, short, slug};

const TOKEN: &str = "stellate-t0ken";

fn stellate(server: &MockServer, change: impl FnOnce(&mut StellateConfig)) -> Stellate {
    let mut config = StellateConfig::new(format!("{}/my-service", server.uri()));
    change(&mut config);
    Stellate::new(config, Secret::new(TOKEN)).unwrap()
}

/// The aliases of a request: number, type, values.
fn groups(body: &Value) -> Vec<(usize, String, Vec<String>)> {
    let variables = &body["variables"];
    (0..)
        .map_while(|alias| {
            let graphql_type = variables.get(format!("t{alias}"))?.as_str()?.to_owned();
            let fields = variables[format!("k{alias}")].as_array()?;
            let values = fields
                .iter()
                .map(|field| field["value"].as_str().unwrap().to_owned())
                .collect();
            Some((alias, graphql_type, values))
        })
        .collect()
}

/// Confirms every alias but those for which `error` has a message.
fn with_errors(body: &Value, error: impl Fn(&str, &[String]) -> Option<&'static str>) -> ResponseTemplate {
    let mut data = Map::new();
    let mut errors = Vec::new();
    for (alias, graphql_type, values) in groups(body) {
        let name = format!("p{alias}");
        let message = error(&graphql_type, &values);
        data.insert(name.clone(), message.map_or(Value::Bool(true), |_| Value::Null));
        errors.extend(message.map(|message| json!({"message": message, "path": [name]})));
    }
    ResponseTemplate::new(200).set_body_json(json!({"data": data, "errors": errors}))
}

fn confirm(body: &Value) -> ResponseTemplate {
    with_errors(body, |_, _| None)
}

#[tokio::test]
async fn one_request_purges_many_types_by_variables_alone() {
    let server = serve(|_, body| confirm(body)).await;
    let target = stellate(&server, |config| config.soft = true);
    let injection = r#""}]) _purgeAll } #"#;
    let keys = [
        object("Page", "page-1"),
        slug("/caffè"),
        object("SpfProduct", injection),
        object("Page", "page-2"),
        slug("/b"),
    ];
    let report = target.purge(&keys, a_minute()).await;
    assert_eq!(
        (short(&report).as_str(), report.calls, outage(&report)),
        (".....", 1, "")
    );
    assert_eq!(
        report
            .outcomes
            .iter()
            .map(|(key, _)| key.clone())
            .collect::<Vec<Key>>(),
        keys
    );

    let requests = asked(&server).await;
    assert_eq!(requests.len(), 1);
    assert_eq!(
        (requests[0].method.as_str(), requests[0].url.path()),
        ("POST", "/my-service")
    );
    assert_eq!(requests[0].headers["stellate-token"], TOKEN);
    assert_eq!(requests[0].headers["content-type"], "application/json");
    let body: Value = requests[0].body_json().unwrap();
    assert_eq!(body["variables"]["soft"], true);
    assert_eq!(
        body["variables"]["k1"],
        json!([{"name": "slug", "value": "/b"}, {"name": "slug", "value": "/caffè"}])
    );
    assert_eq!(
        body["variables"]["k0"][0],
        json!({"name": "_id", "value": "page-1"})
    );
    let names: Vec<String> = groups(&body).into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(names, ["Page", "Routing", "SpfProduct"]);
    let query = body["query"].as_str().unwrap();
    for text in ["page-1", "caffè", "_purgeAll", "Page", "Routing"] {
        assert!(!query.contains(text), "{text} stands in the query");
    }
}

#[tokio::test]
async fn routing_and_id_have_names_of_ones_own() {
    let server = serve(|_, body| confirm(body)).await;
    let target = stellate(&server, |config| {
        config.routing_type = "Route".to_owned();
        config.routing_field = "path".to_owned();
        config.id_field = "id".to_owned();
    });
    assert_eq!((target.layer(), target.name()), (Layer::GraphqlCdn, "stellate"));
    assert_eq!(
        short(&target.purge(&[slug("/a"), object("Page", "1")], a_minute()).await),
        ".."
    );
    let body: Value = asked(&server).await[0].body_json().unwrap();
    assert_eq!(body["variables"]["soft"], false);
    assert_eq!(body["variables"]["k0"][0]["name"], "id");
    assert_eq!(
        (&body["variables"]["t1"], &body["variables"]["k1"][0]["name"]),
        (&json!("Route"), &json!("path"))
    );
}

#[tokio::test]
async fn requests_are_chunked_and_a_key_given_twice_is_sent_once() {
    let server = serve(|_, body| confirm(body)).await;
    let target = stellate(&server, |config| config.batch_size = 10);
    let mut keys: Vec<Key> = (0..25)
        .map(|number| object("Page", &number.to_string()))
        .collect();
    keys.push(keys[0].clone());
    let report = target.purge(&keys, a_minute()).await;
    assert_eq!(short(&report), ".".repeat(26));
    let sizes: usize = asked(&server)
        .await
        .iter()
        .map(|request| groups(&request.body_json().unwrap())[0].2.len())
        .sum();
    assert_eq!((report.calls, sizes), (3, 25));
}

#[tokio::test]
async fn what_cannot_be_a_type_is_refused_and_not_sent() {
    let server = serve(|_, body| confirm(body)).await;
    let target = stellate(&server, |_| ());
    for name in ["", "2Page", "Page-x", "Page { a }", "Página"] {
        let report = target
            .purge(&[object(name, "1"), object("Page", "1")], a_minute())
            .await;
        assert_eq!(short(&report), "R.", "{name:?}");
        assert_eq!(reason(&report, 0), "the type is not a GraphQL name");
    }
    let alone = target
        .purge(&[object("a b", "1"), object("Page", "")], a_minute())
        .await;
    assert_eq!((short(&alone).as_str(), alone.calls), ("RR", 0));
    assert_eq!(asked(&server).await.len(), 5);
}

#[tokio::test]
async fn errors_with_a_path_concern_one_key_even_within_its_type() {
    let server = serve(|_, body| {
        with_errors(body, |graphql_type, values| match graphql_type {
            "Gone" => Some("unknown type Gone"),
            "Page" if values.iter().any(|value| value == "bad") => Some("cannot purge this"),
            _ => None,
        })
    })
    .await;
    let target = stellate(&server, |_| ());
    let keys = [
        object("Page", "a"),
        object("Page", "bad"),
        object("Page", "c"),
        object("Gone", "d"),
        slug("/s"),
    ];
    let report = target.purge(&keys, a_minute()).await;
    assert_eq!((short(&report).as_str(), outage(&report)), (".R.R.", ""));
    assert_eq!(reason(&report, 1), "GraphQL error: cannot purge this");
    assert_eq!(report.calls, 2, "one more request tells the pages apart");
}

#[tokio::test]
async fn errors_without_a_path_fail_all_and_are_the_targets_if_nothing_succeeds() {
    let server = serve(|_, _| {
        answer(
            200,
            r#"{"data":{"p0":true},"errors":[{"message":"rate limited"}]}"#,
        )
    })
    .await;
    let report = stellate(&server, |_| ())
        .purge(&[slug("/a"), slug("/b")], a_minute())
        .await;
    assert_eq!(short(&report), "ff");
    assert_eq!(outage(&report), "nothing succeeds: GraphQL error: rate limited");
    assert!(report.calls <= 4);
}

#[tokio::test]
async fn a_key_that_spoils_its_request_is_found_by_halving() {
    for bad in [json!({"errors": [{"message": "bad variable"}]}), Value::Null] {
        let server = serve(move |_, body| {
            let poisoned = groups(body)
                .iter()
                .any(|(_, _, values)| values.contains(&"37".to_owned()));
            match (poisoned, bad.is_null()) {
                (false, _) => confirm(body),
                (true, true) => ResponseTemplate::new(500),
                (true, false) => ResponseTemplate::new(200).set_body_json(&bad),
            }
        })
        .await;
        let keys: Vec<Key> = (0..100)
            .map(|number| object("Page", &number.to_string()))
            .collect();
        let report = stellate(&server, |_| ()).purge(&keys, a_minute()).await;
        let expected: String = (0..100)
            .map(|number| if number == 37 { 'R' } else { '.' })
            .collect();
        assert_eq!((short(&report), outage(&report)), (expected, ""));
        assert!(report.calls <= 15, "{}", report.calls);
    }
}

#[tokio::test]
async fn data_that_is_not_true_confirms_nothing() {
    for value in ["false", "null", "1", r#""true""#] {
        let server = serve(move |_, _| answer(200, &format!(r#"{{"data":{{"p0":{value}}}}}"#))).await;
        let report = stellate(&server, |_| ()).purge(&[slug("/a")], a_minute()).await;
        assert_eq!((short(&report).as_str(), outage(&report)), ("R", ""), "{value}");
    }
}

#[tokio::test]
async fn outages() {
    for (status, body) in [
        (401, "{}"),
        (403, "no"),
        (404, ""),
        (408, ""),
        (429, ""),
        (503, "<html>"),
        (200, "<html>ok</html>"),
        (200, "{}"),
        (200, ""),
    ] {
        let server = serve(move |_, _| answer(status, body)).await;
        let keys: Vec<Key> = (0..300)
            .map(|number| object("Page", &number.to_string()))
            .collect();
        let report = stellate(&server, |config| config.concurrency = 1)
            .purge(&keys, a_minute())
            .await;
        assert_eq!(short(&report), "f".repeat(300), "{status} {body}");
        assert!(report.outage.is_some() && report.suspects.is_empty());
        assert_eq!(report.calls, 1, "an outage is not tried again at once");
    }
}

#[tokio::test]
async fn retry_after_is_passed_on() {
    let server = serve(|_, _| ResponseTemplate::new(429).insert_header("retry-after", "42")).await;
    let report = stellate(&server, |_| ()).purge(&[slug("/a")], a_minute()).await;
    assert_eq!(report.outage.unwrap().retry_after, Some(Duration::from_secs(42)));
}

#[tokio::test]
async fn other_client_errors_settle_the_key_they_concern() {
    for status in [302, 400, 409, 413, 422] {
        let server = serve(
            move |_, body| match groups(body).iter().any(|(_, name, _)| name == "Odd") {
                true => answer(status, r#"{"errors":[{"message":"no such type"}]}"#),
                false => confirm(body),
            },
        )
        .await;
        let keys = [object("Page", "1"), object("Odd", "1"), object("Page", "2")];
        let report = stellate(&server, |_| ()).purge(&keys, a_minute()).await;
        assert_eq!(
            (short(&report).as_str(), outage(&report)),
            (".R.", ""),
            "{status}"
        );
        assert_eq!(reason(&report, 1), format!("HTTP {status}: no such type"));
    }
}

#[tokio::test]
async fn any_target_is_the_target_it_wraps() {
    let server = serve(|_, body| confirm(body)).await;
    let target = AnyTarget::new(stellate(&server, |_| ()));
    assert_eq!((target.layer(), target.name()), (Layer::GraphqlCdn, "stellate"));
    assert_eq!(short(&target.purge(&[slug("/a")], a_minute()).await), ".");
}

#[test]
fn a_configuration_is_checked() {
    let make = |url: &str, name: &str| {
        let config = StellateConfig {
            routing_type: name.to_owned(),
            ..StellateConfig::new(url)
        };
        Stellate::new(config, Secret::new(TOKEN)).map(|_| ())
    };
    assert_eq!(make("https://admin.stellate.co/my-service", "Routing"), Ok(()));
    assert!(matches!(
        make("admin.stellate.co", "Routing"),
        Err(ConfigurationProblem::Address(_))
    ));
    assert!(matches!(
        make("https://admin.stellate.co/x", "a-b"),
        Err(ConfigurationProblem::Name(_))
    ));
}
