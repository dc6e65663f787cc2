"""The Pipe's process: reads the stream, delivers with the role's credentials, and logs one JSON line an action.

Where it stands in the stream is kept in memory only. While the Pipe is stopped (StopPipe) it waits and goes on from
there; a process that starts anew is a Pipe that was created anew, and begins at its starting position: with
TRIM_HORIZON everything is sent again, and the queue's deduplication and the consumer must bear it.
"""

import base64
import json
import signal
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from ..aws import Aws
from ..places import ACCOUNT
from .definition import PipeDefinition
from .delivery import Delivery, Message
from .deployed import deployed_pipe
from .role import assume, check_source_rights

POLL_SECONDS = 0.1
READ_LIMIT = 100


class Stopping(Exception):
    """The process was asked to end."""


class Log:
    """JSON lines: a time, an action, and its fields."""

    def __init__(self, path: Path):
        self._file = path.open("a", buffering=1)

    def __call__(self, action: str, **fields: Any) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._file.write(json.dumps({"at": at, "action": action, **fields}, ensure_ascii=False) + "\n")


class Queues:
    """The target and the dead-letter queue, through the role's credentials."""

    def __init__(self, sqs, definition: PipeDefinition):
        self._sqs = sqs
        self._target = self._url(definition.target)
        self._dead_letter = self._url(definition.dead_letter) if definition.dead_letter else None

    def _url(self, queue_arn: str) -> str:
        return f"{self._sqs.meta.endpoint_url}/{ACCOUNT}/{queue_arn.rsplit(':', 1)[-1]}"

    def send(self, messages: list[Message]) -> dict[int, str]:
        """Sends each; answers what failed by position.

        On AWS this is one SendMessageBatch, which `sqs:SendMessage` allows and which answers entry by entry. The
        emulator asks for a right of its own for batches, that AWS does not know, so here it is one call an entry.
        """
        failed = {}
        for position, message in enumerate(messages):
            ids = {"MessageGroupId": message.group, "MessageDeduplicationId": message.deduplication}
            try:
                self._sqs.send_message(
                    QueueUrl=self._target,
                    MessageBody=message.body,
                    **{name: value for name, value in ids.items() if value is not None},
                )
            except (ClientError, BotoCoreError) as error:
                failed[position] = str(error)
        return failed

    def dead_letter(self, body: dict[str, Any]) -> None:
        """Sends to the Pipe's dead-letter queue; an error ends the process loudly."""
        self._sqs.send_message(QueueUrl=self._dead_letter, MessageBody=json.dumps(body))

    def probe(self, root_sqs) -> None:
        """Creation fails on AWS when the role cannot send to the dead-letter queue, so it does here. The probe is
        taken out again."""
        if self._dead_letter is None:
            return
        self.dead_letter({"probe": "local pipe"})
        taken = root_sqs.receive_message(
            QueueUrl=self._dead_letter, MaxNumberOfMessages=10, WaitTimeSeconds=2
        )
        for message in taken.get("Messages", []):
            if json.loads(message["Body"]).get("probe"):
                root_sqs.delete_message(QueueUrl=self._dead_letter, ReceiptHandle=message["ReceiptHandle"])


class Service:
    """One running Pipe."""

    def __init__(self, endpoint: str, stack: str, log: Log):
        self._root = Aws(endpoint)
        self._log = log
        self._stop = threading.Event()
        self._stopped_by_api = False
        self._definition = deployed_pipe(self._root, stack)
        credentials = assume(
            self._root.client("iam"),
            self._root.client("sts"),
            self._definition.role_arn,
            self._definition.arn,
            ACCOUNT,
        )
        check_source_rights(self._root.client("iam"), self._definition.role_arn, self._definition.source)
        self._streams = self._root.client("dynamodbstreams")
        queues = Queues(Aws(endpoint, credentials).client("sqs"), self._definition)
        queues.probe(self._root.client("sqs"))
        self._delivery = Delivery(
            self._definition, queues, lambda: datetime.now(UTC), self._wait_between_attempts, log
        )

    def ask_to_stop(self, *_: Any) -> None:
        """Signal handler."""
        self._stop.set()

    def run(self) -> None:
        """Until asked to stop."""
        iterators = {shard: self._iterator(shard) for shard in self._shards()}
        self._log("started", pipe=self._definition.name, position=self._definition.starting_position)
        print(json.dumps({"ready": self._definition.name}), flush=True)
        try:
            while True:
                self._follow_desired_state()
                moved = False
                for shard, iterator in list(iterators.items()):
                    records, iterators[shard] = self._read(shard, iterator)
                    if records:
                        moved = True
                        self._delivery.deliver(records, shard)
                if not moved:
                    self._wait(POLL_SECONDS)
        except Stopping:
            self._log("ended")

    def _shards(self) -> list[str]:
        description = self._streams.describe_stream(StreamArn=self._definition.source)["StreamDescription"]
        return [shard["ShardId"] for shard in description["Shards"]]

    def _iterator(self, shard: str) -> str:
        return self._streams.get_shard_iterator(
            StreamArn=self._definition.source,
            ShardId=shard,
            ShardIteratorType=self._definition.starting_position,
        )["ShardIterator"]

    def _read(self, shard: str, iterator: str) -> tuple[list[dict[str, Any]], str]:
        """The next records; waits for more of them as the batching window allows."""
        end = time.monotonic() + self._definition.batching_window_seconds
        records: list[dict[str, Any]] = []
        while True:
            try:
                answer = self._streams.get_records(ShardIterator=iterator, Limit=READ_LIMIT)
            except ClientError as error:
                # Not the record's fault: not counted as an attempt, tried again.
                self._log("read failed", shard=shard, reason=str(error))
                self._wait(1.0)
                continue
            iterator = answer["NextShardIterator"]
            records += [as_json(record, self._definition.source) for record in answer["Records"]]
            if len(records) >= self._definition.batch_size or time.monotonic() >= end:
                return records, iterator
            self._wait(POLL_SECONDS)

    def _wait_between_attempts(self, seconds: float) -> None:
        self._wait(seconds)
        self._follow_desired_state()

    def _wait(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise Stopping

    def _follow_desired_state(self) -> None:
        """Waits here while the Pipe is stopped through its API."""
        while True:
            state = self._root.client("pipes").describe_pipe(Name=self._definition.name)["CurrentState"]
            stopped = state != "RUNNING"
            if stopped != self._stopped_by_api:
                self._stopped_by_api = stopped
                self._log("paused" if stopped else "resumed")
            if not stopped:
                return
            self._wait(POLL_SECONDS)


def as_json(record: dict[str, Any], source: str) -> dict[str, Any]:
    """A record as a Pipe sees it: epoch seconds for times, base64 for bytes, and the stream's ARN."""

    def plain(value: Any) -> Any:
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        if isinstance(value, dict):
            return {key: plain(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [plain(entry) for entry in value]
        return value

    return plain(record) | {"eventSourceARN": source}


def main(endpoint: str, stack: str, log: Path) -> None:
    """Entry of the process."""
    service = Service(endpoint, stack, Log(log))
    signal.signal(signal.SIGTERM, service.ask_to_stop)
    signal.signal(signal.SIGINT, service.ask_to_stop)
    service.run()
