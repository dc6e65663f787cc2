"""Child processes that are always ended: by their own id, with everything in their process group, also on failure."""

import ctypes
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from .waiting import wait_until

_SET_PARENT_DEATH_SIGNAL = 1
STOP_SECONDS = 10.0


class ProcessFailed(RuntimeError):
    """A child ended, or never became ready. The message carries the end of its log."""


def _end_with_parent() -> None:
    """Runs in the child: SIGTERM when the parent dies, so that even a killed test run leaves nothing behind."""
    ctypes.CDLL("libc.so.6", use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)


class Process:
    """One child in a session of its own (a Ctrl-C at the terminal reaches only us, and we stop it in order)."""

    def __init__(self, name: str, argv: list[str], log: Path, env: dict[str, str], cwd: Path | None = None):
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            self._child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=cwd,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    @property
    def pid(self) -> int:
        """The process id; also the id of its process group."""
        return self._child.pid

    def running(self) -> bool:
        """Whether the child has not ended."""
        return self._child.poll() is None

    def output(self, last: int = 40) -> str:
        """The last lines of what it printed."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-last:])

    def wait_ready(self, ready, deadline: float):
        """Waits until `ready()` is truthy; fails at once when the child ends first."""

        def look():
            if not self.running():
                raise ProcessFailed(f"{self.name} ended with {self._child.returncode}:\n{self.output()}")
            return ready()

        return wait_until(look, deadline, f"{self.name} is ready", explain=self.output)

    def first_json_line(self, deadline: float = 20.0) -> dict:
        """The first line it prints that is a JSON object: how a server says its port."""

        def look():
            for line in self.log.read_text(errors="replace").splitlines():
                if line.startswith("{"):
                    return json.loads(line)
            return None

        return self.wait_ready(look, deadline)

    def wait(self, deadline: float) -> int:
        """Waits until it ends by itself; its exit status. Raises `ProcessFailed` when that takes too long."""
        try:
            return self._child.wait(deadline)
        except subprocess.TimeoutExpired:
            raise ProcessFailed(f"{self.name} did not end within {deadline:g} s:\n{self.output()}") from None

    def kill(self) -> None:
        """Ends it the hard way, as a crash would."""
        self._signal_group(signal.SIGKILL)
        self._child.wait()

    def stop(self) -> None:
        """Asks it to end, then insists, then ends what is left of its group. Safe to call twice."""
        if self.running():
            self._child.terminate()
            try:
                self._child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        self._signal_group(signal.SIGKILL)
        self._child.wait()

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass


def children_of(pid: int) -> list[int]:
    """The ids of the direct children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(entry.name))
    return found


def environment_of(pid: int) -> dict[str, str]:
    """The environment a process was started with; empty when it is gone."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    pairs = (entry.split(b"=", 1) for entry in raw.split(b"\0") if b"=" in entry)
    return {name.decode(errors="replace"): value.decode(errors="replace") for name, value in pairs}


def start_time_of(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; with the id it names one process for good."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
    except (FileNotFoundError, ProcessLookupError):
        return None


def end_leftover(pid: int, started: int) -> bool:
    """Ends a process group recorded by an earlier run, if that very process still runs."""
    if start_time_of(pid) != started:
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(pid, number)
        except ProcessLookupError:
            return True
        end = time.monotonic() + STOP_SECONDS
        while start_time_of(pid) == started and time.monotonic() < end:
            time.sleep(0.05)
    return True
