"""Edits that flow, and Sanity's part in it: every webhook is sent until it is answered 2xx."""

import random
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import requests
from stack.edits import Edit
from stack.stack import Stack

PAGES = 8
BANNERS = 2
RETRY_SECONDS = 0.2
GIVEN_UP_SECONDS = 60.0
"""Sanity gives up after half an hour; nothing here is down as long as this."""


@dataclass
class Sent:
    """An edit, when it was made, and what came of its webhook."""

    edit: Edit
    slug: str | None
    at: str
    tries: int = 0
    accepted: bool = False


@dataclass
class Journal:
    """All edits in the order in which each document had them."""

    by_document: dict[str, list[Sent]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    repeated: int = 0

    def add(self, sent: Sent) -> None:
        """Notes an edit."""
        self.by_document.setdefault(sent.edit.document_id, []).append(sent)

    @property
    def all(self) -> list[Sent]:
        """Every edit so far."""
        return [sent for edits in list(self.by_document.values()) for sent in edits]


class Traffic:
    """Editors at work in threads, each with documents of its own, while inside (`with`)."""

    def __init__(self, stack: Stack, editors: int, seed: int, pace_seconds: float):
        self._stack = stack
        self._stop = threading.Event()
        self._at_work = threading.Event()
        self._at_work.set()
        self._pace = pace_seconds
        self._under_way = threading.Semaphore(0)
        self.journal = Journal()
        self.problems: list[str] = []
        self._threads = [
            threading.Thread(target=self._guarded, args=(number, random.Random(seed * 100 + number)))
            for number in range(editors)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._at_work.set()
        for thread in self._threads:
            thread.join()

    def _guarded(self, number: int, chance: random.Random) -> None:
        try:
            self._work(number, chance)
        except Exception as problem:  # noqa: BLE001 the rig reports it
            self.problems.append(f"editor {number}: {type(problem).__name__}: {problem}")

    def _work(self, number: int, chance: random.Random) -> None:
        name = f"rig-{number}"
        banners = [f"{name}-banner-{banner}" for banner in range(BANNERS)]
        there: set[str] = set()
        while self._at_work.wait() and not self._stop.is_set():
            if chance.random() < 0.15:
                document, path = chance.choice(banners), None
                edit = self._stack.edit(document, "banner", send=False, title=_title(chance))
            else:
                document = f"{name}-page-{chance.randrange(PAGES)}"
                if document in there and chance.random() < 0.12:
                    path = None
                    edit = self._stack.delete(document, send=False)
                    there.discard(document)
                else:
                    path = f"/{document}-{chance.randrange(2)}"
                    banner = {"_type": "reference", "_ref": chance.choice(banners)}
                    edit = self._stack.edit(
                        document, "page", path, send=False, title=_title(chance), banner=banner
                    )
                    there.add(document)
            sent = Sent(edit, path, edit.change["at"])
            self.journal.add(sent)
            self._deliver(sent)
            self._stop.wait(self._pace * chance.random() * 2)

    def _deliver(self, sent: Sent) -> None:
        def send() -> Any:
            self._under_way.release()
            try:
                return self._stack.editor.send(sent.edit).answer
            finally:
                # Whoever waited for one in flight may have taken it.
                self._under_way.acquire(blocking=False)

        deliver(send, sent, self.journal, time.monotonic() + GIVEN_UP_SECONDS)

    @contextmanager
    def paused(self):
        """No editor begins another edit while inside (`with`)."""
        self._at_work.clear()
        try:
            yield
        finally:
            self._at_work.set()

    def one_in_flight(self, seconds: float) -> bool:
        """Waits until a webhook is being answered."""
        return self._under_way.acquire(timeout=seconds)


def deliver(send: Callable[[], Any], sent: Sent, journal: Journal, deadline: float) -> None:
    """As Sanity does it: again after no answer, 429 and 5xx; never again after another 4xx."""
    while time.monotonic() < deadline:
        sent.tries += 1
        try:
            answer = send()
        except requests.RequestException:
            answer = None
        if answer is not None and 200 <= answer.status < 300:
            sent.accepted = True
            return
        if answer is not None and 400 <= answer.status < 500 and answer.status != 429:
            journal.refused.append(f"{sent.edit.document_id}: {answer.status}")
            return
        journal.repeated += 1
        time.sleep(RETRY_SECONDS)
    journal.refused.append(f"{sent.edit.document_id}: given up after {sent.tries} tries")


def _title(chance: random.Random) -> str:
    return f"Title {chance.getrandbits(32):x}"
