"""What the rig runs, built by cargo with one profile and one set of dependencies: the simulation, the functions with their
fault points, and the fuzzer."""

import io
import os
import platform
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from stack.places import ROOT

PROFILE = "rig"
TARGET = ROOT / "target" / PROFILE
WITH_FAULT_POINTS = {
    "WebhookFunction": "webhook",
    "ConsumerFunction": "consumer",
    "RelayFunction": "relay",
    "ReconcileFunction": "reconcile",
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
    """The program `simulate`."""
    _cargo("simulate")
    return TARGET / "simulate"


def functions() -> dict[str, bytes]:
    """The functions that can be told where to die, as Lambda takes them, by logical id."""
    _cargo(*WITH_FAULT_POINTS.values())
    return {name: _zipped(TARGET / crate) for name, crate in WITH_FAULT_POINTS.items()}


def fuzzer() -> Path:
    """libFuzzer with all targets."""
    wrapper = Path(__file__).resolve().parent / "instrumented.sh"
    flags = " ".join(f"-C{flag}" for flag in COVERAGE)
    _cargo("fuzz", environment={"RUSTC_WORKSPACE_WRAPPER": str(wrapper), "INSTRUMENTATION": flags})
    return TARGET / "fuzz"


def _cargo(*programs: str, environment: dict[str, str] | None = None) -> None:
    """Builds programs. All packages of the rig are always named, whatever is built of them: so each build has the same features
    and the same dependencies."""
    began = time.monotonic()
    packages = ["simulation", "fuzz", *WITH_FAULT_POINTS.values()]
    features = ["fuzz/libfuzzer", *(f"{crate}/fault-points" for crate in WITH_FAULT_POINTS.values())]
    command = [
        *("cargo", "build", "--quiet", "--profile", PROFILE, "--features", ",".join(features)),
        *(part for package in packages for part in ("--package", package)),
        *(part for program in programs for part in ("--bin", program)),
    ]
    if subprocess.run(command, check=False, cwd=ROOT, env=os.environ | (environment or {})).returncode != 0:
        raise BuildFailed(f"cargo could not build {', '.join(programs)}")
    if (seconds := time.monotonic() - began) > 5:
        print(f"rig: {', '.join(programs)} built in {seconds:.0f} s", file=sys.stderr, flush=True)


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
