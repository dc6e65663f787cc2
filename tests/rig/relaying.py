"""The relay, run as its schedule would have it, and more often. Reconcile does not run: what the webhook lost it would mend."""

import threading
from contextlib import contextmanager

from stack.functions import FunctionFailed
from stack.stack import Stack
from stack.waiting import DeadlineExceeded, wait_until

from . import verdict

PAUSE_SECONDS = 0.5
QUIET_SECONDS = 240.0


@contextmanager
def relaying(stack: Stack, pause: float = PAUSE_SECONDS):
    """While inside (`with`), with so many seconds between two runs."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                stack.relay_once()
            except FunctionFailed:
                pass  # It was killed, or the queue is denied.
            stop.wait(pause)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def calm_down(stack: Stack) -> None:
    """The relay runs until nothing is open, or for a time; what is left is the verdict's."""
    with relaying(stack):
        try:
            wait_until(lambda: verdict.is_quiet(stack), QUIET_SECONDS, "nothing is open", interval=1.0)
        except DeadlineExceeded:
            pass
