"""`python tests/rig` from the project's folder; the packages are found without any path being set."""

import sys
from pathlib import Path

if __package__ in (None, ""):
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from rig.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
