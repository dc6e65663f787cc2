"""Waiting with a deadline: the only way the stack and its tests wait for something."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

INTERVAL_SECONDS = 0.05


class DeadlineExceeded(AssertionError):
    """What was waited for did not happen in time; an assertion, so that a test shows it as its own failure."""


def wait_until(
    predicate: Callable[[], T],
    deadline: float,
    what: str,
    explain: Callable[[], Any] | None = None,
    interval: float = INTERVAL_SECONDS,
) -> T:
    """Asks `predicate` until its answer is truthy and returns that answer.

    `deadline` is in seconds from now. `what` names the expectation in the failure; `explain` is asked once at the
    end for what was there instead.
    """
    end = time.monotonic() + deadline
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() >= end:
            shown = f"\nseen instead: {explain()}" if explain else ""
            raise DeadlineExceeded(f"after {deadline:g} s still not: {what}{shown}")
        time.sleep(interval)
