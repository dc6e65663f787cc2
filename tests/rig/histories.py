"""Random histories through the real decision code: `tests/simulation`, on every core."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from stack.places import ROOT

from .result import Result

CONFIGURATIONS = 28
"""About how many there are; each gets its share."""

# A row of its table, and the column that each number stands in; see tests/simulation/src/table.rs.
ROW = re.compile(r"^(\S+)((?:\s+\d+){13})$")
COLUMNS = (
    "histories stale latent stuck dead failed plan_left table_wrong excused events invocations deaths resent"
).split()


def run_histories(program: Path, total: int, say: Callable[[str], None]) -> Result:
    """About `total` histories, the same number of each fault configuration."""
    each = max(1, -(-total // CONFIGURATIONS))
    child = subprocess.Popen([str(program), "run", str(each)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    sums, rows = dict.fromkeys(COLUMNS, 0), 0
    try:
        for line in child.stdout:
            say(line.rstrip("\n"))
            if row := ROW.match(line.rstrip("\n")):
                rows += 1
                for name, count in zip(COLUMNS, row[2].split(), strict=True):
                    sums[name] += int(count)
        status = child.wait()
    finally:
        child.kill()
        child.wait()
    result = Result(
        "histories", f"{sums['histories']} histories of {rows} kinds of faults, {sums['events']} events"
    )
    # Whatever is lost shows as what is stale, or as an event in no final state.
    result.lost = None
    result.stuck = sums["stuck"] + sums["failed"] + sums["plan_left"]
    result.stale = sums["stale"] + sums["latent"] + sums["table_wrong"]
    if status != 0:
        result.problems.append("a law is broken: the commands that replay the histories are above")
    if rows == 0:
        result.panics = 1
    return result
