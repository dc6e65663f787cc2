"""The stand-ins for Stellate and the storefront behave, and fail, as the facts say."""

import threading

import pytest
import requests
from stack.neighbours.clients import Stellate, Storefront
from stack.waiting import wait_until

TOKEN = {"stellate-token": "stellate-token"}
BEARER = {"authorization": "Bearer storefront-secret"}

TWO = """mutation ($a: [KeyFieldInput!], $b: [KeyFieldInput!]) {
  Page: _purgeType(type: "Page", keyFields: $a, soft: true)
  Routing: _purgeType(type: "Routing", keyFields: $b)
}"""
KEYS = {
    "a": [{"name": "_id", "value": "home"}],
    "b": [{"name": "slug", "value": "/"}, {"name": "slug", "value": "/home"}],
}


@pytest.fixture
def stellate(tmp_path):
    server = Stellate(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def storefront(tmp_path):
    server = Storefront(tmp_path)
    yield server
    server.stop()


def purge(stellate, query=TWO, variables=KEYS, headers=TOKEN, path="/cascata", timeout=5):
    return requests.post(
        f"{stellate.url}{path}",
        json={"query": query, "variables": variables},
        headers=headers,
        timeout=timeout,
    )


def revalidate(storefront, slugs, headers=BEARER, **params):
    address = f"{storefront.url}/api/revalidate"
    return requests.post(
        address, json={"slugs": slugs}, headers=headers, params=params, timeout=5, allow_redirects=False
    )


def test_aliases_and_variables_are_purged_key_by_key(stellate):
    assert purge(stellate).json() == {"data": {"Page": True, "Routing": True}}
    seen = [(one["type"], one["name"], one["value"], one["soft"]) for one in stellate.purges()]
    assert seen == [
        ("Page", "_id", "home", True),
        ("Routing", "slug", "/", False),
        ("Routing", "slug", "/home", False),
    ]
    assert [one["value"] for one in stellate.log()[0]["purges"]] == ["home", "/", "/home"]


@pytest.mark.parametrize("fields", ["", ", keyFields: []"])
def test_no_key_fields_is_the_whole_type(stellate, fields):
    purge(stellate, query=f'mutation {{ _purgeType(type: "Page"{fields}) }}', variables=None)
    assert [(one["type"], one["whole_type"]) for one in stellate.purges()] == [("Page", True)]


def test_stellate_refusals(stellate):
    assert purge(stellate, headers={}).status_code == 401
    assert purge(stellate, headers={"stellate-token": "wrong"}).status_code == 401
    assert purge(stellate, path="/other").status_code == 404
    unknown = purge(stellate, query="mutation { _purgeEverything }", variables=None)
    assert unknown.status_code == 200 and "errors" in unknown.json() and "data" not in unknown.json()
    assert purge(stellate, query="mutation {", variables=None).json()["errors"]
    number = KEYS | {"a": [{"name": "_id", "value": 7}]}
    assert "errors" in purge(stellate, variables=number).json(), "a value is a string"
    assert stellate.purges() == []


def test_an_error_with_a_path_concerns_one_alias(stellate):
    stellate.settings(refuse=[{"type": "Page", "value": "home"}])
    answer = purge(stellate)
    assert answer.status_code == 200
    assert answer.json()["data"] == {"Page": None, "Routing": True}
    assert [error["path"] for error in answer.json()["errors"]] == [["Page"]]
    assert {one["type"] for one in stellate.purges()} == {"Routing"}


def test_an_answer_may_be_lost_after_the_effect(stellate):
    stellate.fail(effect=True, status=502, body="Bad Gateway")
    assert purge(stellate).text == "Bad Gateway"
    assert len(stellate.purges()) == 3


def test_an_answer_is_held_after_the_effect_until_released(stellate):
    stellate.fail(hold_ms=-1)
    answers = []
    call = threading.Thread(target=lambda: answers.append(purge(stellate, timeout=20)))
    call.start()
    wait_until(stellate.purges, 5, "the purge has taken effect")
    assert answers == []
    stellate.release()
    call.join(5)
    assert answers[0].json()["data"] == {"Page": True, "Routing": True}


def test_revalidation(storefront):
    assert revalidate(storefront, ["/", "/a"]).json() == {"revalidated": True}
    assert [one["slug"] for one in storefront.revalidations()] == ["/", "/a"]
    assert storefront.log()[0]["slugs"] == ["/", "/a"]


def test_storefront_refusals(storefront):
    assert revalidate(storefront, ["/"], headers={}).status_code == 401
    assert revalidate(storefront, ["/"], headers={}, secret="storefront-secret").status_code == 401
    assert revalidate(storefront, []).status_code == 400
    assert requests.get(f"{storefront.url}/api/revalidate", headers=BEARER, timeout=5).status_code == 405
    storefront.settings(secret_in="query")
    assert revalidate(storefront, ["/"], headers={}, secret="storefront-secret").ok
    assert revalidate(storefront, ["/"]).status_code == 401


def test_one_slug_that_fails(storefront):
    storefront.settings(broken=["/b"])
    assert revalidate(storefront, ["/a", "/b"]).status_code == 500
    assert storefront.revalidations() == [], "without a list nobody knows which, so nothing counts as done"
    storefront.settings(results=True)
    answer = revalidate(storefront, ["/a", "/b"]).json()
    assert [one["revalidated"] for one in answer["results"]] == [True, False]
    assert answer["revalidated"] is False
    assert [one["slug"] for one in storefront.revalidations()] == ["/a"]


def test_not_revalidated_with_status_200_and_a_redirect(storefront):
    storefront.settings(revalidated=False)
    assert revalidate(storefront, ["/a"]).json()["revalidated"] is False
    storefront.fail(status=308, headers={"location": "/login"}, body="")
    assert revalidate(storefront, ["/a"]).headers["location"] == "/login"
    assert storefront.revalidations() == []


def test_a_stopped_neighbour_can_come_back_at_its_port(storefront, tmp_path):
    storefront.stop()
    with pytest.raises(requests.ConnectionError):
        revalidate(storefront, ["/"])
    again = Storefront(tmp_path, storefront.port)
    try:
        assert revalidate(again, ["/"]).ok
    finally:
        again.stop()
