"""What the rig runs, built: the simulation, the functions with their fault points, and the fuzzer."""

import io
import os
import platform
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from stack.places import LOCAL, ROOT

PROGRAMS = LOCAL / "rig" / "programs"
OPTIMIZED = "rig"
"""The Cargo profile of what runs for long."""
WITH_FAULT_POINTS = {
    "WebhookFunction": "webhook",
    "ConsumerFunction": "consumer",
    "RelayFunction": "relay",
}
# What libFuzzer needs to see where an input leads, for the crates of this workspace only: the dependencies are those of every
# other build, and no nightly compiler is needed.
COVERAGE = [
    "passes=sancov-module",
    "llvm-args=-sanitizer-coverage-level=4",
    "llvm-args=-sanitizer-coverage-inline-8bit-counters",
    "llvm-args=-sanitizer-coverage-pc-table",
    "llvm-args=-sanitizer-coverage-trace-compares",
]


class BuildFailed(RuntimeError):
    """Cargo ended with an error, and has said why."""


def simulation() -> Path:
    """The program `simulate`, optimized."""
    _run("simulate", _optimized("simulate"))
    return ROOT / "target" / OPTIMIZED / "simulate"


def tested_simulation() -> Path:
    """The program `simulate` as `cargo test` has built it for its own tests: slower, and there when they have run."""
    _run("simulate", ["cargo", "test", "--quiet", "--workspace", "--no-run"])
    return ROOT / "target" / "debug" / "simulate"


def functions() -> dict[str, bytes]:
    """The functions that can be told where to die, as Lambda takes them, by logical id. Each is built by itself, as sam builds it,
    so that its dependencies are there already."""
    for crate in WITH_FAULT_POINTS.values():
        command = ["tests/build.sh", "cargo", "--lambda-dir", str(PROGRAMS), "--package", crate, "--bin", crate]
        _run(crate, [*command, "--features", "fault-points"])
    return {name: _zipped(PROGRAMS / crate / "bootstrap") for name, crate in WITH_FAULT_POINTS.items()}


def fuzzer() -> Path:
    """libFuzzer with all targets, optimized."""
    wrapper = Path(__file__).resolve().parent / "instrumented.sh"
    flags = " ".join(f"-C{flag}" for flag in COVERAGE)
    _run("fuzz", _optimized("fuzz"), RUSTC_WORKSPACE_WRAPPER=str(wrapper), INSTRUMENTATION=flags)
    return ROOT / "target" / OPTIMIZED / "fuzz"


def _optimized(program: str) -> list[str]:
    """Both packages are always named, whichever is built: so both have the same features of the same dependencies."""
    packages = ["--package", "simulation", "--package", "fuzz", "--features", "fuzz/libfuzzer"]
    return ["cargo", "build", "--quiet", "--profile", OPTIMIZED, *packages, "--bin", program]


def _run(what: str, command: list[str], **environment: str) -> None:
    began = time.monotonic()
    if subprocess.run(command, check=False, cwd=ROOT, env=os.environ | environment).returncode != 0:
        raise BuildFailed(f"{what} could not be built")
    if (seconds := time.monotonic() - began) > 5:
        print(f"rig: {what} built in {seconds:.0f} s", file=sys.stderr, flush=True)


def _zipped(program: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        entry = zipfile.ZipInfo("bootstrap")
        entry.external_attr = 0o755 << 16
        archive.writestr(entry, program.read_bytes())
    return packed.getvalue()


def machine() -> str:
    """Where the figures come from."""
    cores = len(os.sched_getaffinity(0))
    return f"{platform.system()} {platform.machine()}, {cores} cores"
