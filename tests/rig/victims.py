"""Processes to be killed, and the proof that they died."""

import os
import signal
import threading
import time
from typing import Self

from stack.processes import environment_of, start_time_of
from stack.stack import Stack

LOOK_SECONDS = 0.004
DIES_SECONDS = 10.0
FAULT_POINT = "FAULT_POINT"

Life = tuple[int, int]
"""A process for good: its id, and when it started."""


def alive(life: Life) -> bool:
    """Whether that very process still runs. A zombie, which its parent has not looked after yet, does not."""
    pid, started = life
    if start_time_of(pid) != started:
        return False
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def lives(stack: Stack, function: str) -> list[Life]:
    """The running processes of a function."""
    pids = stack.emulator.function_processes(stack.deployment.function(function))
    return [(pid, started) for pid in pids if (started := start_time_of(pid)) is not None]


def killed(life: Life) -> bool:
    """Kills it as a crash would; true once it is dead by that."""
    if not alive(life):
        return False
    try:
        os.kill(life[0], signal.SIGKILL)
    except ProcessLookupError:
        return False
    end = time.monotonic() + DIES_SECONDS
    while alive(life) and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
    return not alive(life)


def last_words(stack: Stack, function: str, point: str, since: float) -> int:
    """How many processes of a function have logged since then (epoch seconds) that they end at a fault point."""
    return sum(line.get("fault_point") == point for line in stack.functions.json_log(function, since))


class Watch:
    """Counts the processes of a function that end by themselves, while inside (`with`): those that were started with a fault
    point in their environment and are gone without anybody having ended them. Where they ended, `last_words` says."""

    def __init__(self, stack: Stack, function: str, point: str):
        self._stack = stack
        self._function = function
        self._point = point
        self._stop = threading.Event()
        self._seen: set[Life] = set()
        self._dead: set[Life] = set()
        self._thread = threading.Thread(target=self._look)

    @property
    def deaths(self) -> int:
        """How many have died so far."""
        return len(self._dead)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            for life in lives(self._stack, self._function):
                if environment_of(life[0]).get(FAULT_POINT) == self._point:
                    self._seen.add(life)
            self._dead |= {life for life in self._seen if not alive(life)}
