"""Finds the built template: TEMPLATE, or .aws-sam/build/template.yaml of this project."""

import os
from pathlib import Path

import pytest

from model import Template, load

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def built_path():
    path = Path(os.environ.get("TEMPLATE", PROJECT / ".aws-sam/build/template.yaml"))
    if not path.is_file():
        pytest.exit(f"{path} does not exist; run tests/template/run.sh, or sam build", returncode=1)
    return path


@pytest.fixture(scope="session")
def built(built_path):
    """The built template as it was read; a test that changes it works on a copy."""
    return load(built_path)


@pytest.fixture(scope="session")
def template(built):
    return Template(built)


def pytest_terminal_summary(terminalreporter):
    """The table of mutations and of the check that caught each."""
    rows = [
        value
        for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
        for key, value in report.user_properties
        if key == "mutation"
    ]
    if rows:
        width = max(len(name) for name, _ in rows)
        terminalreporter.section("mutations of the template")
        for name, caught in rows:
            terminalreporter.write_line(f"{name:<{width}}  {caught}")
        caught = sum(1 for _, by in rows if by.startswith("caught by"))
        terminalreporter.write_line(f"{caught} of {len(rows)} caught")
