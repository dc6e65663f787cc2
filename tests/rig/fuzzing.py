"""libFuzzer over the targets of `tests/fuzz`, some seconds each."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from stack.places import LOCAL

from .build import fuzzer
from .result import Result

DIRECTORY = LOCAL / "rig" / "fuzz"
LONGEST_BYTES = 131_072
SECONDS_AN_INPUT = 10
MEMORY_MEGABYTES = 1024
RUNS = re.compile(r"^Done (\d+) runs", re.MULTILINE)


def run_fuzz(seconds: int, say: Callable[[str], None]) -> Result:
    """`seconds` for each target, as many at once as there are cores. What is found is kept in `.local/rig/fuzz`, to be put into
    the seeds; what was covered is kept too, and the next run begins there."""
    program = fuzzer()
    targets = _seeds(program)
    shutil.rmtree(DIRECTORY / "found", ignore_errors=True)
    waiting, running = list(targets), []
    runs, found = 0, []
    cores = len(os.sched_getaffinity(0))
    try:
        while waiting or running:
            while waiting and len(running) < cores:
                running.append(_Run(program, waiting.pop(0), seconds))
            done = running.pop(0)
            status, counted = done.end(seconds)
            runs += counted
            if status != 0:
                found.append(done)
            say(
                f"{done.target:<18} {counted:>9} inputs"
                + ("" if status == 0 else f"   NOT good: see {done.log}")
            )
    finally:
        for one in running:
            one.stop()
    result = Result("fuzz", f"{runs} inputs to {len(targets)} readers", lost=None, stuck=None, stale=None)
    result.panics = len(found)
    return result


def _seeds(program: Path) -> list[str]:
    """Writes the seeds; the names of the targets."""
    done = subprocess.run(
        [str(program)],
        env={"FUZZ_SEEDS": str(DIRECTORY / "seeds")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


class _Run:
    """One target under libFuzzer."""

    def __init__(self, program: Path, target: str, seconds: int):
        self.target = target
        self.log = DIRECTORY / f"{target}.log"
        corpus, found = DIRECTORY / "corpus" / target, DIRECTORY / "found" / target
        for directory in (corpus, found):
            directory.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as output:
            self._child = subprocess.Popen(
                [
                    str(program), f"-max_total_time={seconds}", f"-max_len={LONGEST_BYTES}",
                    f"-timeout={SECONDS_AN_INPUT}", f"-rss_limit_mb={MEMORY_MEGABYTES}",
                    f"-artifact_prefix={found}/", str(corpus), str(DIRECTORY / "seeds" / target),
                ],
                env={"FUZZ_TARGET": target, "RUST_BACKTRACE": "0"},
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def end(self, seconds: int) -> tuple[int, int]:
        """Its status, and how many inputs it tried."""
        try:
            status = self._child.wait(seconds + 120)
        finally:
            self.stop()
        counted = RUNS.findall(self.log.read_text(errors="replace"))
        return status, int(counted[-1]) if counted else 0

    def stop(self) -> None:
        """Ends it, if it has not."""
        self._child.kill()
        self._child.wait()
