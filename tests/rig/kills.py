"""The kill ledger: processes die while edits flow; afterwards every edit is looked for, and its effect."""

import random
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager

from stack.functions import FunctionFailed
from stack.stack import Stack
from stack.waiting import DeadlineExceeded, wait_until

from . import build, verdict
from .result import Result
from .steps import AT_RANDOM, PIPE, STEPS, Step
from .traffic import Traffic
from .victims import FAULT_POINT, Watch, killed, last_words, lives

EDITORS = 3
PACE_SECONDS = 0.25
RELAY_SECONDS = 0.5
VISIBILITY_SECONDS = 3
STEP_SECONDS = 80.0
"""Longer than an invocation that is cut off is waited for."""
SECONDS_A_KILL = 6.0
LOOK_SECONDS = 0.2
QUIET_SECONDS = 240.0
PARAMETERS = {
    # Shorter, and on a busy machine the relay would send faster than the consumer works.
    "OutboxGraceSeconds": "25",
    # An edit that a kill delays beyond its document's delete waits so long before it is set aside.
    "FenceTrustSeconds": "30",
    # On AWS three attempts are 75 minutes; here kills come every second.
    "MaxAttempts": "100",
}


def run_kills(stack: Stack, kills: int, seed: int, say: Callable[[str], None]) -> Result:
    """`kills` deaths at each of `STEPS`, with edits flowing meanwhile."""
    chance = random.Random(seed)
    _put_fault_points(stack)
    stack.queues.set("RevalidateQueue", VisibilityTimeout=VISIBILITY_SECONDS)
    result = Result("kills", "")
    counted: dict[Step, int] = {}
    with Traffic(stack, EDITORS, seed, PACE_SECONDS) as traffic:
        for step in STEPS:
            with step.weather(stack), _relaying(stack, step):
                counted[step] = _deaths(stack, traffic, step, kills, chance)
            say(f"{step.name:<40} {counted[step]:>3} kills")
            if counted[step] < kills:
                result.problems.append(f"{step.name}: {counted[step]} kills, not {kills}")
    calm_down(stack)
    journal = traffic.journal
    again = sum(sent.tries > 1 for sent in journal.all)
    result.ran = (
        f"{sum(counted.values())} kills at {len(counted)} steps, {len(journal.all)} edits, {again} sent again"
    )
    result.problems += traffic.problems + [f"refused: {text}" for text in journal.refused]
    verdict.judge(stack, journal, result)
    return result


def _put_fault_points(stack: Stack) -> None:
    """Puts the builds that can be told where to die in the place of the deployed ones."""
    client = stack.aws.client("lambda")
    for name, code in build.functions().items():
        client.update_function_code(FunctionName=stack.deployment.function(name), ZipFile=code)


def _deaths(stack: Stack, traffic: Traffic, step: Step, kills: int, chance: random.Random) -> int:
    """Waits for that many deaths, for a time; how many there were."""
    end = time.monotonic() + STEP_SECONDS + SECONDS_A_KILL * kills
    if step.point != AT_RANDOM:
        return _deaths_at_a_point(stack, step, kills, end)
    deaths = 0
    while deaths < kills and time.monotonic() < end:
        time.sleep(0.4 * chance.random())
        if step.victim == "WebhookFunction":
            traffic.one_in_flight(1.0)
            time.sleep(0.02 * chance.random())
        deaths += _kill_pipe(stack) if step.victim == PIPE else _kill_one(stack, step.victim, chance)
    return deaths


def _deaths_at_a_point(stack: Stack, step: Step, kills: int, end: float) -> int:
    """Processes that are gone and whose last words were that they end there: one that fails to start is no kill."""
    stack.functions.configure(step.victim, **{FAULT_POINT: step.point})
    try:
        with Watch(stack, step.victim, step.point) as watch:
            counted = 0
            while counted < kills and time.monotonic() < end:
                time.sleep(LOOK_SECONDS)
                if watch.deaths > counted:
                    counted = min(watch.deaths, last_words(stack, step.victim, step.point))
        # Taken before the variable is taken back, which ends processes too.
        return counted
    finally:
        stack.functions.configure(step.victim, **{FAULT_POINT: ""})


def _kill_one(stack: Stack, function: str, chance: random.Random) -> bool:
    running = lives(stack, function)
    return bool(running) and killed(chance.choice(running))


def _kill_pipe(stack: Stack) -> bool:
    """A Pipe that starts again begins at its starting position: everything comes a second time."""
    assert stack.pipe is not None
    was_running = stack.pipe.running()
    stack.kill_pipe()
    dead = was_running and not stack.pipe.running()
    stack.start_pipe()
    return dead


@contextmanager
def _relaying(stack: Stack, step: Step):
    """The relay runs as its schedule would have it, and more often where it is the victim. Reconcile does not: what the webhook
    lost it would mend."""
    stop = threading.Event()
    pause = 0.05 if step.victim == "RelayFunction" else RELAY_SECONDS

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
    with _relaying(stack, Step("")):
        try:
            wait_until(lambda: verdict.is_quiet(stack), QUIET_SECONDS, "nothing is open", interval=1.0)
        except DeadlineExceeded:
            pass
