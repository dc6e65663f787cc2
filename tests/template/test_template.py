"""The built template is sound, and is the one of this source."""

import copy
import json
import os
from pathlib import Path

import checks
from conftest import PROJECT
from contract import ENVIRONMENT, METRICS
from model import load

GOLDEN = Path(__file__).parent / "golden/outbox_pipe.json"


def test_no_check_finds_a_problem(template):
    assert checks.problems(template) == {}


def test_the_pipe_is_as_recorded(template):
    """Nothing about the Pipe changes by accident. To record a change: RECORD=1 tests/template/run.sh"""
    found = copy.deepcopy(template.properties("OutboxPipe"))
    for each in found["SourceParameters"]["FilterCriteria"]["Filters"]:
        each["Pattern"] = json.loads(each["Pattern"])
    if os.environ.get("RECORD"):
        GOLDEN.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_the_built_template_is_of_this_source(built):
    """A build left over from an older template would be tested, and deployed, without a word."""
    source = load(PROJECT / "template.yaml")
    built = copy.deepcopy(built)
    for template in (source, built):
        for resource in template["Resources"].values():
            resource.get("Metadata", {}).pop("SamResourceId", None)
            if not resource.get("Metadata"):
                resource.pop("Metadata", None)
            resource.get("Properties", {}).pop("CodeUri", None)
    assert built == source


def _code_of(crate):
    folder = PROJECT / "functions" / crate
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("src/**/*.rs")))


def test_every_variable_is_read_by_its_function():
    """The contract lists what the code asks its environment for, no more. Some of it is read by a library, for several."""
    shared = "".join(_code_of(library) for library in ("ledger", "platform", "sanity"))
    for name, variables in ENVIRONMENT.items():
        code = _code_of(name.removesuffix("Function").lower()) + shared
        assert [each for each in variables if f'"{each}"' not in code] == [], name


def test_every_metric_is_written():
    """An alarm or a chart on a metric that nobody writes shows nothing, for ever."""
    code = "".join(
        path.read_text(encoding="utf-8") for path in sorted((PROJECT / "functions").rglob("src/**/*.rs"))
    )
    assert sorted(each for each in METRICS if f'"{each}"' not in code) == []


def test_every_function_was_built(built, built_path):
    """Lambda starts the file bootstrap; a Linux program begins with ELF."""
    for name, resource in built["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function":
            bootstrap = built_path.parent / resource["Properties"]["CodeUri"] / "bootstrap"
            assert bootstrap.read_bytes()[:4] == b"\x7fELF", name
            assert os.access(bootstrap, os.X_OK), name


def test_no_fault_point_was_built(built, built_path):
    """They end the process where a variable says so; only tests of crashes ask for them (feature fault-points)."""
    for name, resource in built["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function":
            bootstrap = built_path.parent / resource["Properties"]["CodeUri"] / "bootstrap"
            assert b"FAULT_POINT" not in bootstrap.read_bytes(), name
