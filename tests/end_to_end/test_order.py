"""Whatever order edits arrive in, the last one ends visible."""

import json

import pytest
from driving import relay_until_applied


def test_ten_saves_in_one_window_are_one_purge_a_layer_and_ten_applied(stack, name, witness):
    with stack.queues.consumer_paused():
        # A second each: saves of one second are tied, and a tied purge is repeated once (law 10).
        edits = [
            stack.edit(name, "page", "/ten", title=f"Save {number}", updated_at=f"2026-01-01T00:00:{10 + number}Z")
            for number in range(10)
        ]
    for edit in edits:
        stack.wait_state(edit)
    assert witness.slugs("/ten") == ["/ten"]
    assert witness.objects() == [f"Page:{name}"]
    assert witness.routings() == ["/ten"]


def test_ruby_shoryuken_shoryuken_1038_a_b_a_is_purged_after_the_last_save(stack, name, witness):
    for title in ("A", "B", "A"):
        edit = stack.edit(name, "page", "/aba", title=title)
        stack.wait_state(edit)
    assert witness.slugs("/aba") == ["/aba"] * 3


@pytest.mark.parametrize("reversed_order", [False, True], ids=["in order", "reversed"])
def test_two_revisions_in_one_second(stack, name, witness, reversed_order):
    second = "2026-01-01T00:00:09Z"
    edits = [
        stack.edit(name, "page", path, send=False, updated_at=second) for path in ("/tied-a", "/tied-b")
    ]
    with stack.queues.consumer_paused():
        for edit in reversed(edits) if reversed_order else edits:
            stack.editor.send(edit)
    relay_until_applied(stack, *edits)
    assert set(witness.slugs("/tied")) == {"/tied-a", "/tied-b"}
    live = [route["slug"] for route in stack.ledger.routes(name) if not route.get("gone") and "slug" in route]
    assert live == ["/tied-b"]


def test_a_delete_after_an_update_with_the_same_revision(stack, name, witness):
    edit = stack.edit(name, "page", "/gone")
    stack.wait_state(edit)
    witness.forget()
    deleted = stack.delete(name)
    assert deleted.revision == edit.revision
    stack.wait_state(deleted)
    assert witness.slugs("/gone") == ["/gone"]
    assert not [route for route in stack.ledger.routes(name) if not route.get("gone") and "slug" in route]


def test_a_create_after_a_delete(stack, name, witness):
    stack.wait_state(stack.edit(name, "page", "/again"))
    stack.wait_state(stack.delete(name))
    witness.forget()
    stack.wait_state(stack.edit(name, "page", "/again", title="Back"))
    assert "/again" in witness.slugs()


def test_a_banner_refreshes_its_pages_and_no_others(stack, name, witness):
    banner = {"_type": "reference", "_ref": f"{name}-banner"}
    stack.wait_state(stack.edit(f"{name}-banner", "banner"))
    pages = [stack.edit(f"{name}-{n}", "page", f"/{name}/{n}", banner=banner) for n in range(4)]
    pages.append(stack.edit(f"{name}-other", "page", f"/{name}/other"))
    for page in pages:
        stack.wait_state(page)
    witness.forget()
    edit = stack.edit(f"{name}-banner", title="New")
    item = stack.wait_state(edit)
    assert item["routes_affected"] == 4
    assert sorted(witness.slugs(name)) == [f"/{name}/{n}" for n in range(4)]
    assert f"Banner:{name}-banner" in witness.objects()


def batch(*items):
    """An SQS batch with a message for each item, as the Pipe sends them."""
    return {"Records": [record(number, item) for number, item in enumerate(items)]}


def record(number, item, body=None):
    message = {
        "version": "1",
        "event_id": item["event_id"],
        "document_key": item["pk"],
        "sort_key": item["sk"],
    }
    return {
        "messageId": f"message-{number}",
        "receiptHandle": f"receipt-{number}",
        "body": body if body is not None else json.dumps(message),
        "attributes": {"MessageGroupId": item["message_group_id"], "ApproximateReceiveCount": "1"},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:queue.fifo",
        "awsRegion": "us-east-1",
    }
