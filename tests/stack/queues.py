"""The stack's queues: how deep they are, what is in them, and what a test puts there."""

import json
import uuid
from contextlib import contextmanager
from typing import Any

from .aws import Aws
from .waiting import wait_until

COUNTS = {
    "visible": "ApproximateNumberOfMessages",
    "in_flight": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}
MAPPING_SECONDS = 30


class Queues:
    """By logical id: RevalidateQueue, RevalidateDeadLetterQueue, PipeDeadLetterQueue."""

    def __init__(self, aws: Aws, ids: dict[str, str]):
        self._aws = aws
        self._sqs = aws.client("sqs")
        self._ids = ids

    def url(self, logical_id: str) -> str:
        """A queue's URL."""
        return self._ids[logical_id]

    def depth(self, logical_id: str) -> dict[str, int]:
        """Messages `visible`, `in_flight` and `delayed`."""
        answer = self._sqs.get_queue_attributes(QueueUrl=self.url(logical_id), AttributeNames=["All"])[
            "Attributes"
        ]
        return {name: int(answer.get(attribute, 0)) for name, attribute in COUNTS.items()}

    def total(self, logical_id: str) -> int:
        """All messages in a queue, wherever they are."""
        return sum(self.depth(logical_id).values())

    def send(self, body: Any, group: str, deduplication: str | None = None) -> str:
        """Puts a message into the revalidate queue; a body that is no string is sent as JSON. Answers its id."""
        answer = self._sqs.send_message(
            QueueUrl=self.url("RevalidateQueue"),
            MessageBody=body if isinstance(body, str) else json.dumps(body),
            MessageGroupId=group,
            MessageDeduplicationId=deduplication or uuid.uuid4().hex,
        )
        return answer["MessageId"]

    def receive(self, logical_id: str, wait: int = 0) -> list[dict[str, Any]]:
        """Up to ten messages, which are then in flight: for queues that nobody else reads."""
        answer = self._sqs.receive_message(
            QueueUrl=self.url(logical_id),
            MaxNumberOfMessages=10,
            WaitTimeSeconds=wait,
            AttributeNames=["All"],
        )
        return answer.get("Messages", [])

    def set(self, logical_id: str, **attributes: Any) -> None:
        """Changes attributes, such as VisibilityTimeout."""
        self._sqs.set_queue_attributes(
            QueueUrl=self.url(logical_id), Attributes={name: str(value) for name, value in attributes.items()}
        )

    @contextmanager
    def consumer_paused(self):
        """While inside, the queue is not read, so that messages gather to one batch."""
        client = self._aws.client("lambda")
        function = self._ids["ConsumerFunction"]
        (mapping,) = client.list_event_source_mappings(FunctionName=function)["EventSourceMappings"]

        def enable(enabled: bool, state: str) -> None:
            client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)
            wait_until(
                lambda: client.get_event_source_mapping(UUID=mapping["UUID"])["State"] == state,
                MAPPING_SECONDS,
                f"the event source mapping is {state}",
            )

        enable(False, "Disabled")
        try:
            yield
        finally:
            enable(True, "Enabled")
