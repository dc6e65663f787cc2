"""One deployed stack for the whole suite; each test begins with calm neighbours and documents of its own."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stack.stack import Stack  # noqa: E402
from witness import Witness  # noqa: E402


@pytest.fixture(scope="session")
def deployed():
    """The stack, deployed once."""
    with Stack("end-to-end", seed=False, progress=lambda text: print(text, file=sys.stderr)) as stack:
        yield stack


@pytest.fixture
def stack(deployed):
    """The stack, with every neighbour well; the next test does not meet the repeated purges of this one."""
    deployed.calm()
    yield deployed
    deployed.calm()
    deployed.wait_repeated()


@pytest.fixture
def witness(stack):
    """What the neighbours are asked from now on."""
    return Witness(stack)


@pytest.fixture
def name(request):
    """An id that no other test uses."""
    test = request.node.name.split("[")[0].removeprefix("test_").replace("_", "-")[:60]
    parameter = request.node.name.partition("[")[2].rstrip("]").replace("/", "-").replace(" ", "-")
    return f"{test}-{parameter}" if parameter else test

