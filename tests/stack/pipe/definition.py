"""The properties of an `AWS::Pipes::Pipe` from a DynamoDB stream to SQS, checked as AWS checks them, and harder.

Every problem is reported at once. Limits are those of the service's API model; refusals that the API only makes when
a record is sent (no group id on a FIFO queue) are made here, since a Pipe that can send nothing is not one to run.
"""

import re
from dataclasses import dataclass
from typing import Any

from .paths import InputTemplate, Parameter, PathRefused
from .pattern import Pattern, PatternRefused

MAX_SQS_BATCH = 10
DEFAULT_BATCH = 100
UNBOUNDED = -1

_NAME = re.compile(r"[.\-_A-Za-z0-9]{1,64}")
_STREAM = re.compile(r"arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:\d{12}:table/[^/]+/stream/.+")
_QUEUE = re.compile(r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,80}(\.fifo)?")

_KNOWN = {
    "": {
        "Name", "Description", "DesiredState", "RoleArn", "Source", "SourceParameters", "Target", "TargetParameters",
        "LogConfiguration", "KmsKeyIdentifier", "Tags",
    },
    "SourceParameters": {"FilterCriteria", "DynamoDBStreamParameters"},
    "SourceParameters.FilterCriteria": {"Filters"},
    "SourceParameters.DynamoDBStreamParameters": {
        "BatchSize", "DeadLetterConfig", "MaximumBatchingWindowInSeconds", "MaximumRecordAgeInSeconds",
        "MaximumRetryAttempts", "OnPartialBatchItemFailure", "ParallelizationFactor", "StartingPosition",
    },
    "SourceParameters.DynamoDBStreamParameters.DeadLetterConfig": {"Arn"},
    "TargetParameters": {"InputTemplate", "SqsQueueParameters"},
    "TargetParameters.SqsQueueParameters": {"MessageGroupId", "MessageDeduplicationId"},
}  # fmt: skip


class PipeRefused(ValueError):
    """The Pipe cannot run as declared; the message lists every reason."""

    def __init__(self, problems: list[str]):
        super().__init__("the Pipe is refused:\n" + "\n".join(f"- {problem}" for problem in problems))
        self.problems = problems


@dataclass(frozen=True)
class PipeDefinition:
    """A Pipe that can run."""

    name: str
    arn: str
    role_arn: str
    source: str
    target: str
    patterns: tuple[Pattern, ...]
    starting_position: str
    batch_size: int
    batching_window_seconds: int
    retry_attempts: int
    record_age_seconds: int
    bisect: bool
    dead_letter: str | None
    group: Parameter | None
    deduplication: Parameter | None
    template: InputTemplate | None

    @property
    def fifo(self) -> bool:
        """Whether the target is a FIFO queue."""
        return self.target.endswith(".fifo")


class _Reader:
    def __init__(self, properties: dict[str, Any]):
        self.properties = properties
        self.problems: list[str] = []

    def section(self, path: str) -> dict[str, Any]:
        node: Any = self.properties
        for step in path.split(".") if path else []:
            node = (node.get(step) if isinstance(node, dict) else None) or {}
        if not isinstance(node, dict):
            self.problems.append(f"{path} must be an object")
            return {}
        for key in sorted(set(node) - _KNOWN[path]):
            self.problems.append(f"{path or 'the Pipe'}: `{key}` does not belong here")
        return node

    def integer(self, section: dict[str, Any], key: str, default: int, lowest: int, highest: int) -> int:
        value = section.get(key, default)
        try:
            number = int(value)
        except (TypeError, ValueError):
            number = None
        if number is None or isinstance(value, bool) or not lowest <= number <= highest:
            self.problems.append(f"{key} must be a whole number from {lowest} to {highest}, not {value!r}")
            return default
        return number

    def attempt(self, what: str, make):
        try:
            return make()
        except (PathRefused, PatternRefused) as refusal:
            self.problems.append(f"{what}: {refusal}")
            return None


def read(properties: dict[str, Any], region: str, account: str) -> PipeDefinition:
    """Checks the properties (intrinsics resolved) of a Pipe; raises `PipeRefused` with every problem found."""
    reader = _Reader(properties)
    top = reader.section("")
    source_parameters = reader.section("SourceParameters")
    stream = reader.section("SourceParameters.DynamoDBStreamParameters")
    target_parameters = reader.section("TargetParameters")
    queue = reader.section("TargetParameters.SqsQueueParameters")

    name = str(top.get("Name") or "")
    if not _NAME.fullmatch(name):
        reader.problems.append(
            f"Name must be 1 to 64 letters, digits, dots, dashes or underscores, not {name!r}"
        )
    arn = f"arn:aws:pipes:{region}:{account}:pipe/{name}"
    source, target = str(top.get("Source") or ""), str(top.get("Target") or "")
    if not _STREAM.fullmatch(source):
        reader.problems.append(f"Source must be the ARN of a DynamoDB stream, not {source!r}")
    if not _QUEUE.fullmatch(target):
        reader.problems.append(f"Target must be the ARN of an SQS queue, not {target!r}")
    if not str(top.get("RoleArn") or "").startswith("arn:aws:iam::"):
        reader.problems.append("RoleArn is missing")
    if top.get("DesiredState", "RUNNING") not in ("RUNNING", "STOPPED"):
        reader.problems.append("DesiredState must be RUNNING or STOPPED")

    group, deduplication = _queue_parameters(reader, queue, target)
    template = None
    if "InputTemplate" in target_parameters:
        reserved = {
            "aws.pipes.pipe-arn": arn,
            "aws.pipes.pipe-name": name,
            "aws.pipes.source-arn": source,
            "aws.pipes.target-arn": target,
        }
        template = reader.attempt(
            "InputTemplate", lambda: InputTemplate(target_parameters["InputTemplate"], reserved)
        )
    definition = PipeDefinition(
        name=name,
        arn=arn,
        role_arn=str(top.get("RoleArn") or ""),
        source=source,
        target=target,
        patterns=_patterns(reader, source_parameters),
        group=group,
        deduplication=deduplication,
        template=template,
        dead_letter=_dead_letter(reader, stream),
        **_stream_parameters(reader, stream),
    )
    if reader.problems:
        raise PipeRefused(reader.problems)
    return definition


def _patterns(reader: _Reader, source_parameters: dict[str, Any]) -> tuple[Pattern, ...]:
    if "FilterCriteria" not in source_parameters:
        return ()
    filters = reader.section("SourceParameters.FilterCriteria").get("Filters")
    if not isinstance(filters, list) or not 1 <= len(filters) <= 5:
        reader.problems.append("FilterCriteria.Filters must hold one to five filters")
        return ()
    parsed = []
    for entry in filters:
        if not isinstance(entry, dict) or set(entry) != {"Pattern"}:
            reader.problems.append("a filter must be an object with `Pattern` and nothing else")
            continue
        pattern = reader.attempt("Pattern", lambda entry=entry: Pattern(entry["Pattern"]))
        if pattern is not None:
            parsed.append(pattern)
    return tuple(parsed)


def _queue_parameters(
    reader: _Reader, queue: dict[str, Any], target: str
) -> tuple[Parameter | None, Parameter | None]:
    parameters: dict[str, Parameter | None] = {"MessageGroupId": None, "MessageDeduplicationId": None}
    for key in parameters:
        if key in queue:
            parameters[key] = reader.attempt(key, lambda key=key: Parameter.parse(queue[key]))
        elif target.endswith(".fifo") and key == "MessageGroupId":
            reader.problems.append(
                "MessageGroupId is missing: a FIFO queue refuses every message without one"
            )
    if not target.endswith(".fifo") and "MessageDeduplicationId" in queue:
        reader.problems.append("MessageDeduplicationId belongs to FIFO queues only")
    return parameters["MessageGroupId"], parameters["MessageDeduplicationId"]


def _stream_parameters(reader: _Reader, stream: dict[str, Any]) -> dict[str, Any]:
    position = stream.get("StartingPosition")
    if position not in ("TRIM_HORIZON", "LATEST"):
        reader.problems.append(f"StartingPosition must be TRIM_HORIZON or LATEST, not {position!r}")
    batch = reader.integer(stream, "BatchSize", DEFAULT_BATCH, 1, 10_000)
    if batch > MAX_SQS_BATCH:
        reader.problems.append(
            f"BatchSize is {batch}; with an SQS target at most {MAX_SQS_BATCH} (the default is 100)"
        )
    partial = stream.get("OnPartialBatchItemFailure")
    if partial not in (None, "AUTOMATIC_BISECT"):
        reader.problems.append(f"OnPartialBatchItemFailure knows only AUTOMATIC_BISECT, not {partial!r}")
    if reader.integer(stream, "ParallelizationFactor", 1, 1, 10) != 1:
        reader.problems.append("a ParallelizationFactor above 1 is not supported here")
    return {
        "starting_position": position or "",
        "batch_size": batch,
        "batching_window_seconds": reader.integer(stream, "MaximumBatchingWindowInSeconds", 0, 0, 300),
        "retry_attempts": reader.integer(stream, "MaximumRetryAttempts", UNBOUNDED, -1, 10_000),
        "record_age_seconds": reader.integer(stream, "MaximumRecordAgeInSeconds", UNBOUNDED, -1, 604_800),
        "bisect": partial == "AUTOMATIC_BISECT",
    }


def _dead_letter(reader: _Reader, stream: dict[str, Any]) -> str | None:
    if "DeadLetterConfig" not in stream:
        return None
    arn = str(reader.section("SourceParameters.DynamoDBStreamParameters.DeadLetterConfig").get("Arn") or "")
    if not _QUEUE.fullmatch(arn):
        # AWS takes a topic as well; this project has none there, so it is not supported.
        reader.problems.append(f"DeadLetterConfig.Arn must be the ARN of a queue, not {arn!r}")
    if arn.endswith(".fifo"):
        reader.problems.append("DeadLetterConfig.Arn must be a standard queue, not a FIFO one")
    return arn
