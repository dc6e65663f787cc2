"""Drives what the schedules would: the relay's step, until something is so."""

import time
from collections.abc import Callable

from stack.stack import Stack
from stack.waiting import DeadlineExceeded

RELAY_INTERVAL_SECONDS = 0.5


def relay_until(stack: Stack, done: Callable[[], bool], deadline: float, what: str) -> None:
    """Runs the relay now and again until `done`."""
    end = time.monotonic() + deadline
    while not done():
        if time.monotonic() >= end:
            items = [item for item in stack.ledger.scan("outbox") if item.get("status") == "READY"]
            raise DeadlineExceeded(f"after {deadline:g} s of relaying still not: {what}\nREADY: {items}")
        stack.relay_once()
        _until(time.monotonic() + RELAY_INTERVAL_SECONDS, done)


def _until(end: float, done: Callable[[], bool]) -> None:
    while time.monotonic() < end and not done():
        pass


def relay_until_applied(stack: Stack, *edits, deadline: float = 60) -> None:
    """Runs the relay until these edits are applied."""

    def applied() -> bool:
        return all(stack.state(edit.event_id) == "applied" for edit in edits)

    relay_until(stack, applied, deadline, "applied")
