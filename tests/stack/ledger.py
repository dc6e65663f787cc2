"""Reading the ledger's tables as an operator would: whole items, by document and by event."""

import hashlib
from typing import Any

from boto3.dynamodb.types import Binary, TypeDeserializer

from .aws import Aws

_DESERIALIZE = TypeDeserializer().deserialize

Item = dict[str, Any]


def document_key(project: str, dataset: str, document_id: str) -> str:
    """Partition of a document in the outbox, as the ledger hashes it."""
    digest = hashlib.sha256()
    for part in ("document", project, dataset, document_id):
        digest.update(len(part.encode()).to_bytes(8, "big") + part.encode())
    return f"DOC#{digest.hexdigest()[:32]}"


def plain(item: dict[str, Any]) -> Item:
    """An item without type tags: whole numbers as int, bytes as bytes."""
    return {name: _plain(_DESERIALIZE(value)) for name, value in item.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Binary):
        return bytes(value.value)
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | set):
        return type(value)(_plain(entry) for entry in value)
    if value is None or isinstance(value, bool | str):
        return value
    return int(value) if value == int(value) else float(value)


class Ledger:
    """The three tables of a deployed stack."""

    def __init__(self, aws: Aws, events: str, outbox: str, routes: str, project: str):
        self._dynamodb = aws.client("dynamodb")
        self._tables = {"events": events, "outbox": outbox, "routes": routes}
        self._project = project

    def scan(self, table: str) -> list[Item]:
        """Every item of `events`, `outbox` or `routes`."""
        pages = self._dynamodb.get_paginator("scan").paginate(
            TableName=self._tables[table], ConsistentRead=True
        )
        return [plain(item) for page in pages for item in page["Items"]]

    def event(self, event_id: str) -> Item | None:
        """The evidence of one event."""
        answer = self._dynamodb.get_item(
            TableName=self._tables["events"], Key={"event_id": {"S": event_id}}, ConsistentRead=True
        )
        return plain(answer["Item"]) if "Item" in answer else None

    def key(self, document_id: str, dataset: str = "production") -> str:
        """A document's partition in the outbox."""
        return document_key(self._project, dataset, document_id)

    def partition(self, key: str) -> list[Item]:
        """Everything in one partition of the outbox, by sort key."""
        pages = self._dynamodb.get_paginator("query").paginate(
            TableName=self._tables["outbox"],
            KeyConditionExpression="pk = :key",
            ExpressionAttributeValues={":key": {"S": key}},
            ConsistentRead=True,
        )
        return [plain(item) for page in pages for item in page["Items"]]

    def document(self, document_id: str, dataset: str = "production") -> list[Item]:
        """Everything the outbox holds of a document."""
        return self.partition(self.key(document_id, dataset))

    def items(self, document_id: str, dataset: str = "production", kind: str | None = None) -> list[Item]:
        """Its outbox items: events and wakes; `kind` picks `event`, `reprocess`, `recheck` or `repeat`."""
        found = [item for item in self.document(document_id, dataset) if item["sk"].startswith("E#")]
        return [item for item in found if kind in (None, item["kind"])]

    def item(self, event_id: str) -> Item | None:
        """The outbox item of one event, found through its evidence."""
        event = self.event(event_id)
        if event is None:
            return None
        found = [
            item for item in self.partition(event["document_key"]) if item["sk"] == event["outbox_sort_key"]
        ]
        return found[0] if found else None

    def head(self, document_id: str, dataset: str = "production") -> Item | None:
        """Its head."""
        return next((item for item in self.document(document_id, dataset) if item["sk"] == "HEAD"), None)

    def plan(self, document_id: str, dataset: str = "production") -> list[Item]:
        """The chunks of its plan; empty when nothing is left to purge."""
        return [item for item in self.document(document_id, dataset) if item["sk"].startswith("PLAN#")]

    def history(self, document_id: str, dataset: str = "production") -> list[Item]:
        """What each wake did, oldest first."""
        return [item for item in self.document(document_id, dataset) if item["sk"].startswith("Z#")]

    def routes(self, document_id: str | None = None, dataset: str = "production") -> list[Item]:
        """The routes there are, of one document or of all; without those that are marked as gone, and pointers."""
        stored = [
            item for item in self.scan("routes") if item["pk"].startswith("DOC#") and not item.get("gone")
        ]
        wanted = f"DOC#{dataset}#{document_id}"
        return [item for item in stored if document_id is None or item["pk"] == wanted]
