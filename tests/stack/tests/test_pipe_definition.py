"""Each way in which a Pipe's declaration is wrong is refused, and all of them at once."""

import copy

import pytest
from stack.pipe.definition import PipeRefused, read
from stack.places import ACCOUNT, REGION

STREAM = "SourceParameters.DynamoDBStreamParameters"
QUEUE = "TargetParameters.SqsQueueParameters"
DELETE = object()


def changed(properties, path, value):
    properties = copy.deepcopy(properties)
    node = properties
    *way, last = path.split(".")
    for step in way:
        node = node[step]
    if value is DELETE:
        del node[last]
    else:
        node[last] = value
    return properties


def test_the_golden_pipe_is_taken(golden):
    definition = read(golden("pipe"), REGION, ACCOUNT)
    assert (definition.batch_size, definition.retry_attempts, definition.bisect) == (10, 3, True)
    assert definition.arn.endswith(":pipe/cascata-local-outbox-1")


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (f"{STREAM}.BatchSize", 100, "BatchSize is 100"),
        (f"{STREAM}.BatchSize", DELETE, "BatchSize is 100"),
        (f"{STREAM}.BatchSize", 0, "BatchSize"),
        (f"{STREAM}.BatchSize", "ten", "BatchSize"),
        (f"{STREAM}.StartingPosition", DELETE, "StartingPosition"),
        (f"{STREAM}.StartingPosition", "AT_TIMESTAMP", "StartingPosition"),
        (f"{STREAM}.MaximumRetryAttempts", 10_001, "MaximumRetryAttempts"),
        (f"{STREAM}.MaximumRecordAgeInSeconds", 604_801, "MaximumRecordAgeInSeconds"),
        (f"{STREAM}.OnPartialBatchItemFailure", "BISECT", "AUTOMATIC_BISECT"),
        (f"{STREAM}.DeadLetterConfig.Arn", "arn:aws:sqs:eu-west-1:123456789012:dead.fifo", "standard queue"),
        (f"{STREAM}.DeadLetterConfig.Arn", "dead", "ARN of a queue"),
        (f"{STREAM}.FilterCriteria", {"Filters": []}, "does not belong here"),
        ("SourceParameters.FilterCriteria", {"Filters": []}, "one to five"),
        ("SourceParameters.FilterCriteria", {"Filters": [{"Pattern": "{"}]}, "not JSON"),
        ("SourceParameters.FilterCriteria", {"Filters": [{"pattern": "{}"}]}, "`Pattern`"),
        (f"{QUEUE}.MessageGroupId", DELETE, "MessageGroupId is missing"),
        (f"{QUEUE}.MessageGroupId", "<$.dynamodb.Keys.pk.S>", "without `<` and `>`"),
        (f"{QUEUE}.MessageGroupId", "$." + "x" * 99, "100"),
        (f"{QUEUE}.DelaySeconds", 5, "does not belong here"),
        ("TargetParameters.InputTemplate", '{"a": $.b, "c": "<x>"}', "InputTemplate"),
        ("Target", "arn:aws:lambda:eu-west-1:123456789012:function:x", "SQS queue"),
        ("Source", "arn:aws:dynamodb:eu-west-1:123456789012:table/x", "stream"),
        ("Name", "a b", "Name"),
        ("RoleArn", DELETE, "RoleArn"),
        ("Sources", {}, "does not belong here"),
    ],
)
def test_refused(golden, path, value, reason):
    with pytest.raises(PipeRefused, match=reason):
        read(changed(golden("pipe"), path, value), REGION, ACCOUNT)


def test_every_problem_at_once(golden):
    properties = changed(golden("pipe"), f"{STREAM}.BatchSize", 100)
    properties = changed(properties, f"{QUEUE}.MessageGroupId", DELETE)
    with pytest.raises(PipeRefused) as refusal:
        read(properties, REGION, ACCOUNT)
    assert len(refusal.value.problems) == 2
