#!/usr/bin/env bash
# Every sample of events/ through `sam local invoke`, with its expected answer.
#
#   tests/local_invoke/run.sh                     all of them
#   tests/local_invoke/run.sh -k late-event       one (and what it builds upon); any other option of pytest works too
#
# The functions are those in .aws-sam/build, built when they are missing (or those in BUILD_DIRECTORY, when that is set). The
# container engine is the one that runs, or one of our own for the length of this run: see engine.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tests/setup.sh
export SAM_CLI_TELEMETRY=0 PYTHONDONTWRITEBYTECODE=1 PATH="$PWD/.local/venv-sam/bin:$PATH"
if [ -z "${BUILD_DIRECTORY:-}" ]; then
    export BUILD_DIRECTORY=.local/local-invoke/build
    # Links to a build's files: the next build, of whoever else works here, empties its folder and leaves these alone.
    (
        flock 9
        [ -f .aws-sam/build/template.yaml ] || BUILD_LOCKED=1 tests/build.sh
        rm -rf "$BUILD_DIRECTORY"
        mkdir -p "$(dirname "$BUILD_DIRECTORY")"
        cp -al .aws-sam/build "$BUILD_DIRECTORY"
    ) 9>.local/build.lock
fi
exec python tests/local_invoke/engine.py -- python -m pytest tests/local_invoke -p no:cacheprovider "$@"
