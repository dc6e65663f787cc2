"""The content lake answers as Sanity's query API does."""

import json
import tomllib
from pathlib import Path

import pytest
import requests
from stack.neighbours.clients import Lake

PROJECT = Path(__file__).resolve().parents[3]
VERSION = "v2025-02-19"


@pytest.fixture
def lake(tmp_path):
    server = Lake(tmp_path)
    server.put({"_id": "home", "_type": "page", "title": "Home", "slug": {"current": "home"}})
    server.put({"_id": "drafts.home", "_type": "page", "title": "Draft"})
    yield server
    server.stop()


def ask(lake, query, params=None, dataset="production", version=VERSION, headers=None, **url):
    given = {"query": query, **{f"${key}": json.dumps(value) for key, value in (params or {}).items()}, **url}
    return requests.get(
        f"{lake.url}/{version}/data/query/{dataset}", params=given, headers=headers, timeout=5
    )


def test_get_with_parameters(lake):
    answer = ask(lake, "*[_id in $ids]{_id, title}", {"ids": ["home"]}).json()
    assert answer["result"] == [{"_id": "home", "title": "Home"}]
    assert answer["query"].startswith("*[_id in")
    assert isinstance(answer["ms"], int)
    assert "query" not in ask(lake, "*", returnQuery="false").json()


def test_post(lake):
    address = f"{lake.url}/{VERSION}/data/query/production?perspective=published"
    body = {"query": "*[_id == $id][0].title", "params": {"id": "home"}}
    assert requests.post(address, json=body, timeout=5).json()["result"] == "Home"
    wrong = requests.post(address, json=body | {"params": {"$id": "home"}}, timeout=5)
    assert (wrong.status_code, "$id" in wrong.json()["error"]["description"]) == (400, True)


def test_perspectives_and_what_a_token_shows(lake):
    lake.settings(token="sanity-token")
    bearer = {"authorization": "Bearer sanity-token"}
    titles = "*[_type == 'page'] | order(_id) .title"
    assert ask(lake, titles).json()["result"] == ["Home"]
    assert ask(lake, titles, perspective="raw").json()["result"] == ["Home"]
    assert ask(lake, titles, perspective="raw", headers=bearer).json()["result"] == ["Draft", "Home"]
    assert ask(lake, titles, perspective="drafts", headers=bearer).json()["result"] == ["Draft"]
    assert ask(lake, titles, headers=bearer, version="v2024-01-01").json()["result"] == ["Draft", "Home"]
    assert ask(lake, titles, headers={"authorization": "Bearer wrong"}).status_code == 401
    lake.settings(private=True)
    assert ask(lake, titles).status_code == 401


def test_errors(lake):
    broken = ask(lake, "*[_id == ")
    assert broken.status_code == 400
    assert broken.json()["error"]["type"] == "queryParseError"
    assert {"description", "query", "start", "end"} <= broken.json()["error"].keys()
    assert ask(lake, "*[_id == $id]").status_code == 400
    assert ask(lake, "*", dataset="nothing").json()["statusCode"] == 404
    assert (
        requests.get(
            f"{lake.url}/{VERSION}/data/query/production", params={"query": "*", "$x": "é"}, timeout=5
        ).ok
        is False
    )
    assert ask(lake, "*", {"pad": "x" * 12_000}).status_code == 414
    cdn = ask(lake, "*", headers={"host": "abc.apicdn.sanity.io"})
    assert cdn.status_code == 421


def test_mutations_have_revisions_and_times(lake):
    first = lake.put({"_id": "p", "_type": "page"})
    assert (first["operation"], first["before"]) == ("create", None)
    assert first["after"]["_rev"] == first["transaction_id"]
    assert first["after"]["_updatedAt"].endswith("Z") and "." not in first["after"]["_updatedAt"]
    second = lake.patch("p", title="two", transaction_id="rev2", updated_at="2026-01-01T00:00:00Z")
    assert second["operation"] == "update"
    assert (second["after"]["_rev"], second["after"]["_updatedAt"]) == ("rev2", "2026-01-01T00:00:00Z")
    assert second["before"]["_rev"] == first["transaction_id"]
    gone = lake.remove("p")
    assert (gone["operation"], gone["after"], gone["before"]["_rev"]) == ("delete", None, "rev2")
    with pytest.raises(ValueError, match="not found"):
        lake.patch("p", title="three")


def test_the_index_lags_and_levels(lake):
    lake.lag(3600, "home")
    lake.patch("home", title="New")
    title = "*[_id == 'home'][0].title"
    assert ask(lake, title).json()["result"] is None, (
        "with the lag of an hour not even the first version is seen"
    )
    lake.level()
    assert ask(lake, title).json()["result"] == "New"
    lake.remove("home")
    assert ask(lake, title).json()["result"] is None


def test_the_projection_of_a_webhook_is_real_groq(lake):
    changed = lake.remove("home")
    projection = """{
      "_id": coalesce(after()._id, before()._id),
      "op": delta::operation(),
      "old": before().slug.current,
      "d": sanity::dataset()
    }"""
    result = lake.control("project", projection=projection, before=changed["before"], project="abc")["result"]
    assert result == {"_id": "home", "op": "delete", "old": "home", "d": "production"}


def test_faults_and_log(lake):
    lake.fail(
        status=429,
        headers={"retry-after": "7"},
        body={"statusCode": 429, "error": "Too Many Requests", "message": "x"},
    )
    lake.fail(status=503, body="<html>not JSON</html>", times=2, match="production")
    lake.fail(destroy=True)
    throttled = ask(lake, "*[0]")
    assert (throttled.status_code, throttled.headers["retry-after"]) == (429, "7")
    assert [ask(lake, "*[0]").text for _ in range(2)] == ["<html>not JSON</html>"] * 2
    with pytest.raises(requests.ConnectionError):
        ask(lake, "*[0]")
    assert ask(lake, "*[0]").ok
    entries = lake.log()
    assert [entry["status"] for entry in entries] == [429, 503, 503, 0, 200]
    assert entries[-1]["query"] == "*[0]" and entries[-1]["perspective"] == "published"
    assert lake.log(since=entries[-1]["seq"]) == []


def test_the_queries_of_a_cascade(lake):
    """What functions/routing/src/config makes of the shipped routing query where references are followed."""
    shipped = tomllib.loads((PROJECT / "functions/routing/routes.toml").read_text())
    lake.put({"_id": "p1", "_type": "page", "slug": {"current": "a"}, "body": [{"_ref": "s1"}]})
    lake.put({"_id": "s1", "_type": "section", "banner": {"_ref": "b1"}})
    lake.put({"_id": "image-a-1x1-png", "_type": "sanity.imageAsset"})
    both = f'{{"rows": (\n{shipped["routing_query"]["groq"]} // a comment\n), "documents": *[_id in $ids]}}'
    found = ask(lake, both, {"ids": ["p1", "s1"]}).json()["result"]
    rows = {row["_id"]: row for row in found["rows"]}
    assert rows["p1"]["routes"] == [{"route": "default", "slug": "/a"}]
    assert rows["s1"]["routes"] == []
    assert {each["_id"]: each["_rev"] for each in found["documents"]} == {
        name: row["_rev"] for name, row in rows.items()
    }
    ids = {"ids": ["p1", "s1", "image-a-1x1-png", "nowhere"]}
    every = '*[_id in $ids && !(_type in $types) && !string::startsWith(_type, "sanity.")]'
    for query, types in ((every, ["page"]), ("*[_id in $ids && _type in $types]", ["section"])):
        followed = ask(lake, query, ids | {"types": types}).json()["result"]
        assert [each["_id"] for each in followed] == ["s1"]
        assert followed[0]["banner"] == {"_ref": "b1"}
