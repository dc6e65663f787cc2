//! `routes.toml`: the one that is shipped, and what is said about one that is wrong.

use std::collections::BTreeSet;

use ledger::late::LatePolicy;
use routing::config::{RoutesConfig, RoutesConfigError, TypePolicy};
use serde_json::json;

const GOOD: &str = r#"
unknown_types = "review"
ignored = ["system.group"]
[limits]
chunk_size = 2
maximum_width = 10
maximum_dependencies = 5
[graphql]
routing_type = "Routing"
slug_field = "slug"
id_field = "_id"
[routed.page]
graphql_type = "Page"
event_paths = ["/{slug}", "/it/{slug}"]
late = "compensate"
[routed."shop.product"]
graphql_type = "SpfProduct"
[components.banner]
graphql_type = "Banner"
[components.menu]
late = "ignore"
[routing_query]
groq = '''*[_id in $ids]{_id, _type, _rev, _updatedAt, "routes": [], "dependencies": []}'''
"#;

fn problems(text: &str) -> Vec<String> {
    match RoutesConfig::parse(text) {
        Ok(_) => vec![],
        Err(error) => error.problems.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn the_shipped_file_is_right() {
    let config = RoutesConfig::embedded().unwrap_or_else(|error| panic!("{error}"));
    for name in ["product", "page", "category", "article"] {
        assert_eq!(config.type_policy(name), TypePolicy::Routed, "{name}");
        assert!(config.graphql_type(name).is_some(), "{name}");
    }
    for name in ["banner", "menu", "footer", "author", "never heard of"] {
        assert_eq!(config.type_policy(name), TypePolicy::Component, "{name}");
    }
    assert_eq!(config.type_policy("system.group"), TypePolicy::Ignored);
    assert_eq!(config.graphql().routing_type, "Routing");
}

#[test]
fn types_mean_what_the_file_says() {
    let config = RoutesConfig::parse(GOOD).unwrap();
    assert_eq!(config.type_policy("shop.product"), TypePolicy::Routed);
    assert_eq!(config.type_policy("banner"), TypePolicy::Component);
    assert_eq!(config.type_policy("system.group"), TypePolicy::Ignored);
    assert_eq!(config.type_policy("never heard of"), TypePolicy::Review);
    assert_eq!(config.graphql_type("shop.product"), Some("SpfProduct"));
    assert_eq!(config.graphql_type("banner"), Some("Banner"));
    assert_eq!(config.graphql_type("menu"), None);
    assert_eq!(config.graphql_type("never heard of"), None);
    let cascading = RoutesConfig::parse(&GOOD.replace("\"review\"", "\"cascade\"")).unwrap();
    assert_eq!(cascading.type_policy("never heard of"), TypePolicy::Component);
    let silent = RoutesConfig::parse(&GOOD.replace("unknown_types = \"review\"", "")).unwrap();
    assert_eq!(silent, cascading);
}

#[test]
fn law_5_a_type_has_its_late_policy_and_the_others_the_files() {
    let config = RoutesConfig::parse(GOOD).unwrap();
    let policies = |config: &RoutesConfig| {
        [
            Some("page"),
            Some("menu"),
            Some("banner"),
            Some("never heard of"),
            None,
        ]
        .map(|name| config.late_policy(name))
    };
    use LatePolicy::{Compensate, Ignore, Recompute, Review};
    assert_eq!(
        policies(&config),
        [Compensate, Ignore, Recompute, Recompute, Recompute]
    );
    let strict = RoutesConfig::parse(&format!("late = \"review\"\n{GOOD}")).unwrap();
    assert_eq!(policies(&strict), [Compensate, Ignore, Review, Review, Review]);
}

#[test]
fn queries_ask_for_every_id_once_and_for_no_id_never() {
    let config = RoutesConfig::parse(GOOD).unwrap();
    let ids = ["c", "a", "b"].map(String::from).into();
    let queries = config.queries(&ids);
    let params: Vec<_> = queries.iter().map(|query| json!(query.params)).collect();
    assert_eq!(params, [json!({"ids": ["a", "b"]}), json!({"ids": ["c"]})]);
    let asked: BTreeSet<String> = queries.into_iter().flat_map(|query| query.ids).collect();
    assert_eq!(asked, ids);
    assert_eq!(config.queries(&BTreeSet::new()), []);
}

#[test]
fn a_slug_of_an_event_becomes_paths() {
    let config = RoutesConfig::parse(GOOD).unwrap();
    assert_eq!(config.event_paths(Some("page"), "a"), ["/a", "/it/a"]);
    assert_eq!(config.event_paths(Some("shop.product"), "a"), ["/a"]);
    assert_eq!(config.event_paths(Some("banner"), "a"), ["/a"]);
    assert_eq!(config.event_paths(None, "a/b"), ["/a/b"]);
    assert_eq!(config.event_paths(Some("page"), "/it/a"), ["/it/a"]);
    assert!(config.event_paths(Some("page"), "").is_empty());
}

#[test]
fn every_problem_is_named_with_line_and_key() {
    let bad = r#"unknown_types = "maybe"
late = "never"
ignored = ["page", 7]
surprise = 1
[limits]
chunk_size = 0
maximum_width = "all"
[graphql]
routing_type = "Routing"
slug_field = "a slug"
id_field = ""
[routed.page]
graphql_type = "1Page"
event_paths = ["{slug}", "/fixed"]
[routed."a.b"]
graphQLType = "X"
[components.page]
[routing_query]
groq = '''*[_id in $id]{_id, _type} // $ids routes'''
"#;
    assert_eq!(
        problems(bad),
        [
            r#"line 1, unknown_types: must be "cascade" or "review""#,
            r#"line 2, late: must be one of "ignore", "review", "recompute", "compensate""#,
            r#"line 3, ignored: must hold texts that are not empty"#,
            r#"line 4, surprise: is not known here; known are components, dependencies, graphql, ignored, late, limits, routed, routing_query, unknown_types"#,
            r#"line 5, limits.maximum_dependencies: is missing; it must be a whole number"#,
            r#"line 6, limits.chunk_size: must be a whole number from 1 to 1000"#,
            r#"line 7, limits.maximum_width: must be a whole number from 1 to 1000000"#,
            r#"line 10, graphql.slug_field: "a slug" is no GraphQL name (letters, digits and _, not beginning with a digit)"#,
            r#"line 11, graphql.id_field: must be a text that is not empty"#,
            r#"line 12, routed: type "page" is already listed under `ignored`"#,
            r#"line 13, routed.page.graphql_type: "1Page" is no GraphQL name (letters, digits and _, not beginning with a digit)"#,
            r#"line 14, routed.page.event_paths: "/fixed" must begin with "/" and contain {slug}"#,
            r#"line 14, routed.page.event_paths: "{slug}" must begin with "/" and contain {slug}"#,
            r#"line 15, routed."a.b".graphql_type: is missing; it must be a text"#,
            r#"line 16, routed."a.b".graphQLType: is not known here; known are event_paths, graphql_type, late"#,
            r#"line 17, components: type "page" is already listed under `routed`"#,
            r#"line 19, routing_query.groq: has the parameter $id; only $ids is given"#,
            r#"line 19, routing_query.groq: must return _rev"#,
            r#"line 19, routing_query.groq: must return _updatedAt"#,
            r#"line 19, routing_query.groq: must return dependencies"#,
            r#"line 19, routing_query.groq: must return routes"#,
            r#"line 19, routing_query.groq: must select by the parameter $ids"#,
        ]
    );
}

#[test]
fn dependencies_are_the_querys_own_unless_the_file_says_otherwise() {
    let read = |table: &str| RoutesConfig::parse(&format!("{GOOD}[dependencies]\n{table}")).unwrap();
    let silent = RoutesConfig::parse(GOOD).unwrap();
    assert_eq!(silent, read(""));
    let dependencies = silent.dependencies();
    assert!(!dependencies.by_references && dependencies.refresh_pages);
    assert_eq!((dependencies.depth, dependencies.width), (4, 1000));
    let follows = |config: &RoutesConfig| {
        ["banner", "unlisted", "page", "system.group", "sanity.imageAsset"].map(|name| config.follows(name))
    };
    assert_eq!(follows(&silent), [true, true, false, false, false]);
    let named =
        read("discover = \"references\"\nrefresh_pages = false\nfollow = [\"page\"]\ndepth = 2\nwidth = 9");
    assert_eq!(follows(&named), [false, false, true, false, false]);
    let dependencies = named.dependencies();
    assert!(dependencies.by_references && !dependencies.refresh_pages);
    assert_eq!((dependencies.depth, dependencies.width), (2, 9));
    let bad =
        "[dependencies]\ndiscover = \"all\"\nrefresh_pages = 1\nfollow = \"page\"\ndepth = 0\nwidths = 3\n";
    let found = problems(&format!("{bad}{GOOD}"));
    assert!(
        found
            .iter()
            .any(|line| line == "line 2, dependencies.discover: must be \"query\" or \"references\"")
    );
    assert!(
        found
            .iter()
            .any(|line| line == "line 3, dependencies.refresh_pages: must be true or false")
    );
    assert!(
        found
            .iter()
            .any(|line| line == "line 4, dependencies.follow: must be a list of texts")
    );
    assert!(
        found
            .iter()
            .any(|line| line == "line 5, dependencies.depth: must be a whole number from 1 to 20")
    );
    assert!(
        found
            .iter()
            .any(|line| line.starts_with("line 6, dependencies.widths: is not known here"))
    );
}

#[test]
fn what_is_no_toml_is_said_with_its_line() {
    let found = problems("a = 1\nb = \n[c\n");
    assert!(found.len() >= 2, "{found:?}");
    assert!(found[0].starts_with("line 2: not TOML: "), "{found:?}");
    assert!(!problems("").is_empty());
    for text in [
        "routed = 1",
        "[routed]\npage = 1",
        "[routed]",
        "components = []",
        "routing_query = 'x'",
    ] {
        assert!(!problems(text).is_empty(), "{text}");
    }
}

#[test]
fn the_error_lists_its_problems() {
    let error: RoutesConfigError = RoutesConfig::parse("").unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("routes.toml has 4 problem(s):\n  line 1, graphql: is missing"),
        "{text}"
    );
}
