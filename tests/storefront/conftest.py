"""One deployed stack with the real storefront for all tests; each edits documents of its own."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from browser import Browser  # noqa: E402
from stack.neighbours.shop import Shop  # noqa: E402
from stack.places import LOCAL  # noqa: E402
from stack.stack import Stack  # noqa: E402

SCREENSHOTS = LOCAL / "storefront" / "screenshots"


@pytest.fixture(scope="session")
def stack():
    """Deployed, its content with routes, and every page visited once."""
    Shop.build()
    with Stack("storefront", shop=True, progress=lambda text: print(text, file=sys.stderr)) as stack:
        stack.rebuild()
        stack.storefront.visit(*(route["slug"] for route in stack.ledger.routes()))
        yield stack


@pytest.fixture(scope="session")
def browser():
    """One window for all tests; its screenshots stay until the next run."""
    shutil.rmtree(SCREENSHOTS, ignore_errors=True)
    SCREENSHOTS.mkdir(parents=True)
    window = Browser(SCREENSHOTS)
    yield window
    window.stop()


@pytest.fixture
def shop(stack):
    """The storefront."""
    return stack.storefront
