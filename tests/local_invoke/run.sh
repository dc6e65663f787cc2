#!/usr/bin/env bash
# Every sample of events/ through `sam local invoke`, with its expected answer.
#
#   tests/local_invoke/run.sh                     all of them
#   tests/local_invoke/run.sh -k late-event       one (and what it builds upon); any other option of pytest works too
#
# BUILD_DIRECTORY says where `sam build` has put the template (default .aws-sam/build); it is built there when it is
# missing. The container engine is the one that runs, or one of our own for the length of this run: see engine.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tests/setup.sh
export BUILD_DIRECTORY=${BUILD_DIRECTORY:-.aws-sam/build} SAM_CLI_TELEMETRY=0 PYTHONDONTWRITEBYTECODE=1
export PATH="$PWD/.local/venv-sam/bin:$PATH"
if [ "$BUILD_DIRECTORY" = .aws-sam/build ] && [ ! -f "$BUILD_DIRECTORY/template.yaml" ]; then tests/build.sh; fi
exec python tests/local_invoke/engine.py -- python -m pytest tests/local_invoke -p no:cacheprovider "$@"
