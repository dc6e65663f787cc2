"""What must be so around a victim for it to come by a fault point."""

from contextlib import contextmanager

from stack.stack import Stack


@contextmanager
def fair(_: Stack):
    """As it is."""
    yield


@contextmanager
def pipe_paused(stack: Stack):
    """Nothing is forwarded but by the relay."""
    stack.pause_pipe()
    try:
        yield
    finally:
        stack.resume_pipe()


@contextmanager
def stellate_down(stack: Stack):
    """Every purge is put off."""
    stack.stellate.fail(status=503, body="down", times=0)
    try:
        yield
    finally:
        stack.stellate.recover()


@contextmanager
def queue_denied(stack: Stack):
    """The relay's sends are refused, and nothing is forwarded but by it."""
    with pipe_paused(stack), stack.functions.denied("RelayFunction", "sqs:SendMessage"):
        yield
