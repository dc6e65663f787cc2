"""Neighbours that fail, processes that die, messages that are poison: nothing is lost, nothing else waits."""

import json

import pytest
from botocore.exceptions import ClientError
from driving import relay_until, relay_until_applied
from stack.aws import Aws
from stack.places import ACCOUNT
from stack.roles import assumed
from stack.waiting import wait_until
from test_order import batch, record


def test_an_index_that_lags_longer_than_the_fence_holds_nobody_else_up(stack, name, witness):
    stack.lake.lag(30, f"{name}-slow")
    slow = stack.edit(f"{name}-slow", "page", f"/{name}-slow")
    fast = stack.edit(f"{name}-fast", "page", f"/{name}-fast")
    stack.wait_state(fast)
    assert witness.slugs(name) == [f"/{name}-fast"]
    wait_until(lambda: stack.ledger.item(slow.event_id)["defers"] >= 1, 20, "the slow one is put off")
    assert stack.state(slow.event_id) == "pending"
    stack.lake.level()
    relay_until_applied(stack, slow)
    assert f"/{name}-slow" in witness.slugs(name)


@pytest.mark.parametrize("status", [503, 401], ids=["down", "token refused"])
def test_stellate_out_is_put_off_raised_once_and_drained(stack, name, witness, status):
    stack.stellate.fail(status=status, body="out", times=0)
    outages = len(stack.functions.metrics("ConsumerFunction", "TargetOutage"))
    edits = [stack.edit(f"{name}-{n}", "page", f"/{name}-{n}") for n in range(3)]

    def breaker_open() -> bool:
        return len(stack.functions.metrics("ConsumerFunction", "TargetOutage")) > outages

    relay_until(stack, breaker_open, 60, "the outage is raised")
    assert witness.slugs(name) == [], "Next is not called before Stellate"
    assert all(stack.ledger.item(edit.event_id)["attempts"] <= 1 for edit in edits)
    stack.stellate.recover()
    relay_until_applied(stack, *edits)
    assert sorted(set(witness.slugs(name))) == sorted(f"/{name}-{n}" for n in range(3))
    assert len(stack.functions.metrics("ConsumerFunction", "TargetOutage")) == outages + 1, "once"


def test_errors_in_a_200_of_stellate_are_failures(stack, name, witness):
    stack.stellate.fail(status=200, body={"errors": [{"message": "internal"}]}, times=1)
    edit = stack.edit(name, "page", f"/{name}")
    relay_until_applied(stack, edit)
    assert witness.routings().count(f"/{name}") >= 1
    assert witness.slugs(name) == [f"/{name}"]


def test_revalidated_false_in_a_200_of_next_is_a_failure(stack, name, witness):
    stack.storefront.settings(revalidated=False)
    edit = stack.edit(name, "page", f"/{name}")
    witness.wait_request("storefront")
    assert stack.state(edit.event_id) != "applied"
    stack.storefront.settings(revalidated=True)
    relay_until_applied(stack, edit)
    assert witness.slugs(name) == [f"/{name}"]


def test_a_poison_message_goes_to_the_dead_letter_queue_and_stops_no_other_group(stack, name):
    stack.queues.set("RevalidateQueue", VisibilityTimeout=1)
    try:
        before = stack.queues.total("RevalidateDeadLetterQueue")
        stack.queues.send("this is no wake-up", group=f"poison-{name}")
        stack.wait_state(stack.edit(name, "page", f"/{name}"))
        wait_until(
            lambda: stack.queues.total("RevalidateDeadLetterQueue") == before + 1, 60, "the poison is set aside"
        )
    finally:
        stack.queues.set("RevalidateQueue", VisibilityTimeout=360)


def test_aws_powertools_powertools_lambda_python_2981_a_batch_of_two_groups_with_one_bad_reports_exactly_the_right_ones(stack, name):
    with stack.queues.consumer_paused():
        edits = [stack.edit(f"{name}-{n}", "page", f"/{name}-{n}") for n in range(2)]
        one, two = [stack.ledger.item(edit.event_id) for edit in edits]
        event = batch(one, two, one, two)
        event["Records"][0] = record(0, one, body="poison")
        answer = stack.functions.invoke("ConsumerFunction", event)
    failed = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
    assert failed == ["message-0", "message-2"]
    for edit in edits:
        stack.wait_state(edit)


def test_a_message_whose_item_does_not_exist_fails_alone(stack, name):
    with stack.queues.consumer_paused():
        edit = stack.edit(name, "page", f"/{name}")
        item = stack.ledger.item(edit.event_id)
        stranger = item | {"sk": item["sk"][:-1] + "0", "message_group_id": "other"}
        answer = stack.functions.invoke("ConsumerFunction", batch(stranger, item))
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == ["message-0"]
    stack.wait_state(edit)


def test_hashicorp_terraform_provider_aws_33938_the_raw_stream_record_is_read_should_the_template_have_been_dropped(stack, name, witness):
    with stack.queues.consumer_paused():
        edit = stack.edit(name, "page", f"/{name}")
        item = stack.ledger.item(edit.event_id)
        image = {key: {"S": item[key]} for key in ("pk", "sk", "event_id")}
        body = json.dumps({"eventName": "INSERT", "dynamodb": {"NewImage": image}})
        answer = stack.functions.invoke("ConsumerFunction", {"Records": [record(0, item, body=body)]})
    assert answer["batchItemFailures"] == []
    stack.wait_state(edit)
    assert witness.slugs(name) == [f"/{name}"]


@pytest.mark.parametrize("function", ["WebhookFunction", "ConsumerFunction", "RelayFunction"])
def test_what_the_roles_do_not_grant_is_denied(stack, function):
    """The emulator enforces the template's own policies: no role may change evidence or read a table whole."""
    client = as_role(stack, function).client("dynamodb")
    events, outbox = stack.deployment.ids["EventsTable"], stack.deployment.ids["OutboxTable"]
    key = {"event_id": {"S": "evt_x"}}
    calls = {
        "delete evidence": lambda: client.delete_item(TableName=events, Key=key),
        "change evidence": lambda: client.update_item(
            TableName=events,
            Key=key,
            UpdateExpression="SET a = :a",
            ExpressionAttributeValues={":a": {"S": "a"}},
        ),
        "scan the outbox": lambda: client.scan(TableName=outbox),
    }
    for what, call in calls.items():
        with pytest.raises(ClientError) as refused:
            call()
        assert "AccessDenied" in refused.value.response["Error"]["Code"], what


def as_role(stack, function) -> Aws:
    """The emulated AWS with the rights of a function's role."""
    iam, sts = stack.aws.client("iam"), stack.aws.client("sts")
    arn_of = iam.get_role(RoleName=stack.deployment.role_of(function))["Role"]["Arn"]
    return Aws(stack.aws.endpoint, assumed(iam, sts, arn_of, ACCOUNT))
