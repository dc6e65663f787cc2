#!/usr/bin/env bash
# `sam build` of the functions for this machine, as the local stack, the samples and the template's tests use them.
#
# The same sources, template and build method as for AWS, but without link-time optimization, which takes most of a release
# build and changes nothing that is tested here: `sam build --config-env prod` has it.
#
# Builds take turns: they share one folder, which each empties first. BUILD_LOCKED=1 says that the caller has the turn.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.local/venv-sam/bin:$PATH" SAM_CLI_TELEMETRY=0
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1
case $(uname -m) in aarch64 | arm64) architecture=arm64 ;; *) architecture=x86_64 ;; esac
mkdir -p .local
log=.local/build.log
build=(sam build --config-env local --parameter-overrides "ParameterKey=Architecture,ParameterValue=$architecture")
[ -n "${BUILD_LOCKED:-}" ] || build=(flock .local/build.lock "${build[@]}")
[ -d .aws-sam/build ] || echo "build: sam build (some minutes the first time, seconds when nothing changed)" >&2
if ! "${build[@]}" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    exit 1
fi
