"""Where the tests find their modules, and the stage they share."""

import os
import signal
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True

BUILD = Path(os.environ.get("BUILD_DIRECTORY", HERE.parents[1] / ".aws-sam" / "build")).resolve()


def pytest_configure():
    # So that what was started is stopped when the run is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@pytest.fixture(scope="session")
def stage():
    """The surroundings of the samples; see stage.py."""
    from stage import Stage

    template = BUILD / "template.yaml"
    assert template.is_file(), f"{template} is missing: run sam build first (tests/local_invoke/run.sh does)"
    with Stage(template) as started:
        yield started
