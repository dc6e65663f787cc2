#!/bin/sh
# Cargo calls this instead of rustc for the crates of the workspace: see build.py.
compiler=$1
shift
# shellcheck disable=SC2086 # several flags in one variable
exec "$compiler" "$@" $INSTRUMENTATION
