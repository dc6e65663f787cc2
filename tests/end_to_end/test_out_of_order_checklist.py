"""The seven points that a receiver of webhooks out of order is to be tested on, in the order of the public checklist."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from driving import relay_until_applied
from stack.waiting import wait_until
from test_order import batch
from test_webhook import events_of, hand_made


def live_slugs(stack, document_id):
    """The paths at which a document has a page."""
    return [route["slug"] for route in stack.ledger.routes(document_id) if "slug" in route]


def test_1_the_same_event_many_times_and_at_once(stack, name, witness):
    edit = stack.edit(name, "page", f"/{name}", send=False)
    for _ in range(2):
        stack.editor.send(edit)
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: stack.send(edit.delivery), range(20)))
    assert {answer.status for answer in answers} <= {200, 503}
    assert all(answer.body["duplicate"] for answer in answers if answer.status == 200)
    stack.wait_state(edit)
    assert len(events_of(stack, name)) == 1
    assert len(stack.ledger.items(name, kind="event")) == 1
    handled = [entry for entry in stack.ledger.history(name) if edit.event_id in entry["events"]]
    assert len(handled) == 1 and set(witness.slugs(name)) == {f"/{name}"}, "one effect"


def test_2_a_cancellation_before_its_confirmation(stack, name, witness):
    """The delete of a page is delivered, and handled, before its publication is."""
    published = stack.edit(name, "page", f"/{name}", send=False)
    stack.wait_state(stack.delete(name))
    stack.editor.send(published)
    relay_until_applied(stack, published)
    assert live_slugs(stack, name) == []
    assert stack.ledger.head(name)["handled"], "the delete stays what was applied"


def test_3_an_old_event_after_a_newer_one(stack, name, witness):
    old = stack.edit(name, "page", f"/{name}-old", send=False, updated_at="2026-01-01T00:00:01Z")
    new = stack.edit(name, "page", f"/{name}-new", updated_at="2026-01-01T00:00:05Z")
    stack.wait_state(new)
    second = stack.ledger.head(name)["second"]
    stack.editor.send(old)
    assert stack.wait_state(old)["reason"] == "late"
    assert stack.ledger.head(name)["second"] == second, "the head does not go back"
    assert live_slugs(stack, name) == [f"/{name}-new"]
    assert f"/{name}-old" in witness.slugs(name), "its slugs are purged all the same"


def test_4a_a_gap_is_marked_counted_and_made_up_for(stack, name, witness):
    gaps = sum(stack.functions.metrics("ConsumerFunction", "Gaps"))
    stack.wait_state(stack.edit(name, "page", f"/{name}", updated_at="2026-01-01T00:00:01Z"))
    stack.edit(name, "page", f"/{name}-lost", send=False, updated_at="2026-01-01T00:00:03Z")
    after = stack.edit(name, "page", f"/{name}-after", updated_at="2026-01-01T00:00:05Z")
    assert stack.wait_state(after)["reason"] == "applied_after_gap"
    wait_until(
        lambda: sum(stack.functions.metrics("ConsumerFunction", "Gaps")) == gaps + 1, 10, "the gap is counted"
    )
    assert live_slugs(stack, name) == [f"/{name}-after"], "as the source shows it"
    assert f"/{name}-lost" in witness.slugs(name), "the event after the gap names the slug before it"


@pytest.mark.parametrize(
    ("what", "body", "state"),
    [
        ("unknown type", b'{"_id":"%s","_type":"never-heard-of","_rev":"r1"}', "pending"),
        ("truncated", b'{"_id":"%s","_type":"pa', "in_review"),
        ("empty object", b"{}", "in_review"),
    ],
    ids=["unknown-type", "truncated", "empty"],
)
def test_4b_unknown_types_and_truncated_payloads_are_kept(stack, name, what, body, state):
    body = body.replace(b"%s", name.encode())
    answer = stack.send(hand_made(body))
    assert (answer.status, answer.body["state"]) == (200, state), answer.body
    assert stack.ledger.event(answer.body["event_id"])["payload"] == body


def test_4c_bad_signatures_leave_no_trace_and_are_counted(stack, name):
    before = len(stack.ledger.scan("events"))
    refused = sum(stack.functions.metrics("WebhookFunction", "SignatureRefused"))
    delivery = hand_made({"_id": name, "_type": "page", "_rev": "r1"})
    for answer in (stack.send(delivery, signed=False), stack.send(delivery, secret="another secret")):
        assert answer.status == 401
    assert len(stack.ledger.scan("events")) == before
    wait_until(
        lambda: sum(stack.functions.metrics("WebhookFunction", "SignatureRefused")) == refused + 2, 10, "counted"
    )


def test_5_a_worker_that_dies_after_the_effect_and_before_the_mark(stack, name, witness):
    stack.queues.set("RevalidateQueue", VisibilityTimeout=2)
    try:
        stack.storefront.fail(effect=True, hold_ms=-1, times=1)
        edit = stack.edit(name, "page", f"/{name}")
        witness.wait_request("storefront")
        assert witness.slugs(name) == [f"/{name}"], "the effect is there, the answer is not"
        assert stack.functions.kill("ConsumerFunction") >= 1
        stack.storefront.recover()
        assert stack.state(edit.event_id) == "pending"
        relay_until_applied(stack, edit)
        assert set(witness.slugs(name)) == {f"/{name}"}
        assert not stack.ledger.plan(name)
    finally:
        stack.queues.set("RevalidateQueue", VisibilityTimeout=360)


def test_6_two_workers_on_one_entity(stack, name):
    with stack.queues.consumer_paused():
        edits = [stack.edit(name, "page", f"/{name}-{number}") for number in range(2)]
        items = [stack.ledger.item(edit.event_id) for edit in edits]
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda item: stack.functions.invoke("ConsumerFunction", batch(item)), items))
    assert all(answer["batchItemFailures"] == [] for answer in answers)
    relay_until_applied(stack, *edits)
    assert not stack.ledger.plan(name)
    assert live_slugs(stack, name) == [f"/{name}-1"]


def test_7_reprocessing_keeps_the_audit_and_doubles_nothing(stack, name, witness):
    edit = stack.edit(name, "page", f"/{name}")
    stack.wait_state(edit)
    evidence, history = stack.ledger.event(edit.event_id), stack.ledger.history(name)
    witness.forget()
    request = {
        "verb": "reprocess",
        "event_id": edit.event_id,
        "requester": "somebody",
        "reason": "the checklist",
        "dry_run": False,
    }
    # Within five minutes of the first message, and twice at once.
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: stack.functions.invoke("OperatorFunction", request), range(2)))
    assert all(answer["count"] == 1 for answer in answers), answers

    def handled():
        items = stack.ledger.items(name, kind="reprocess")
        return items and all(item["state"] == "applied" for item in items)

    wait_until(handled, 30, "handled again", explain=lambda: stack.ledger.items(name))
    assert set(witness.slugs(name)) == {f"/{name}"}
    wakes = [entry for entry in stack.ledger.history(name) if entry.get("wake", "").endswith("#g1")]
    assert len(wakes) == 1, "handled once more, and no more"
    assert stack.ledger.event(edit.event_id) == evidence
    after = {entry["sk"]: entry for entry in stack.ledger.history(name)}
    assert all(after[entry["sk"]] == entry for entry in history), "the history only grows"
    asked = [entry for entry in after.values() if entry.get("requester") == "somebody"]
    assert len(asked) == 2 and all(entry["because"] == "the checklist" for entry in asked)
