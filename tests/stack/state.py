"""What is kept of a running stack: its processes, so that a later run can end leftovers, and where to send an edit."""

import json
from pathlib import Path
from typing import Any

from .processes import end_leftover, start_time_of

FILE = "state.json"


def write_state(directory: Path, pids: dict[str, int], details: dict[str, Any]) -> None:
    """Readable by its owner only: it holds the generated webhook secret."""
    processes = {name: {"pid": pid, "started": start_time_of(pid)} for name, pid in pids.items()}
    file = directory / FILE
    file.touch(mode=0o600)
    file.write_text(json.dumps({"processes": processes} | details, indent=2))


def read_state(directory: Path) -> dict[str, Any] | None:
    """The state of a stack that is up, or `None`."""
    try:
        state = json.loads((directory / FILE).read_text())
    except (FileNotFoundError, ValueError):
        return None
    emulator = state["processes"]["emulator"]
    return state if start_time_of(emulator["pid"]) == emulator["started"] else None


def end_leftovers(directory: Path) -> None:
    """Ends the processes of a run that could not do it itself."""
    try:
        state = json.loads((directory / FILE).read_text())
    except (FileNotFoundError, ValueError):
        return
    for process in state["processes"].values():
        if process["started"] is not None:
            end_leftover(process["pid"], process["started"])
