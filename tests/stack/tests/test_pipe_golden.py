"""The contract's Pipe on golden records: what passes, what is sent, what lands in the dead-letter queue."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from stack.pipe.definition import read
from stack.pipe.delivery import RecordRefused, dead_letter_body, message_of
from stack.places import ACCOUNT, REGION

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def cases(name):
    return [pytest.param(case, id=case["name"]) for case in json.loads((GOLDEN / f"{name}.json").read_text())]


@pytest.fixture(scope="module")
def pipe(golden):
    return read(golden("pipe"), REGION, ACCOUNT)


@pytest.mark.parametrize("case", cases("filter"))
def test_filter(pipe, case):
    assert any(pattern.matches(case["record"]) for pattern in pipe.patterns) is case["forwarded"], case["why"]


@pytest.mark.parametrize("case", cases("messages"))
def test_message(pipe, case):
    if "refused" in case:
        with pytest.raises(RecordRefused, match=case["refused"].replace("+", r"\+")):
            message_of(pipe, case["record"])
        return
    message = message_of(pipe, case["record"])
    assert message.body == case["body"]
    assert (message.group, message.deduplication) == (case["group"], case["deduplication"])


def test_dead_letter_body(pipe, golden):
    case = golden("dead_letter")
    body = dead_letter_body(
        pipe, case["records"], case["shard"], case["condition"], datetime.fromisoformat(case["now"])
    )
    assert body == case["body"]
    assert "NewImage" not in json.dumps(body), "AWS sends no payload there"
