"""Starting the neighbours' servers and talking to their controls."""

import os
from pathlib import Path
from typing import Any, Self

import requests

from ..places import LOOPBACK, NEIGHBOURS
from ..processes import Process


class Neighbour:
    """One server of `neighbours/*.mjs`; what its control verbs take is said there."""

    program: str
    folder = NEIGHBOURS

    def __init__(self, directory: Path, port: int | None = None, **environment: str):
        """`port` takes back the place of one that was stopped. `environment` are variables it reads."""
        self._directory = directory
        self._start(port or 0, environment)

    @classmethod
    def at(cls, port: int) -> Self:
        """One that somebody else started, to be talked to only."""
        found = cls.__new__(cls)
        found.port = port
        found.url = f"http://{LOOPBACK}:{port}"
        return found

    def _start(self, port: int, environment: dict[str, str]) -> None:
        self._process = Process(
            self.program,
            ["node", str(self.folder / f"{self.program}.mjs")],
            self._directory / f"{self.program}.log",
            {"PATH": os.environ["PATH"], "PORT": str(port)} | environment,
        )
        try:
            self.port = self._process.first_json_line()["listening"]
        except BaseException:
            self._process.stop()
            raise
        self.url = f"http://{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def control(self, verb: str, **fields: Any) -> dict[str, Any]:
        """Calls a control verb."""
        answer = requests.post(f"{self.url}/__control/{verb}", json=fields, timeout=10)
        if not answer.ok:
            raise ValueError(f"{self.program} refused {verb}: {answer.text}")
        return answer.json()

    def settings(self, **fields: Any) -> None:
        """Changes settings."""
        self.control("settings", **fields)

    def fail(self, **fault: Any) -> None:
        """Adds a fault; see `serve.mjs` for its fields."""
        self.control("faults", **fault)

    def recover(self) -> None:
        """Takes every fault back and lets go of what is held."""
        requests.delete(f"{self.url}/__control/faults", timeout=10).raise_for_status()

    def release(self) -> None:
        """Lets go of every answer held."""
        self.control("release")

    def log(self, since: int = 0) -> list[dict[str, Any]]:
        """What it was asked, oldest first."""
        answer = requests.get(f"{self.url}/__log", params={"since": since}, timeout=10)
        answer.raise_for_status()
        return answer.json()["entries"]

    def last(self) -> int:
        """The sequence number of its last log entry; the `since` of what comes after."""
        entries = self.log()
        return entries[-1]["seq"] if entries else 0

    def stop(self) -> None:
        """Ends the server: from now on connections to it are refused."""
        self._process.stop()


class Lake(Neighbour):
    """The content lake."""

    program = "lake"

    def mutate(
        self, *mutations: dict[str, Any], dataset: str = "production", **options: Any
    ) -> dict[str, Any]:
        """One transaction; answers `transaction_id`, `transaction_time` and a result for each mutation."""
        return self.control("mutate", dataset=dataset, mutations=list(mutations), **options)

    def put(self, document: dict[str, Any], **options: Any) -> dict[str, Any]:
        """Creates or replaces one document; answers its result with `before` and `after`."""
        return self._one({"createOrReplace": document}, options)

    def patch(self, document_id: str, unset: list[str] | None = None, /, **changes: Any) -> dict[str, Any]:
        """Changes fields of one document."""
        options = {
            key: changes.pop(key) for key in ("transaction_id", "updated_at", "dataset") if key in changes
        }
        return self._one({"patch": {"id": document_id, "set": changes, "unset": unset or []}}, options)

    def remove(self, document_id: str, **options: Any) -> dict[str, Any]:
        """Deletes one document."""
        return self._one({"delete": {"id": document_id}}, options)

    def _one(self, mutation: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
        answer = self.mutate(mutation, **options)
        (result,) = answer["results"]
        return result | {
            "transaction_id": answer["transaction_id"],
            "transaction_time": answer["transaction_time"],
        }

    def document(self, document_id: str, dataset: str = "production") -> dict[str, Any] | None:
        """A document as it is, whatever the index shows."""
        return self.control("document", dataset=dataset, id=document_id)["document"]

    def lag(self, seconds: float, *document_ids: str) -> None:
        """How far the index is behind: for all documents, or for the named ones only."""
        milliseconds = round(seconds * 1000)
        if document_ids:
            self.settings(lags=dict.fromkeys(document_ids, milliseconds))
        else:
            self.settings(lag_ms=milliseconds)

    def level(self) -> None:
        """Lets the index show everything at once."""
        lags = self.control("settings")["lags"]
        self.settings(lag_ms=0, lags=dict.fromkeys(lags, None))


class Stellate(Neighbour):
    """The stand-in for Stellate."""

    program = "stellate"

    def purges(self, since: int = 0) -> list[dict[str, Any]]:
        """What was purged, key by key."""
        return self.control("purges", since=since)["purges"]


class Storefront(Neighbour):
    """The stand-in for the storefront."""

    program = "storefront"

    def revalidations(self, since: int = 0) -> list[dict[str, Any]]:
        """What was revalidated, slug by slug."""
        return self.control("revalidations", since=since)["revalidations"]
