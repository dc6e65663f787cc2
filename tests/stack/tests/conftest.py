"""Makes the package `stack` importable and gives the golden files."""

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))


@pytest.fixture(scope="session")
def golden():
    """A golden file's content by name."""

    def load(name: str):
        return json.loads((HERE.parent / "golden" / f"{name}.json").read_text())

    return load
