"""The kill ledger: processes die while edits flow; afterwards every edit is looked for, and its effect."""

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from stack.stack import Stack
from stack.waiting import DeadlineExceeded, wait_until

from . import build, verdict
from .relaying import PAUSE_SECONDS, calm_down, relaying
from .result import Result
from .steps import AT_RANDOM, PIPE, STAGES, Stage, Step
from .traffic import Traffic
from .victims import FAULT_POINT, Watch, killed, last_words, lives

EDITORS = 3
PACE_SECONDS = 0.25
OFTEN_SECONDS = 0.05
VISIBILITY_SECONDS = 3
STEP_SECONDS = 80.0
"""Longer than an invocation that is cut off is waited for."""
SECONDS_A_KILL = 6.0
LOOK_SECONDS = 0.2
BACKLOG = 100
"""Messages in the queue beyond which a lane waits for the consumer before its next step."""
CATCH_UP_SECONDS = 120.0
PARAMETERS = {
    # Shorter, and on a busy machine the relay would send faster than the consumer works.
    "OutboxGraceSeconds": "25",
    # An edit that a kill delays beyond its document's delete waits so long before it is set aside.
    "FenceTrustSeconds": "30",
    # On AWS three attempts are 75 minutes; here kills come every second.
    "MaxAttempts": "100",
}


class Kills:
    """`wanted` deaths at each of `STAGES`' steps, with edits flowing meanwhile."""

    def __init__(self, stack: Stack, wanted: int, seed: int, say: Callable[[str], None]):
        self._stack = stack
        self._wanted = wanted
        self._chance = random.Random(seed)
        self._say = say
        self._traffic = Traffic(stack, EDITORS, seed, PACE_SECONDS)
        self.counted: dict[Step, int] = {}
        self.problems: list[str] = []

    def run(self) -> Result:
        """Kills, lets everything come to rest, and judges."""
        self._put_fault_points()
        self._stack.queues.set("RevalidateQueue", VisibilityTimeout=VISIBILITY_SECONDS)
        journal = self._traffic.journal
        with self._traffic:
            for stage in STAGES:
                self._stage(stage)
                # At once, before anything could make up for it: a 2xx means committed (law 1).
                if verdict.lost(self._stack, journal) or self.problems:
                    break
        calm_down(self._stack)
        again = sum(sent.tries > 1 for sent in journal.all)
        result = Result(
            "kills",
            f"{sum(self.counted.values())} kills at {len(self.counted)} steps, {len(journal.all)} edits, "
            f"{again} sent again",
        )
        result.problems += self.problems + self._traffic.problems
        result.problems += [f"refused: {text}" for text in journal.refused]
        verdict.judge(self._stack, journal, result)
        return result

    def _put_fault_points(self) -> None:
        """Puts the builds that can be told where to die in the place of the deployed ones."""
        client = self._stack.aws.client("lambda")
        for name, code in build.functions().items():
            client.update_function_code(FunctionName=self._stack.deployment.function(name), ZipFile=code)

    def _stage(self, stage: Stage) -> None:
        pause = OFTEN_SECONDS if stage.kills_the_relay else PAUSE_SECONDS
        with stage.weather(self._stack), relaying(self._stack, pause), ThreadPoolExecutor() as pool:
            for done in [pool.submit(self._lane, lane) for lane in stage.lanes]:
                done.result()

    def _lane(self, lane: tuple[Step, ...]) -> None:
        chance = random.Random(self._chance.random())
        try:
            for step in lane:
                began = time.monotonic()
                counted = self.counted[step] = self._deaths(step, chance)
                self._say(f"{step.name:<42} {counted:>3} kills in {time.monotonic() - began:>4.1f} s")
                if counted < self._wanted:
                    # Whatever keeps this step from being reached keeps the next ones too.
                    self.problems.append(f"{step.name}: {counted} kills, not {self._wanted}; no further step")
                    return
                self._catch_up(step)
        finally:
            if lane[0].victim != PIPE:
                self._set_fault_point(lane[0].victim, "")

    def _catch_up(self, step: Step) -> None:
        """Lets the consumer live, and the editors rest, until few messages are left. It handles nothing while it dies, and the
        relay sends for each open item again and again: after some hundred deaths the queue would hold more than can be waited
        for."""

        def backlog() -> int:
            return self._stack.queues.total("RevalidateQueue")

        if step.victim != "ConsumerFunction" or backlog() < BACKLOG:
            return
        self._set_fault_point(step.victim, "")
        try:
            with self._traffic.paused():
                wait_until(lambda: backlog() < BACKLOG, CATCH_UP_SECONDS, "the consumer has caught up")
        except DeadlineExceeded:
            pass  # As long as a target is down it cannot. The verdict says what is left in the end.

    def _deaths(self, step: Step, chance: random.Random) -> int:
        """Waits for that many deaths, for a time; how many there were."""
        end = time.monotonic() + STEP_SECONDS + SECONDS_A_KILL * self._wanted
        if step.point != AT_RANDOM:
            return self._deaths_at_a_point(step, end)
        deaths = 0
        while deaths < self._wanted and time.monotonic() < end:
            time.sleep(0.4 * chance.random())
            if step.victim == "WebhookFunction":
                self._traffic.one_in_flight(1.0)
                time.sleep(0.02 * chance.random())
            deaths += self._kill_pipe() if step.victim == PIPE else self._kill_one(step.victim, chance)
        return deaths

    def _deaths_at_a_point(self, step: Step, end: float) -> int:
        """Processes that are gone and whose last words were that they end there: one that fails to start is no kill."""
        began = time.time()
        self._set_fault_point(step.victim, step.point)
        # Taken before the variable changes again, which ends processes too.
        with Watch(self._stack, step.victim, step.point) as watch:
            counted = 0
            while counted < self._wanted and time.monotonic() < end:
                time.sleep(LOOK_SECONDS)
                if watch.deaths > counted:
                    words = last_words(self._stack, step.victim, step.point, began)
                    counted = min(watch.deaths, words)
        return counted

    def _set_fault_point(self, function: str, point: str) -> None:
        self._stack.functions.configure(function, **{FAULT_POINT: point})

    def _kill_one(self, function: str, chance: random.Random) -> bool:
        running = lives(self._stack, function)
        return bool(running) and killed(chance.choice(running))

    def _kill_pipe(self) -> bool:
        """A Pipe that starts again begins at its starting position: everything comes a second time."""
        assert self._stack.pipe is not None
        was_running = self._stack.pipe.running()
        self._stack.kill_pipe()
        dead = was_running and not self._stack.pipe.running()
        self._stack.start_pipe()
        return dead
