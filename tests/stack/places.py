"""Where the local stack finds and keeps things. Everything it writes lies under `.local/`."""

import socket
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCAL = ROOT / ".local"
STATE = LOCAL / "stack"
HERE = Path(__file__).resolve().parent
NEIGHBOURS = HERE / "neighbours"
SAM_BIN = LOCAL / "venv-sam" / "bin"
STACK_BIN = LOCAL / "venv-stack" / "bin"

LOOPBACK = "127.0.0.1"
REGION = "eu-west-1"
ACCOUNT = "123456789012"


def free_port() -> int:
    """A port that was free on loopback a moment ago."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


def working_directory(name: str) -> Path:
    """The directory of one named stack; created when missing."""
    directory = STATE / name
    directory.mkdir(parents=True, exist_ok=True)
    return directory
