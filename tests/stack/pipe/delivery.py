"""What a Pipe does with the records it has read: filter, shape, send, retry, bisect, give up.

No AWS client here: a transport sends and a clock tells the time, so that the golden records test all of it.

- The iterator never waits for a record that the filter drops.
- What fails to be shaped (a group id with a space) fails as a send does: it counts, and ends in the dead-letter queue.
- A batch that succeeded in part is sent again without what went through.
- Age is looked at before each send; attempts after it. Both limits may be -1: without end.
"""

import json
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from .definition import UNBOUNDED, PipeDefinition
from .paths import MISSING, Parameter

MAX_ID_CHARACTERS = 128
MAX_BODY_BYTES = 1_048_576
FIRST_BACKOFF_SECONDS = 0.1
MAX_BACKOFF_SECONDS = 1.0

_ID = re.compile(r"[A-Za-z0-9!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]{1,128}")
_NOT_ALLOWED_IN_BODY = re.compile("[^\u0009\u000a\u000d\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class RecordRefused(ValueError):
    """A record cannot become a message."""


class SendFailed(Exception):
    """The whole call was refused."""


@dataclass(frozen=True)
class Message:
    """One entry of a SendMessageBatch."""

    body: str
    group: str | None
    deduplication: str | None


class Transport(Protocol):
    """The two queues."""

    def send(self, messages: list[Message]) -> dict[int, str]:
        """Sends a batch; answers what failed, by position, with the reason. Raises `SendFailed` when nothing went."""

    def dead_letter(self, body: dict[str, Any]) -> None:
        """Sends to the Pipe's dead-letter queue."""


def message_of(definition: PipeDefinition, record: dict[str, Any]) -> Message:
    """The message for one record, or `RecordRefused`."""
    if definition.template is None:
        body = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    else:
        body = definition.template.render(record)
    illegal = _NOT_ALLOWED_IN_BODY.search(body)
    if illegal:
        raise RecordRefused(f"the body has a character SQS does not take: U+{ord(illegal.group()):04X}")
    if len(body.encode()) > MAX_BODY_BYTES:
        raise RecordRefused(f"the body is longer than {MAX_BODY_BYTES} bytes")
    return Message(
        body=body,
        group=_identifier("MessageGroupId", definition.group, record),
        deduplication=_identifier("MessageDeduplicationId", definition.deduplication, record),
    )


def _identifier(what: str, parameter: Parameter | None, record: dict[str, Any]) -> str | None:
    if parameter is None:
        return None
    value = parameter.of(record)
    if value is MISSING:
        raise RecordRefused(f"{what}: {parameter.text} leads nowhere in the record")
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise RecordRefused(
            f"{what}: {parameter.text} is no id of 1 to {MAX_ID_CHARACTERS} letters, digits and ASCII punctuation"
        )
    return value


class Delivery:
    """Delivers read records one batch after another, in the order of the shard."""

    def __init__(
        self,
        definition: PipeDefinition,
        transport: Transport,
        now: Callable[[], datetime],
        pause: Callable[[float], None],
        log: Callable[..., None],
    ):
        """`pause` waits the given seconds between two attempts and may raise to end the work; `log` takes an action
        and fields."""
        self._definition = definition
        self._transport = transport
        self._now = now
        self._pause = pause
        self._log = log
        self._read_at = ""

    def deliver(self, records: list[dict[str, Any]], shard: str) -> None:
        """Returns when every record is sent, dropped by the filter, or in the dead-letter queue."""
        self._read_at = _timestamp(self._now().timestamp())
        passed = [record for record in records if self._passes(record)]
        size = self._definition.batch_size
        for start in range(0, len(passed), size):
            self._deliver_batch(passed[start : start + size], shard)

    def _passes(self, record: dict[str, Any]) -> bool:
        patterns = self._definition.patterns
        passes = not patterns or any(pattern.matches(record) for pattern in patterns)
        if not passes:
            self._log("filtered", **described(record))
        return passes

    def _deliver_batch(self, batch: list[dict[str, Any]], shard: str) -> None:
        work = deque([(batch, 0)])
        while work:
            batch, failures = work.popleft()
            batch = self._without_expired(batch, shard)
            if not batch:
                continue
            rest = self._send(batch)
            if not rest:
                continue
            failures += 1
            limit = self._definition.retry_attempts
            if self._definition.bisect and len(rest) > 1:
                middle = len(rest) // 2
                work.extendleft([(rest[middle:], failures), (rest[:middle], failures)])
            elif limit != UNBOUNDED and failures > limit:
                self._give_up(rest, shard, "RetryAttemptsExhausted")
                continue
            else:
                work.appendleft((rest, failures))
            self._pause(min(FIRST_BACKOFF_SECONDS * 2 ** (failures - 1), MAX_BACKOFF_SECONDS))

    def _send(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Sends once; returns the records that did not go through."""
        failed: dict[int, str] = {}
        ready: list[tuple[int, Message]] = []
        for position, record in enumerate(batch):
            try:
                ready.append((position, message_of(self._definition, record)))
            except RecordRefused as refusal:
                failed[position] = str(refusal)
        if ready:
            try:
                refused = self._transport.send([message for _, message in ready])
            except SendFailed as failure:
                refused = dict.fromkeys(range(len(ready)), str(failure))
            for index, (position, message) in enumerate(ready):
                if index in refused:
                    failed[position] = refused[index]
                else:
                    self._log(
                        "forwarded",
                        **described(batch[position]),
                        read_at=self._read_at,
                        group=message.group,
                        deduplication=message.deduplication,
                        body=message.body,
                    )
        for position, reason in failed.items():
            self._log("failed", **described(batch[position]), reason=reason)
        return [batch[position] for position in sorted(failed)]

    def _without_expired(self, batch: list[dict[str, Any]], shard: str) -> list[dict[str, Any]]:
        limit = self._definition.record_age_seconds
        if limit == UNBOUNDED:
            return batch
        now = self._now().timestamp()
        expired = [record for record in batch if now - created_at(record, now) > limit]
        if expired:
            self._give_up(expired, shard, "RecordAgeExceeded")
        return [record for record in batch if record not in expired]

    def _give_up(self, batch: list[dict[str, Any]], shard: str, condition: str) -> None:
        for record in batch:
            self._log("dead", **described(record), condition=condition)
        if self._definition.dead_letter is not None:
            self._transport.dead_letter(
                dead_letter_body(self._definition, batch, shard, condition, self._now())
            )


def dead_letter_body(
    definition: PipeDefinition, batch: list[dict[str, Any]], shard: str, condition: str, now: datetime
) -> dict[str, Any]:
    """What AWS puts into a Pipe's dead-letter queue: where in the stream, and never the record itself."""
    times = [_timestamp(created_at(record, now.timestamp())) for record in batch]
    return {
        "context": {"partnerResourceArn": definition.arn, "condition": condition},
        "version": "1.0",
        "timestamp": _timestamp(now.timestamp()),
        "DDBStreamBatchInfo": {
            "shardId": shard,
            "startSequenceNumber": batch[0]["dynamodb"]["SequenceNumber"],
            "endSequenceNumber": batch[-1]["dynamodb"]["SequenceNumber"],
            "approximateArrivalOfFirstRecord": times[0],
            "approximateArrivalOfLastRecord": times[-1],
            "batchSize": len(batch),
            "streamArn": definition.source,
        },
    }


def created_at(record: dict[str, Any], unknown: float) -> float:
    """When a record entered the stream, in epoch seconds; the field may be absent."""
    return float(record.get("dynamodb", {}).get("ApproximateCreationDateTime", unknown))


def described(record: dict[str, Any]) -> dict[str, Any]:
    """What the log says of a record: ids and names, never its content."""
    image = record.get("dynamodb", {}).get("NewImage", {})
    keys = record.get("dynamodb", {}).get("Keys", {})
    return {
        "stream_event": record.get("eventID"),
        "event_name": record.get("eventName"),
        "pk": keys.get("pk", {}).get("S"),
        "sk": keys.get("sk", {}).get("S"),
        "event_id": image.get("event_id", {}).get("S"),
    }


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
