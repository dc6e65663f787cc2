"""The table of requests and answers, row by row, on the deployed function."""

import base64
import json
import random
import string
from concurrent.futures import ThreadPoolExecutor

import pytest
from stack.neighbours.sender import Delivery, signature


def events_of(stack, document_id):
    return [event for event in stack.ledger.scan("events") if event.get("document_id") == document_id]


def hand_made(body, **headers):
    """A webhook that no editor made."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Delivery(
        raw,
        {
            "content-type": "application/json",
            "user-agent": "Sanity.io webhook delivery",
            "sanity-dataset": "production",
            "sanity-project-id": "localproject",
            "idempotency-key": f'"{random.getrandbits(64):x}"',
        }
        | {key.replace("_", "-"): value for key, value in headers.items()},
    )


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_another_method_is_405_and_says_what_is_allowed(stack, method):
    answer = stack.send(hand_made({"_id": "x"}), method=method)
    assert answer.status == 405
    assert {key.lower(): value for key, value in answer.headers.items()}["allow"] == "POST"
    assert answer.body["error"] and answer.body["message"]


@pytest.mark.parametrize(
    ("what", "status"),
    [("absent", 401), ("wrong", 401), ("malformed", 400), ("twice", 400), ("other secret", 401)],
)
def test_a_bad_signature_is_refused_and_nothing_is_stored(stack, name, what, status):
    delivery = hand_made({"_id": name, "_type": "page", "_rev": "r1"})
    good = signature(delivery.body, stack.sender.secret)
    before = len(stack.ledger.scan("events"))
    answer = {
        "absent": lambda: stack.send(delivery, signed=False),
        "wrong": lambda: stack.send(delivery, header=signature(delivery.body + b" ", stack.sender.secret)),
        "malformed": lambda: stack.send(delivery, header="t=yesterday,v1=?"),
        "twice": lambda: stack.send(delivery, header=f"{good},{good}"),
        "other secret": lambda: stack.send(delivery, secret="another secret"),
    }[what]()
    assert answer.status == status, answer.body
    assert answer.body["error"] and answer.body["message"]
    assert len(stack.ledger.scan("events")) == before


def test_another_content_type_is_415(stack, name):
    assert stack.send(hand_made({"_id": name}, content_type="text/plain")).status == 415


def test_our_own_faults_are_503_so_that_sanity_tries_again(stack, name):
    edit = stack.edit(name, "page", "/503", send=False)
    with stack.functions.denied("WebhookFunction", "dynamodb:PutItem"):
        answer = stack.send(edit.delivery)
    assert answer.status == 503, answer.body
    assert not events_of(stack, name)
    assert stack.send(edit.delivery).status == 200, "the retry"
    assert len(events_of(stack, name)) == 1


def test_a_secret_that_cannot_be_read_is_503_and_never_a_bad_signature(stack, name):
    edit = stack.edit(name, "page", "/503", send=False)
    with stack.functions.denied("WebhookFunction", "secretsmanager:GetSecretValue"):
        stack.functions.kill("WebhookFunction")
        answer = stack.send(edit.delivery)
    assert answer.status == 503, answer.body
    stack.functions.kill("WebhookFunction")
    assert stack.send(edit.delivery).status == 200


def test_a_new_event_is_stored_with_everything_that_can_be_verified(stack, name):
    edit = stack.edit(name, "page", "/new")
    assert edit.answer.body["received"] is True
    event = stack.ledger.event(edit.event_id)
    assert event["provider"] == "sanity" and event["environment"] == "local"
    assert (event["document_id"], event["revision"]) == (name, edit.revision)
    assert event["verified_by"] == "current"
    assert event["operation"] == "create"
    assert event["transaction_id"] == edit.change["transaction_id"]
    assert event["headers"]["sanity-webhook-id"] == "cascataLocalHook"
    assert event["payload"] == edit.delivery.body
    assert stack.wait_state(edit)["deliveries"] == 1


def test_a_seen_event_is_a_duplicate_however_often_it_comes(stack, name):
    edit = stack.edit(name, "page", "/seen")
    for _ in range(3):
        answer = stack.send(edit.delivery)
        assert (answer.status, answer.body["duplicate"]) == (200, True)
    assert len(events_of(stack, name)) == 1
    assert stack.wait_state(edit)["deliveries"] == 4


def test_twenty_at_once_are_one_event_and_one_item(stack, name):
    edit = stack.edit(name, "page", "/twenty", send=False)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: stack.send(edit.delivery), range(20)))
    assert {answer.status for answer in answers} <= {200, 503}
    new = [answer for answer in answers if answer.status == 200 and not answer.body.get("duplicate")]
    assert len(new) <= 1
    assert stack.send(edit.delivery).status == 200
    assert len(events_of(stack, name)) == 1
    assert len(stack.ledger.items(name, kind="event")) == 1


@pytest.mark.parametrize("prefix", ["drafts.", "versions.r1."])
def test_drafts_and_versions_are_stored_and_ignored(stack, name, prefix):
    delivery = hand_made({"_id": prefix + name, "_type": "page", "_rev": "r1", "operation": "update"})
    answer = stack.send(delivery)
    assert (answer.status, answer.body["state"]) == (200, "ignored"), answer.body
    item = stack.ledger.item(answer.body["event_id"])
    assert item["state"] == "ignored" and item["reason"] and "status" not in item
    assert item["expires_at"] > 0


def test_an_ignored_type_is_stored_and_ignored(stack, name):
    answer = stack.send(hand_made({"_id": name, "_type": "sanity.fileAsset", "_rev": "r1"}))
    assert (answer.status, answer.body["state"]) == (200, "ignored")


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("not an object", b"[1,2]"),
        ("a string", b'"text"'),
        ("no id", b'{"_type":"page"}'),
        ("not JSON", b"{nearly"),
    ],
)
def test_what_is_signed_but_unintelligible_is_for_review(stack, what, body):
    answer = stack.send(hand_made(body))
    assert (answer.status, answer.body["state"]) == (200, "in_review"), answer.body
    event = stack.ledger.event(answer.body["event_id"])
    assert event["payload"] == body
    item = stack.ledger.item(answer.body["event_id"])
    assert item["state"] == "in_review" and "status" not in item and "expires_at" not in item


def test_a_large_body_is_kept_whole_while_an_item_can_hold_it(stack, name):
    text = "".join(random.Random(1).choices(string.ascii_letters, k=200)) * 5000
    answer = stack.send(hand_made({"_id": name, "_type": "page", "_rev": "r1", "text": text}))
    assert answer.status == 200
    event = stack.ledger.event(answer.body["event_id"])
    assert event["payload_encoding"] == "gzip" and event["payload_bytes"] > 1_000_000


def test_a_body_that_no_item_can_hold_leaves_fingerprint_and_envelope(stack, name):
    noise = base64.b64encode(random.Random(2).randbytes(3_000_000)).decode()
    answer = stack.send(hand_made({"_id": name, "_type": "page", "_rev": "r1", "text": noise}))
    assert answer.status == 200
    event = stack.ledger.event(answer.body["event_id"])
    assert event["payload_encoding"] == "absent" and "payload" not in event
    assert len(event["sha256"]) == 64 and event["document_id"] == name


def test_two_secrets_are_live_and_the_event_says_which(stack, name):
    old = stack.sender.secret
    new = "a-new-secret-for-the-rotation"
    stack.deployment.put_secret("WebhookSecret", new)
    try:
        stack.functions.kill("WebhookFunction")
        by_old = stack.edit(f"{name}-1", "page", "/old-secret")
        assert stack.ledger.event(by_old.event_id)["verified_by"] == "previous"
        by_new = stack.edit(f"{name}-2", "page", "/new-secret", send=False)
        answer = stack.send(by_new.delivery, secret=new)
        assert answer.status == 200
        assert stack.ledger.event(answer.body["event_id"])["verified_by"] == "current"
    finally:
        stack.deployment.put_secret("WebhookSecret", old)
        stack.functions.kill("WebhookFunction")


def test_a_whole_document_works_as_well_as_the_projection(stack, name, witness):
    edit = stack.edit(name, "page", "/whole", body="document", title="Whole")
    stack.wait_state(edit)
    assert "/whole" in witness.slugs()


def test_unicode_goes_all_the_way(stack, name, witness):
    edit = stack.edit(name, "page", "/città è bella/日本", title="Ünïcödé 🎉")
    stack.wait_state(edit)
    assert witness.slugs() == ["/città è bella/日本"]
