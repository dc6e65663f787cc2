"""`python -m stack.pipe ENDPOINT STACK LOG`: the process that `stack.pipe.service` describes."""

import sys
from pathlib import Path

from .definition import PipeRefused
from .role import RoleRefused
from .service import main

if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    except (PipeRefused, RoleRefused) as refusal:
        sys.exit(str(refusal))
