"""The Pipe from the outbox to the queue: the one part that no emulator runs."""

import json
import re

from model import reference, text

from . import check

PIPE = "OutboxPipe"
# Target parameters take a whole path, bare; <$.path> would be sent literally.
BARE_PATH = re.compile(r"\$\.dynamodb\.NewImage\.([a-z_]+)\.S")
PLACEHOLDER = re.compile(r"<\$\.([^>]*)>")


def _stream(template):
    return template.properties(PIPE).get("SourceParameters", {}).get("DynamoDBStreamParameters", {})


def _queue_parameters(template):
    return template.properties(PIPE).get("TargetParameters", {}).get("SqsQueueParameters", {})


def _bare_path(template, field, attribute):
    value = _queue_parameters(template).get(field)
    match = BARE_PATH.fullmatch(value) if isinstance(value, str) else None
    if value is None:
        yield f"the Pipe has no {field}, which a FIFO queue demands of every message"
    elif not match:
        yield f"{field} is {value!r}, not a bare path $.dynamodb.NewImage.<attribute>.S"
    elif match.group(1) != attribute:
        yield f"{field} takes {match.group(1)}, not {attribute}"


@check
def pipe_message_group(template):
    yield from _bare_path(template, "MessageGroupId", "message_group_id")


@check
def pipe_deduplication(template):
    """The relay sends the event's id too; with an id of the stream's own the queue would not know the two as one."""
    yield from _bare_path(template, "MessageDeduplicationId", "message_deduplication_id")


@check
def pipe_source_and_target(template):
    pipe = template.properties(PIPE)
    if reference(pipe.get("Source")) != ("OutboxTable", "StreamArn"):
        yield "the source is not the outbox table's stream"
    if reference(pipe.get("Target")) != ("RevalidateQueue", "Arn"):
        yield "the target is not the queue"


@check
def pipe_filter(template):
    filters = (
        template.properties(PIPE).get("SourceParameters", {}).get("FilterCriteria", {}).get("Filters", [])
    )
    if len(filters) != 1:
        # Several filters are joined by "or".
        yield f"{len(filters)} filters instead of one"
        return
    pattern = filters[0].get("Pattern")
    try:
        pattern = json.loads(pattern)
    except (TypeError, ValueError) as error:
        yield f"the filter is not JSON: {error}"
        return
    if len(filters[0]["Pattern"]) > 4096:
        yield "the filter is longer than 4096 characters"
    if pattern.get("eventName") != ["INSERT"]:
        yield f"eventName is {pattern.get('eventName')}, not INSERT alone"
    if set(pattern) != {"eventName", "dynamodb"}:
        yield f"the filter looks at {sorted(pattern)}; Pipes cannot filter by other fields of the envelope"
    image = pattern.get("dynamodb", {}).get("NewImage", {})
    if image.get("status") != {"S": ["READY"]}:
        yield "the filter does not ask for status READY"
    for attribute in ("message_group_id", "message_deduplication_id"):
        if image.get(attribute) != {"S": [{"exists": True}]}:
            yield f"the filter lets pass what has no {attribute}, and that could never be sent"


@check
def pipe_input_template(template):
    body = template.properties(PIPE).get("TargetParameters", {}).get("InputTemplate")
    if not isinstance(body, str):
        yield "there is no input template"
        return
    for path in PLACEHOLDER.findall(body):
        if not re.fullmatch(r"dynamodb\.NewImage\.(event_id|pk|sk)\.S", path):
            yield f"{path} is not one of the ids, which alone are safe inside quotes"
    if "$." in PLACEHOLDER.sub("", body):
        yield "a path outside <> stays a literal"
    try:
        message = json.loads(PLACEHOLDER.sub("id", body))
    except ValueError as error:
        yield f"with its ids filled in, the input template is not JSON: {error}"
        return
    if set(message) != {"version", "event_id", "document_key", "sort_key"}:
        yield f"the message has {sorted(message)}"
    if not all(isinstance(value, str) for value in message.values()):
        yield "the message is not flat strings"


@check
def pipe_batch_size(template):
    size = _stream(template).get("BatchSize")
    if not isinstance(size, int) or not 1 <= size <= 10:
        yield f"BatchSize is {size} (the default is 100); SQS takes 10 at most"


@check
def pipe_retries(template):
    """The defaults (-1) retry until the record leaves the stream: one bad record blocks its shard for a day."""
    stream = _stream(template)
    attempts, age = stream.get("MaximumRetryAttempts"), stream.get("MaximumRecordAgeInSeconds")
    if not isinstance(attempts, int) or not 1 <= attempts <= 185:
        yield f"MaximumRetryAttempts is {attempts}"
    if not isinstance(age, int) or not 60 <= age < 86400:
        yield f"MaximumRecordAgeInSeconds is {age}; the stream forgets after 86400"
    if stream.get("OnPartialBatchItemFailure") != "AUTOMATIC_BISECT":
        yield "a bad record takes its whole batch with it: OnPartialBatchItemFailure is not AUTOMATIC_BISECT"


@check
def pipe_states_every_field(template):
    """An update replaces the whole of the parameters, and what is left out falls back to its default."""
    if template.properties(PIPE).get("DesiredState") != "RUNNING":
        yield "DesiredState is not RUNNING"
    stream = _stream(template)
    for field, wanted in (("ParallelizationFactor", 1), ("MaximumBatchingWindowInSeconds", 0)):
        if stream.get(field) != wanted:
            yield f"{field} is {stream.get(field)}, not {wanted}"


@check
def pipe_starting_position(template):
    if _stream(template).get("StartingPosition") != "TRIM_HORIZON":
        yield "what was written before the Pipe ran is skipped: StartingPosition is not TRIM_HORIZON"


@check
def pipe_dead_letters(template):
    arn = _stream(template).get("DeadLetterConfig", {}).get("Arn")
    name, _ = reference(arn)
    queue = template.of_type("AWS::SQS::Queue").get(name)
    if queue is None:
        yield "the Pipe has no dead-letter queue of this stack"
    elif template.value(queue.get("FifoQueue")) not in (None, False, "false"):
        yield f"{name} is FIFO; a Pipe's dead letters go to a standard queue"


@check
def pipe_log(template):
    log = template.properties(PIPE).get("LogConfiguration", {})
    if log.get("Level") != "ERROR":
        yield f"the log level is {log.get('Level')}, not ERROR"
    if "IncludeExecutionData" in log:
        yield "the log carries the records' data"
    name, _ = reference(log.get("CloudwatchLogsLogDestination", {}).get("LogGroupArn"))
    if name not in template.of_type("AWS::Logs::LogGroup"):
        yield "the log goes to no log group of this stack"


@check
def pipe_name(template):
    """A Pipe that has to be replaced exists twice for a while, so its name needs a part that can be changed."""
    if "${PipeVersion}" not in text(template.properties(PIPE).get("Name")):
        yield "the name does not end with PipeVersion"


@check
def pipe_role_trust(template):
    """The role must trust Pipes only on behalf of this stack's Pipe, under every version of its name."""
    pipe = template.properties(PIPE)
    role, _ = reference(pipe.get("RoleArn"))
    statements = template.properties(role).get("AssumeRolePolicyDocument", {}).get("Statement", [])
    if [statement.get("Principal") for statement in statements] != [{"Service": "pipes.amazonaws.com"}]:
        yield "the role is not trusted to Pipes alone"
    name = text(pipe.get("Name")).replace("${PipeVersion}", "*")
    wanted = "arn:${AWS::Partition}:pipes:${AWS::Region}:${AWS::AccountId}:pipe/" + name
    for statement in statements:
        condition = statement.get("Condition", {})
        account = condition.get("StringEquals", {}).get("aws:SourceAccount")
        if reference(account) != ("AWS::AccountId", None):
            yield "the trust lacks aws:SourceAccount"
        arn = {**condition.get("ArnLike", {}), **condition.get("StringLike", {})}.get("aws:SourceArn")
        if arn is None:
            yield "the trust lacks aws:SourceArn"
        elif "${PipeVersion}" in text(pipe.get("Name")) and text(arn) != wanted:
            yield f"aws:SourceArn is {text(arn)}, which is not every version of the Pipe's name"
