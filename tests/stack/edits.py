"""What an editor does: a change in the content lake and the webhook that Sanity sends for it."""

from dataclasses import dataclass
from typing import Any

from . import canaries
from .content import slug
from .neighbours.clients import Lake
from .neighbours.sender import PROJECTION, Answer, Delivery, Sender, delivery_of

DATASET = "production"


@dataclass
class Edit:
    """A change, its webhook, and what the webhook answered (when it was sent)."""

    change: dict[str, Any]
    delivery: Delivery
    answer: Answer | None = None

    @property
    def document_id(self) -> str:
        """The document that was changed."""
        return self.change["id"]

    @property
    def revision(self) -> str | None:
        """Its revision after the change; of a delete, the one deleted."""
        document = self.change["after"] or self.change["before"]
        return document["_rev"] if document else None

    @property
    def event_id(self) -> str:
        """The event id that the webhook answered."""
        assert self.answer is not None, "the edit was not sent"
        assert self.answer.status == 200, f"the webhook answered {self.answer.status}: {self.answer.body}"
        return self.answer.body["event_id"]


class Editor:
    """Edits documents. Every verb takes `send=False` to keep the webhook back, `body="document"` to have the hook
    without a projection, and the lake's `transaction_id`, `updated_at` and `dataset`."""

    def __init__(self, lake: Lake, sender: Sender, project: str):
        self._lake = lake
        self._sender = sender
        self._project = project
        self._projection = PROJECTION.read_text()

    def edit(
        self,
        document_id: str,
        document_type: str | None = None,
        path: str | None = None,
        *,
        send: bool = True,
        body: str = "projection",
        dataset: str = DATASET,
        transaction_id: str | None = None,
        updated_at: str | None = None,
        **fields: Any,
    ) -> Edit:
        """Creates the document or changes fields of it; `path` is its slug."""
        current = self._lake.document(document_id, dataset) or {
            "_id": document_id,
            "_type": document_type or "page",
        }
        document = current | {"note": canaries.NOTE} | fields
        if document_type:
            document["_type"] = document_type
        if path is not None:
            document["slug"] = slug(path)
        options = _given(dataset=dataset, transaction_id=transaction_id, updated_at=updated_at)
        return self._finish(self._lake.put(document, **options), dataset, body, send)

    def delete(
        self,
        document_id: str,
        *,
        send: bool = True,
        body: str = "projection",
        dataset: str = DATASET,
        transaction_id: str | None = None,
        updated_at: str | None = None,
    ) -> Edit:
        """Deletes or unpublishes the document."""
        options = _given(dataset=dataset, transaction_id=transaction_id, updated_at=updated_at)
        return self._finish(self._lake.remove(document_id, **options), dataset, body, send)

    def delivery(self, change: dict[str, Any], body: str = "projection", dataset: str = DATASET) -> Delivery:
        """The webhook for a change: the README's projection, evaluated as Sanity does, or the whole document."""
        if body == "projection":
            content = self._lake.control(
                "project",
                projection=self._projection,
                before=change["before"],
                after=change["after"],
                project=self._project,
                dataset=dataset,
            )["result"]
            # A projection may name more than the README's does.
            content |= {"note": canaries.NOTE}
        else:
            content = change["after"] or change["before"]
        return delivery_of(change, content, self._project, dataset)

    def send(self, edit: Edit, **options: Any) -> Edit:
        """Sends (or sends again) an edit's webhook; `options` are those of `Sender.send`."""
        edit.answer = self._sender.send(edit.delivery, **options)
        return edit

    def _finish(self, change: dict[str, Any], dataset: str, body: str, send: bool) -> Edit:
        made = Edit(change, self.delivery(change, body, dataset))
        return self.send(made) if send else made


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
