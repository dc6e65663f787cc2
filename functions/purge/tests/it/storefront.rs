use ledger::plan::Layer;
use platform::Secret;
use purge::{
    ConfigurationProblem, Encode, PathRules, SecretIn, Storefront, StorefrontConfig, Target, TrailingSlash,
};
use serde_json::{Value, json};
use wiremock::{MockServer, ResponseTemplate};

use crate::server::{a_minute, asked, json as answer, object, outage, reason, serve, short, slug, slugs};

const SECRET: &str = "storefront s3cret&=%";

fn storefront(server: &MockServer, change: impl FnOnce(&mut StorefrontConfig)) -> Storefront {
    let mut config = StorefrontConfig::new(server.uri());
    change(&mut config);
    Storefront::new(config, Secret::new(SECRET)).unwrap()
}

fn sent(body: &Value) -> Vec<String> {
    body["slugs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|slug| slug.as_str().unwrap().to_owned())
        .collect()
}

fn ok() -> ResponseTemplate {
    answer(200, r#"{"revalidated":true}"#)
}

/// Answers one result a slug, `bad` ones with `result`.
fn results(body: &Value, bad: &str, result: &Value) -> ResponseTemplate {
    let of = |slug: String| match slug == bad {
        true => {
            let mut result = result.clone();
            result["slug"] = json!(slug);
            result
        }
        false => json!({"slug": slug, "revalidated": true}),
    };
    let results: Vec<Value> = sent(body).into_iter().map(of).collect();
    ResponseTemplate::new(200).set_body_json(json!({"revalidated": false, "results": results}))
}

#[tokio::test]
async fn slugs_are_posted_with_the_secret_in_the_header() {
    let server = serve(|_, _| ok()).await;
    let target = storefront(&server, |config| config.name = "shop".to_owned())
        .with_header("x-vercel-protection-bypass", Secret::new("bypass"))
        .unwrap();
    assert_eq!((target.layer(), target.name()), (Layer::Storefront, "shop"));
    let report = target
        .purge(&[slug("/caffè al bar"), slug("b")], a_minute())
        .await;
    assert_eq!((short(&report).as_str(), report.calls), ("..", 1));
    let request = &asked(&server).await[0];
    assert_eq!(
        (request.method.as_str(), request.url.path()),
        ("POST", "/api/revalidate")
    );
    assert_eq!(request.url.query(), None);
    assert_eq!(request.headers["authorization"], format!("Bearer {SECRET}"));
    assert_eq!(request.headers["x-vercel-protection-bypass"], "bypass");
    assert_eq!(request.headers["content-type"], "application/json");
    let body: Value = request.body_json().unwrap();
    assert_eq!(body, json!({"slugs": ["/caffè al bar", "/b"]}));
}

#[tokio::test]
async fn the_secret_may_go_into_the_query_instead() {
    let server = serve(|_, _| ok()).await;
    let target = storefront(&server, |config| {
        config.secret_in = SecretIn::Query;
        config.base_url.push_str("/shop/");
    });
    assert_eq!(short(&target.purge(&[slug("/a")], a_minute()).await), ".");
    let request = &asked(&server).await[0];
    assert_eq!(request.url.path(), "/shop/api/revalidate");
    let query: Vec<(String, String)> = request
        .url
        .query_pairs()
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    assert_eq!(query, [("secret".to_owned(), SECRET.to_owned())]);
    assert!(!request.headers.contains_key("authorization"));
}

#[tokio::test]
async fn batches_are_bounded() {
    let server = serve(|_, _| ok()).await;
    let report = storefront(&server, |config| config.batch_size = 3)
        .purge(&slugs(10), a_minute())
        .await;
    assert_eq!((short(&report), report.calls), (".".repeat(10), 4));
    let mut sizes: Vec<usize> = asked(&server)
        .await
        .iter()
        .map(|request| sent(&request.body_json().unwrap()).len())
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 3, 3, 3]);
}

#[tokio::test]
async fn vercel_next_js_48771_one_bad_page_is_refused_and_the_rest_confirmed() {
    for (result, expected) in [
        (
            json!({"revalidated": false, "error": "boom"}),
            "not revalidated: boom",
        ),
        (
            json!({"revalidated": false, "status": 500, "error": "render"}),
            "not revalidated, status 500: render",
        ),
        (json!({"status": 308}), "not revalidated, status 308"),
    ] {
        let server = serve(move |_, body| results(body, "/4", &result)).await;
        let report = storefront(&server, |_| ()).purge(&slugs(10), a_minute()).await;
        assert_eq!(
            (short(&report).as_str(), report.calls, outage(&report)),
            ("....R.....", 1, "")
        );
        assert_eq!(reason(&report, 4), expected);
    }
}

#[tokio::test]
async fn a_partial_answer_counts_for_what_it_names() {
    let server = serve(|_, body| {
        let named: Vec<Value> = sent(body)
            .iter()
            .filter(|slug| *slug != "/1")
            .map(|slug| json!({"slug": slug, "revalidated": true}))
            .collect();
        ResponseTemplate::new(207).set_body_json(json!({"results": named}))
    })
    .await;
    let report = storefront(&server, |_| ()).purge(&slugs(3), a_minute()).await;
    assert_eq!((short(&report).as_str(), report.calls), (".R.", 2));
    assert_eq!(reason(&report, 1), "no result for this path");
}

#[tokio::test]
async fn vercel_next_js_34809_a_page_that_became_a_404_and_was_revalidated_is_done() {
    let server = serve(|_, body| results(body, "/0", &json!({"revalidated": true, "status": 404}))).await;
    assert_eq!(
        short(&storefront(&server, |_| ()).purge(&slugs(1), a_minute()).await),
        "."
    );
}

#[tokio::test]
async fn an_answer_of_false_is_no_success() {
    let server = serve(|_, _| answer(200, r#"{"revalidated":false,"message":"no"}"#)).await;
    let report = storefront(&server, |_| ()).purge(&[slug("/a")], a_minute()).await;
    assert_eq!((short(&report).as_str(), outage(&report)), ("R", ""));
    assert_eq!(reason(&report, 0), "not revalidated: no");

    let server = serve(|_, body| match sent(body).contains(&"/2".to_owned()) {
        true => answer(200, r#"{"revalidated":false}"#),
        false => ok(),
    })
    .await;
    let report = storefront(&server, |_| ()).purge(&slugs(8), a_minute()).await;
    assert_eq!((short(&report).as_str(), outage(&report)), ("..R.....", ""));
}

#[tokio::test]
async fn a_batch_that_fails_is_halved_until_the_page_at_fault_stands_alone() {
    for status in [308, 400, 422, 500, 502, 504] {
        let server = serve(move |_, body| match sent(body).contains(&"/7".to_owned()) {
            true => ResponseTemplate::new(status),
            false => ok(),
        })
        .await;
        let report = storefront(&server, |_| ()).purge(&slugs(20), a_minute()).await;
        assert_eq!(short(&report), ".......R............", "{status}");
        assert_eq!(
            (outage(&report), reason(&report, 7)),
            ("", format!("HTTP {status}").as_str())
        );
    }
}

#[tokio::test]
async fn a_storefront_that_answers_500_to_everything_is_out() {
    let server = serve(|_, _| ResponseTemplate::new(500)).await;
    let report = storefront(&server, |_| ()).purge(&slugs(100), a_minute()).await;
    assert_eq!(
        (short(&report), outage(&report)),
        ("f".repeat(100), "nothing succeeds: HTTP 500")
    );
    assert!(report.calls <= 10, "{}", report.calls);
}

#[tokio::test]
async fn a_storefront_whose_pages_all_fail_is_out_and_its_keys_are_suspects() {
    let server = serve(|_, body| results(body, "/0", &json!({"revalidated": false, "status": 500}))).await;
    let report = storefront(&server, |_| ()).purge(&slugs(1), a_minute()).await;
    assert_eq!((short(&report).as_str(), report.suspects.len()), ("f", 1));
    assert!(report.outage.is_some());
    assert_eq!(short(&report.blaming_suspects()), "R");
}

#[tokio::test]
async fn outages() {
    for (status, body) in [
        (401, r#"{"message":"Wrong secret."}"#),
        (403, ""),
        (404, "<!doctype html>"),
        (405, ""),
        (408, ""),
        (429, ""),
        (503, ""),
        (200, "<!doctype html>"),
        (200, r#"{"ok":true}"#),
        (204, ""),
    ] {
        let server = serve(move |_, _| answer(status, body)).await;
        let report = storefront(&server, |config| config.concurrency = 1)
            .purge(&slugs(50), a_minute())
            .await;
        assert_eq!(
            (short(&report), report.calls),
            ("f".repeat(50), 1),
            "{status} {body}"
        );
        assert!(report.outage.is_some());
    }
}

#[tokio::test]
async fn redirects_are_never_followed() {
    let elsewhere = serve(|_, _| ok()).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("{}/api/revalidate", elsewhere.uri());
        let server =
            serve(move |_, _| ResponseTemplate::new(status).insert_header("location", location.as_str()))
                .await;
        let report = storefront(&server, |_| ()).purge(&[slug("/a")], a_minute()).await;
        assert!(!report.outcomes[0].1.is_confirmed());
        assert_eq!(asked(&server).await.len(), 1);
    }
    assert!(asked(&elsewhere).await.is_empty(), "the secret went elsewhere");
}

#[tokio::test]
async fn opennextjs_opennextjs_aws_1216_a_redirect_of_the_endpoint_is_an_outage_and_another_the_keys() {
    let server = serve(|_, _| ResponseTemplate::new(308).insert_header("location", "/api/revalidate/")).await;
    let report = storefront(&server, |_| ()).purge(&slugs(3), a_minute()).await;
    assert_eq!(short(&report), "fff");
    assert_eq!(outage(&report), "HTTP 308: the endpoint itself is redirected");
    let server = serve(|_, _| ResponseTemplate::new(308).insert_header("location", "/a/")).await;
    let report = storefront(&server, |_| ()).purge(&[slug("/a")], a_minute()).await;
    assert_eq!((short(&report).as_str(), outage(&report)), ("R", ""));
}

#[tokio::test]
async fn paths_follow_the_rules_and_a_key_is_done_when_all_its_paths_are() {
    let server = serve(|_, body| results(body, "/shop/it/caff%C3%A8/", &json!({"revalidated": false}))).await;
    let target = storefront(&server, |config| {
        config.paths = PathRules {
            base_path: "/shop".to_owned(),
            locales: vec![String::new(), "it".to_owned()],
            trailing_slash: TrailingSlash::Always,
            encode: Encode::Path,
        };
    });
    let report = target
        .purge(&[slug("/a"), slug("/caffè"), slug("a")], a_minute())
        .await;
    assert_eq!(short(&report), ".R.");
    let body: Value = asked(&server).await[0].body_json().unwrap();
    assert_eq!(
        sent(&body),
        [
            "/shop/a/",
            "/shop/it/a/",
            "/shop/caff%C3%A8/",
            "/shop/it/caff%C3%A8/"
        ]
    );
}

#[tokio::test]
async fn what_nextjs_would_ignore_is_refused_and_not_sent() {
    let server = serve(|_, _| ok()).await;
    let target = storefront(&server, |_| ());
    let keys = [slug(&"x".repeat(1024)), slug("/a"), object("Page", "1")];
    let report = target.purge(&keys, a_minute()).await;
    assert_eq!(short(&report), "R.R");
    assert_eq!(
        reason(&report, 0),
        "the path is 1025 characters long; Next.js takes at most 1024"
    );
    let body: Value = asked(&server).await[0].body_json().unwrap();
    assert_eq!(sent(&body), ["/a"]);
    assert_eq!(target.purge(&keys[..1], a_minute()).await.calls, 0);
}

#[test]
fn a_configuration_is_checked() {
    let make = |url: &str, header: &str| {
        let target = Storefront::new(StorefrontConfig::new(url), Secret::new(SECRET))?;
        target.with_header(header, Secret::new("abc")).map(|_| ())
    };
    assert_eq!(make("https://shop.example", "x-bypass"), Ok(()));
    assert!(matches!(
        make("shop.example", "x-bypass"),
        Err(ConfigurationProblem::Address(_))
    ));
    for header in ["x bypass", "", "Authorization", "content-type"] {
        assert!(matches!(
            make("https://shop.example", header),
            Err(ConfigurationProblem::Header(_))
        ));
    }
}
