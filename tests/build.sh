#!/usr/bin/env bash
# The functions, built for this machine.
#
#   tests/build.sh                       sam build, as the local stack, the samples and the template's tests use it
#   tests/build.sh cargo <arguments>     cargo lambda build of something else, sharing what sam build has compiled
#
# The same sources, template and build method as for AWS, but without link-time optimization, which takes most of a release
# build and changes nothing that is tested here: `sam build --config-env prod` has it.
#
# Builds of sam take turns: they share one folder, which each empties first. BUILD_LOCKED=1 says that the caller has the turn.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.local/venv-sam/bin:$PATH" SAM_CLI_TELEMETRY=0
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1
case $(uname -m) in aarch64 | arm64) architecture=arm64 ;; *) architecture=x86_64 ;; esac
if [ "${1:-}" = cargo ]; then
    shift
    [ $architecture = x86_64 ] || set -- --arm64 "$@"
    # sam build names this folder too; the fingerprint of a build script depends on it.
    CARGO_TARGET_DIR="$PWD/target" exec cargo lambda build --release --quiet "$@"
fi
mkdir -p .local
log=.local/build.log
build=(sam build --config-env local --parameter-overrides "ParameterKey=Architecture,ParameterValue=$architecture")
[ -n "${BUILD_LOCKED:-}" ] || build=(flock .local/build.lock "${build[@]}")
[ -d .aws-sam/build ] || echo "build: sam build (some minutes the first time, seconds when nothing changed)" >&2
if ! "${build[@]}" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    exit 1
fi
