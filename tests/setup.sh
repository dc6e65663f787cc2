#!/usr/bin/env bash
# Installs the tools that building and testing need, into .local/ beside the project and nowhere else.
#
#   tests/setup.sh          everything
#   tests/setup.sh sam      .local/venv-sam: SAM CLI, cargo-lambda, zig, cfn-lint, pytest
#   tests/setup.sh stack    .local/venv-stack: the AWS emulator and what drives it
#   tests/setup.sh node     the node_modules of the local stack and of the storefront
#   tests/setup.sh browser  the one thing that is not in .local/, and only the storefront's test needs: Debian's Chromium
#
# `everything` is without the browser. Each part remembers what it was made from; when that has not changed, it does nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
project=$PWD

say() { printf 'setup: %s\n' "$*" >&2; }
stop() {
    say "$1"
    shift
    for line in "$@"; do printf '       %s\n' "$line" >&2; done
    exit 1
}

check_host() {
    [ "$(uname -s)" = Linux ] || stop "this host is $(uname -s); the local stack runs only on Linux." \
        "The functions are built for Linux and started natively by the emulator, so use a Linux machine," \
        "virtual machine or container (x86_64 or arm64) with Python 3.11 or later, Node 20 or later and Rust." \
        "Deploying to AWS with sam build and sam deploy works from any host that has the SAM CLI and cargo-lambda."
    command -v python3 >/dev/null || stop "python3 is missing." "Debian, Ubuntu: apt-get install python3 python3-venv"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        stop "python3 is $(python3 -V 2>&1 | cut -d' ' -f2); 3.11 or later is needed."
    python3 -c 'import venv, ensurepip' 2>/dev/null ||
        stop "python3 cannot make virtual environments." "Debian, Ubuntu: apt-get install python3-venv"
    command -v cargo >/dev/null || stop "cargo is missing." "Install Rust 1.92 or later: https://rustup.rs"
    command -v node >/dev/null && command -v npm >/dev/null || stop "node or npm is missing; Node 20 or later is needed."
    [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] ||
        stop "node is $(node --version); 20 or later is needed."
}

# The same stamp means the same inputs at the same place: virtual environments hold absolute paths.
stamp_of() { { printf '%s\n' "$project" "$1"; cat "${@:2}"; } | sha256sum | cut -d' ' -f1; }

virtual_environment() { # name, requirements file
    local home=.local/venv-$1 stamp
    stamp=$(stamp_of "$(python3 -V)" "$2")
    if [ "$(cat "$home/.stamp" 2>/dev/null)" = "$stamp" ]; then return; fi
    say "making $home from $2 (up to two minutes with an empty download cache)"
    rm -rf "$home"
    python3 -m venv "$home"
    "$home/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$2"
    echo "$stamp" >"$home/.stamp"
}

node_modules() { # folder with a package-lock.json
    local stamp
    [ -f "$1/package-lock.json" ] || return 0
    stamp=$(stamp_of "$(node --version)" "$1/package-lock.json")
    if [ "$(cat "$1/node_modules/.stamp" 2>/dev/null)" = "$stamp" ]; then return; fi
    say "installing $1/node_modules from its package-lock.json"
    (cd "$1" && npm ci --no-audit --no-fund --loglevel=error)
    echo "$stamp" >"$1/node_modules/.stamp"
}

# Chromium and its driver come from one source package, so they always fit each other.
browser() {
    if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then return; fi
    if [ "$(id -u)" != 0 ] || [ ! -f /etc/debian_version ]; then
        stop "chromium or chromedriver is missing; the storefront's browser test needs both, nothing else does." \
            "Debian: sudo apt-get install chromium chromium-driver" \
            "Elsewhere: both of one version, on the PATH under these names."
    fi
    say "installing Debian's chromium and chromium-driver with apt-get"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        chromium chromium-driver fonts-dejavu-core >/dev/null
}

part=${1:-all}
case $part in
all | sam | stack | node | browser) ;;
*) stop "unknown part '$part'; use all, sam, stack, node or browser." ;;
esac
check_host
mkdir -p .local
# Two runs at once would tread on each other; the second waits and then finds the work done.
exec 9>.local/setup.lock
flock 9
if [ "$part" = all ] || [ "$part" = sam ]; then virtual_environment sam tests/requirements-sam.txt; fi
if [ "$part" = all ] || [ "$part" = stack ]; then virtual_environment stack tests/requirements-stack.txt; fi
if [ "$part" = all ] || [ "$part" = node ]; then node_modules tests/stack; node_modules tests/storefront; fi
if [ "$part" = browser ]; then browser; fi
say "ready"
