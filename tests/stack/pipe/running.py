"""The Pipe as a process of its own: started, stopped and killed apart from everything else, with its log read back."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from ..places import HERE
from ..processes import Process


class RunningPipe:
    """Starts on construction and is ready when that returns; raises `ProcessFailed` with the reasons when refused."""

    def __init__(self, endpoint: str, stack: str, directory: Path):
        self.log_file = directory / "pipe.jsonl"
        self._process = Process(
            "pipe",
            [sys.executable, "-m", "stack.pipe", endpoint, stack, str(self.log_file)],
            directory / "pipe.log",
            {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        try:
            self._process.first_json_line()
        except BaseException:
            self._process.stop()
            raise

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.running()

    def log(self, action: str | None = None) -> list[dict[str, Any]]:
        """What it did, oldest first: started, forwarded, filtered, failed, dead, paused, resumed, ended."""
        if not self.log_file.exists():
            return []
        lines = self.log_file.read_text().splitlines()
        entries = [json.loads(line) for line in lines if line.endswith("}")]
        return [entry for entry in entries if action is None or entry["action"] == action]

    def kill(self) -> None:
        """As a crash would."""
        self._process.kill()

    def stop(self) -> None:
        """In order."""
        self._process.stop()
