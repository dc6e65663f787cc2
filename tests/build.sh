#!/usr/bin/env bash
# `sam build` of the functions for this machine, as the local stack and the samples run them. Builds take turns.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.local/venv-sam/bin:$PATH" SAM_CLI_TELEMETRY=0
case $(uname -m) in aarch64 | arm64) architecture=arm64 ;; *) architecture=x86_64 ;; esac
mkdir -p .local
echo "build: sam build (about five minutes the first time, seconds when nothing changed)" >&2
log=.local/build.log
if ! flock .local/build.lock sam build --config-env local \
    --parameter-overrides "ParameterKey=Architecture,ParameterValue=$architecture" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    exit 1
fi
