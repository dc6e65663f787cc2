"""REPORTS.md names tests and mutations that exist."""

import re

from stack.places import ROOT

REPORTS = (ROOT / "tests" / "REPORTS.md").read_text(encoding="utf-8")
SOURCES = [
    path
    for folder in ("functions", "tests")
    for pattern in ("*.rs", "*.py")
    for path in (ROOT / folder).rglob(pattern)
    if "target" not in path.parts and "node_modules" not in path.parts
]
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
TESTS = set(re.findall(r"\b(?:fn|def) ([a-z][a-z0-9_]+)\(", TEXT)) | set(
    re.findall(r"^ +(law_[a-z0-9_]+),$", TEXT, re.M)
)


def test_every_test_named_exists():
    named = set(re.findall(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)`", REPORTS)) - {"serde_dynamo"}
    assert len(named) > 50
    assert named <= TESTS, named - TESTS


def test_every_mutation_named_exists():
    named = set(re.findall(r"[^*]\*([a-z][^*]+)\*", REPORTS)) - {"italics"}
    assert named and all(f'"{name}"' in TEXT for name in named), named
