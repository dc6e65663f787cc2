"""The way from the outbox to the queue interrupted: everything is applied in the end, and nothing twice in effect."""

import sys

import pytest
from driving import relay_until, relay_until_applied
from stack.stack import Stack
from stack.waiting import wait_until
from witness import Witness


def paths(name, count):
    return [f"/{name}-{number}" for number in range(count)]


def publish(stack, name, count):
    return [stack.edit(f"{name}-{number}", "page", path) for number, path in enumerate(paths(name, count))]


def test_with_the_pipe_stopped_the_relay_forwards_and_what_the_pipe_makes_up_for_does_nothing(stack, name, witness):
    stack.pause_pipe()
    try:
        edits = publish(stack, name, 3)
        relay_until_applied(stack, *edits)
        assert stack.functions.metrics("RelayFunction", "PipeRunning")[-1] == 0, "and the alarm is raised"
        assert set(witness.slugs(name)) == set(paths(name, 3))
        handled = [wakes(stack, edit) for edit in edits]
    finally:
        stack.resume_pipe()
    forwarded = {edit.event_id for edit in edits}

    def caught_up():
        return forwarded <= {entry.get("deduplication") for entry in stack.pipe.log("forwarded")}

    wait_until(caught_up, 20, "the Pipe goes on where it stood")
    wait_until(lambda: stack.queues.total("RevalidateQueue") == 0, 20, "its messages are handled")
    assert [wakes(stack, edit) for edit in edits] == handled, "and do nothing"


def test_a_pipe_deleted_and_recreated_begins_with_what_the_stream_holds(stack, name, witness):
    before = publish(stack, f"{name}-before", 2)
    for edit in before:
        stack.wait_state(edit)
    stack.kill_pipe()
    between = publish(stack, f"{name}-between", 2)
    stack.start_pipe()
    for edit in between:
        stack.wait_state(edit)
    again = [entry["deduplication"] for entry in stack.pipe.log("forwarded")]
    assert all(again.count(edit.event_id) >= 2 for edit in before), "the new one began at the trim horizon"
    wait_until(lambda: stack.queues.total("RevalidateQueue") == 0, 20, "its messages are handled")
    assert [wakes(stack, edit) for edit in [*before, *between]] == [1] * 4, "each is handled once"
    assert set(witness.slugs(name)) == {*paths(f"{name}-before", 2), *paths(f"{name}-between", 2)}


def test_records_that_the_pipe_cannot_send_end_in_its_dead_letter_queue_and_are_relayed(stack, name, witness):
    dead = len(stack.pipe.log("dead"))
    with stack.denied("OutboxPipeRole", "sqs:SendMessage", resource=queue_arn(stack, "RevalidateQueue")):
        edits = publish(stack, name, 2)
        # What the Pipe gave up it never sends again.
        wait_until(lambda: len(stack.pipe.log("dead")) > dead, 90, "the Pipe gives up")
        relay_until_applied(stack, *edits)
    assert sorted(set(witness.slugs(name))) == paths(name, 2)
    stack.wait_state(stack.edit(f"{name}-after", "page", f"/{name}-after"))


def test_the_queue_denied_for_a_while_consumes_no_attempt(stack, name, witness):
    stack.pause_pipe()
    try:
        with stack.functions.denied("RelayFunction", "sqs:SendMessage"):
            edits = publish(stack, name, 2)

            def tried():
                return all(stack.ledger.item(edit.event_id)["resends"] >= 1 for edit in edits)

            relay_until(stack, tried, 30, "the relay has tried")
            assert all(stack.ledger.item(edit.event_id)["attempts"] == 0 for edit in edits)
    finally:
        stack.resume_pipe()
    for edit in edits:
        stack.wait_state(edit)
    assert [wakes(stack, edit) for edit in edits] == [1, 1] and set(witness.slugs(name)) == set(paths(name, 2))


def wakes(stack, edit):
    """How many wakes handled an edit."""
    return sum(edit.event_id in entry["events"] for entry in stack.ledger.history(edit.document_id))


@pytest.fixture(scope="module")
def polling():
    """The plain polling outbox: no grace, and no Pipe."""
    with Stack(
        "polling", {"OutboxGraceSeconds": "0"}, seed=False, pipe=False, progress=lambda text: print(text, file=sys.stderr)
    ) as stack:
        yield stack


def test_with_grace_0_and_no_pipe_it_is_the_plain_polling_outbox(polling):
    """The whole way of edits, a rename, a component and a delete, with nothing but the relay between."""
    witness = Witness(polling)
    banner = {"_type": "reference", "_ref": "banner"}
    edits = [polling.edit("banner", "banner"), *(publish(polling, "page", 3))]
    edits.append(polling.edit("made-of", "page", "/made-of", banner=banner))
    relay_until_applied(polling, *edits)
    assert sorted(set(witness.slugs())) == ["/made-of", *paths("page", 3)]
    witness.forget()
    edits = [polling.edit("page-0", path="/renamed"), polling.edit("banner", title="New"), polling.delete("page-1")]
    relay_until_applied(polling, *edits)
    assert set(witness.slugs()) >= {"/made-of", "/page-0", "/page-1", "/renamed"}
    assert polling.pipe is None and not polling.ledger.plan("page-0")


def queue_arn(stack, logical_id):
    """A queue's ARN."""
    answer = stack.aws.client("sqs").get_queue_attributes(
        QueueUrl=stack.queues.url(logical_id), AttributeNames=["QueueArn"]
    )
    return answer["Attributes"]["QueueArn"]
