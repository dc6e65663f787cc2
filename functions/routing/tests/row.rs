//! The routing query's answer, as lenient as it may be read and no more.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use routing::row::{MAXIMUM_ROUTE_BYTES, MAXIMUM_SLUG_BYTES, RowError, Rows};
use serde_json::{Value, json};

fn asked(ids: &[&str]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

fn read(ids: &[&str], answer: Value) -> Rows {
    let mut rows = Rows::default();
    rows.read(&asked(ids), &answer, 5);
    rows
}

fn row(id: &str, more: Value) -> Value {
    let mut row = json!({"_id": id, "_type": "page", "_rev": "r1", "_updatedAt": "2026-01-01T00:00:00Z"});
    row.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    row
}

#[test]
fn a_full_row() {
    let rows = read(
        &["p1"],
        json!([row(
            "p1",
            json!({
                "_updatedAt": "2026-01-01T00:00:00.900Z",
                "routes": [{"route": "en", "slug": "/a"}, {"route": "it", "slug": "/it/a b ü"}],
                "dependencies": ["b2", "b1", "b2"],
            })
        )]),
    );
    let row = rows.get("p1").unwrap().unwrap();
    assert_eq!(row.second(), 1_767_225_600);
    assert_eq!(row.revision, "r1");
    assert_eq!(row.document_type, "page");
    assert_eq!(row.routes["it"], "/it/a b ü");
    assert_eq!(row.routes.len(), 2);
    assert_eq!(row.dependencies, ["b1", "b2"]);
}

#[test]
fn nulls_are_tolerated() {
    let rows = read(
        &["p1", "p2", "p3"],
        json!([
            row("p1", json!({"routes": null, "dependencies": null})),
            row("p2", json!({})),
            row(
                "p3",
                json!({
                    "routes": [null, {"route": null, "slug": "/a"}, {"route": "x", "slug": null}, {"route": "y", "slug": ""},
                               {"route": "z", "slug": {"_type": "slug", "current": "/z"}}, {"route": "n", "slug": {"current": null}}],
                    "dependencies": [null, "b1", null],
                })
            ),
        ]),
    );
    for id in ["p1", "p2"] {
        let row = rows.get(id).unwrap().unwrap();
        assert!(row.routes.is_empty() && row.dependencies.is_empty());
    }
    let row = rows.get("p3").unwrap().unwrap();
    assert_eq!(
        row.routes,
        BTreeMap::from([("default".into(), "/a".into()), ("z".into(), "/z".into())])
    );
    assert_eq!(row.dependencies, ["b1"]);
}

#[test]
fn one_bad_row_is_its_own_documents_error_only() {
    let bad = [
        json!({"_rev": null}),
        json!({"_type": 7}),
        json!({"_updatedAt": "yesterday"}),
        json!({"routes": {}}),
        json!({"routes": ["/a"]}),
        json!({"routes": [{"route": 1, "slug": "/a"}]}),
        json!({"routes": [{"slug": ["/a"]}]}),
        json!({"routes": [{"slug": "/a\u{0}"}]}),
        json!({"routes": [{"slug": "/".repeat(MAXIMUM_SLUG_BYTES + 1)}]}),
        json!({"routes": [{"route": "r".repeat(MAXIMUM_ROUTE_BYTES + 1), "slug": "/a"}]}),
        json!({"routes": [{"slug": "/a"}, {"slug": "/b"}]}),
        json!({"dependencies": "b1"}),
        json!({"dependencies": [1]}),
    ];
    for more in bad {
        let rows = read(
            &["bad", "good", "absent"],
            json!([row("bad", more.clone()), row("good", json!({}))]),
        );
        assert!(rows.get("bad").is_err(), "{more}");
        assert!(rows.get("good").unwrap().is_some(), "{more}");
        assert_eq!(rows.get("absent"), Ok(None), "{more}");
    }
}

#[test]
fn absence_is_believed_only_of_an_intelligible_answer() {
    assert_eq!(read(&["p1"], json!([])).get("p1"), Ok(None));
    assert_eq!(read(&["p1"], json!({})).get("p1"), Err(RowError::NotAnArray));
    assert_eq!(read(&["p1"], json!(null)).get("p1"), Err(RowError::NotAnArray));
    for nameless in [
        json!({"_type": "page"}),
        json!("text"),
        json!(null),
        json!({"_id": 1}),
    ] {
        assert_eq!(
            read(&["p1"], json!([nameless])).get("p1"),
            Err(RowError::Unattributed)
        );
    }
    assert_eq!(read(&["p1"], json!([])).get("p2"), Err(RowError::NotAsked));
}

#[test]
fn the_same_row_twice_is_one_and_two_different_rows_are_none() {
    let one = row("p1", json!({"routes": [{"slug": "/a"}, {"slug": "/a"}]}));
    assert!(read(&["p1"], json!([one, one])).get("p1").unwrap().is_some());
    let other = row("p1", json!({"routes": [{"slug": "/b"}]}));
    assert!(matches!(
        read(&["p1"], json!([one, other])).get("p1"),
        Err(RowError::Twice(_))
    ));
}

#[test]
fn odd_dependencies_end_well() {
    let rows = read(
        &["p1"],
        json!([row(
            "p1",
            json!({"dependencies": ["p1", "drafts.p1", "drafts.b1", "versions.r1.b2", "versions.odd", "", "no id", "b3"]})
        )]),
    );
    let row = rows.get("p1").unwrap().unwrap();
    assert_eq!(row.dependencies, ["b1", "b2", "b3", "versions.odd"]);
    assert_eq!(row.dependencies_beyond_bound, 0);
}

#[test]
fn dependencies_are_bounded_and_the_rest_counted() {
    let ids: Vec<String> = (0..8).map(|n| format!("b{n}")).chain(["b7".into()]).collect();
    let rows = read(&["p1"], json!([row("p1", json!({"dependencies": ids}))]));
    let row = rows.get("p1").unwrap().unwrap();
    assert_eq!(row.dependencies.len(), 5);
    assert_eq!(row.dependencies_beyond_bound, 3);
}

#[test]
fn answers_add_up() {
    let mut rows = read(&["p1"], json!([row("p1", json!({}))]));
    rows.read(&asked(&["p2"]), &json!([]), 5);
    assert!(rows.get("p1").unwrap().is_some());
    assert_eq!(rows.get("p2"), Ok(None));
}
