#!/usr/bin/env bash
# `make test`: every check of the project, in order, with the time each takes. Stops at the first that fails.
#
#   tests/run.sh                  everything
#   tests/run.sh rust template    some of: rust template stack end-to-end storefront local-invoke rig
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export SAM_CLI_TELEMETRY=0 PYTHONDONTWRITEBYTECODE=1
python=.local/venv-stack/bin/python
times=()

step() { # name, command...
    local name=$1 began=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    "$@"
    times+=("$(printf '%5d s  %s' $((SECONDS - began)) "$name")")
}

rust() {
    step "cargo fmt" cargo fmt --all --check
    step "cargo clippy" cargo clippy --workspace --all-targets --quiet -- -D warnings
    # The ledger and the routes run one conformance suite in memory and on DynamoDB in the emulator.
    step "cargo test" "$python" tests/stack emulator cargo test --workspace --quiet
    step "signature vectors" cargo run -q -p sanity --example verify -- functions/sanity/tests/vectors/sanity-signature.json
}
template() { step "template: built, linted, mutated" tests/template/run.sh; }
stack() { step "local stack: Pipe, lake, stand-ins" "$python" -m pytest -p no:cacheprovider -q tests/stack/tests tests/rig/tests; }
end-to-end() { step "end to end on the deployed stack" "$python" -m pytest -p no:cacheprovider -q tests/end_to_end; }
storefront() {
    step "browser" tests/setup.sh browser
    step "a visitor of the storefront" "$python" -m pytest -p no:cacheprovider -q tests/storefront
}
rig() { step "rig: histories, load, kills" "$python" tests/rig --bounded; }
local-invoke() { step "samples through sam local invoke" tests/local_invoke/run.sh -q; }

began=$SECONDS
step "set-up" tests/setup.sh
all=(rust template stack end-to-end storefront local-invoke rig)
for part in "${@:-${all[@]}}"; do
    case $part in
    rust | stack) ;;
    *) [ -n "${built:-}" ] || { step "sam build" tests/build.sh && built=yes; } ;;
    esac
    "$part"
done
printf '\nAll of it passed, in %d s:\n' $((SECONDS - began))
printf '%s\n' "${times[@]}"
