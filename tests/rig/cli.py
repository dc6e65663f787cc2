"""`make rig`, and the bounded part of it that `make test` runs."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from stack.canaries import CanaryFound
from stack.stack import Stack

from .build import machine, simulation, tested_simulation
from .fuzzing import run_fuzz
from .histories import run_histories
from .kills import PARAMETERS, Kills
from .load import run_load
from .result import Result, table

EVENTS_A_SENDER = 12
BOUNDED = {"HISTORIES": 280, "KILLS": 3, "SENDERS": 40, "EVENTS": 120, "FUZZ_SECONDS": 0}
WHOLE = {"HISTORIES": 24_000, "KILLS": 20, "SENDERS": 40, "EVENTS": 0, "FUZZ_SECONDS": 30}


def main(arguments: list[str] | None = None) -> int:
    """Entry point; the exit status. `HISTORIES`, `KILLS`, `SENDERS`, `EVENTS`, `FUZZ_SECONDS` and `SEED` are read from the
    environment, as `make` hands them over."""
    parser = argparse.ArgumentParser(prog="tests/rig", description=__doc__)
    parser.add_argument("--bounded", action="store_true", help="the part that make test runs")
    parser.add_argument(
        "parts",
        nargs="*",
        help="histories, kills, load, fuzz; all when none is named, or those whose size is given",
    )
    options = parser.parse_args(arguments)
    # So that what was started is stopped when the run is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sizes = dict(BOUNDED if options.bounded else WHOLE)
    given = {name: int(os.environ[name]) for name in sizes if os.environ.get(name)}
    sizes |= given
    seed = int(os.environ.get("SEED") or time.time())
    parts = options.parts or parts_of(given, sizes)
    _say(f"The rig: {', '.join(parts)}; seed {seed}; {machine()}; {datetime.now():%Y-%m-%d %H:%M}")
    results = _run(parts, sizes, seed, tested_simulation if options.bounded else simulation)
    _say("")
    for line in table(results):
        _say(line)
    for result in results:
        for text in result.problems + result.details:
            _say(f"  {result.name}: {text}")
    return 0 if all(result.good for result in results) else 1


def parts_of(given: dict[str, int], sizes: dict[str, int]) -> list[str]:
    """`make rig HISTORIES=100000` means the histories only, and so with each."""
    of_size = {
        "HISTORIES": "histories",
        "KILLS": "kills",
        "SENDERS": "load",
        "EVENTS": "load",
        "FUZZ_SECONDS": "fuzz",
    }
    named = [part for size, part in of_size.items() if size in given]
    if named:
        return list(dict.fromkeys(named))
    return ["histories", "load", "kills"] + (["fuzz"] if sizes["FUZZ_SECONDS"] else [])


def _run(
    parts: list[str], sizes: dict[str, int], seed: int, simulation: Callable[[], Path]
) -> list[Result]:
    results = []
    if "histories" in parts:
        histories = sizes["HISTORIES"]
        results.append(_timed("histories", lambda: run_histories(simulation(), histories, _indented)))
    if "load" in parts or "kills" in parts:
        results += _on_a_stack(parts, sizes, seed)
    if "fuzz" in parts:
        results.append(_timed("fuzz", lambda: run_fuzz(sizes["FUZZ_SECONDS"], _indented)))
    return results


def _on_a_stack(parts: list[str], sizes: dict[str, int], seed: int) -> list[Result]:
    """Load on the functions as deployed, then kills on those with fault points; at last what all of them have logged."""
    results = []
    logs = Result("logs", "", lost=None, stuck=None, stale=None, panics=None)
    try:
        with Stack("rig", PARAMETERS, seed=False, progress=_say) as stack:
            if "load" in parts:
                senders = sizes["SENDERS"]
                events = sizes["EVENTS"] or senders * EVENTS_A_SENDER
                results.append(_timed("load", lambda: run_load(stack, senders, events, seed, _indented)))
            if "kills" in parts:
                results.append(_timed("kills", lambda: Kills(stack, sizes["KILLS"], seed, _indented).run()))
            logs.ran = f"{stack.refuse_canaries()} lines without a secret, a token or content"
    except CanaryFound as found:
        logs.ran = "a secret, a token or content is logged"
        logs.problems.append(str(found))
    return [*results, logs]


def _timed(title: str, run: Callable[[], Result]) -> Result:
    _say(f"\n{title}")
    began = time.monotonic()
    result = run()
    result.seconds = time.monotonic() - began
    return result


def _indented(text: str) -> None:
    _say(f"  {text}")


def _say(text: str) -> None:
    print(text, flush=True)
