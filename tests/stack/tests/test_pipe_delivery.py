"""Retry, bisect, record age and dead letters, with a queue that fails as told and a clock that stands still."""

import copy
import dataclasses
from datetime import UTC, datetime

import pytest
from stack.pipe.definition import read
from stack.pipe.delivery import Delivery, SendFailed
from stack.places import ACCOUNT, REGION

NOW = datetime(2026, 11, 30, 12, 5, tzinfo=UTC)


class Queues:
    """Fails a message while its deduplication id is in `bad`, the whole call while `down` is above zero."""

    def __init__(self, bad=(), down=0, whole=False):
        self.bad, self.down, self.whole = set(bad), down, whole
        self.sent, self.dead, self.calls = [], [], []

    def send(self, messages):
        ids = [message.deduplication for message in messages]
        self.calls.append(ids)
        if self.down:
            self.down -= 1
            raise SendFailed("down")
        if self.whole and self.bad & set(ids):
            raise SendFailed("InvalidParameterValue")
        self.sent += [one for one in ids if one not in self.bad]
        return {position: "bad" for position, one in enumerate(ids) if one in self.bad}

    def dead_letter(self, body):
        self.dead.append(body)


@pytest.fixture
def deliver(golden):
    def run(queues, records, **properties):
        definition = dataclasses.replace(read(golden("pipe"), REGION, ACCOUNT), **properties)
        waits, log = [], []
        delivery = Delivery(
            definition,
            queues,
            lambda: NOW,
            waits.append,
            lambda action, **fields: log.append((action, fields)),
        )
        delivery.deliver(records, "shard")
        return waits, log

    return run


@pytest.fixture
def records(golden):
    template = golden("messages")[0]["record"]

    def make(count, **image):
        made = []
        for number in range(count):
            record = copy.deepcopy(template)
            record["dynamodb"]["SequenceNumber"] = f"{number:021d}"
            record["dynamodb"]["ApproximateCreationDateTime"] = NOW.timestamp() - 10
            record["dynamodb"]["NewImage"]["message_deduplication_id"]["S"] = f"e{number}"
            record["dynamodb"]["NewImage"] |= {key: {"S": value} for key, value in image.items()}
            made.append(record)
        return made

    return make


def test_batches_of_ten_in_order(deliver, records):
    queues = Queues()
    deliver(queues, records(23))
    assert [len(call) for call in queues.calls] == [10, 10, 3]
    assert queues.sent == [f"e{number}" for number in range(23)]


def test_filtered_records_are_neither_sent_nor_waited_for(deliver, records):
    queues = Queues()
    dropped = records(1, status="SENT")
    waits, log = deliver(queues, dropped + records(2))
    assert queues.calls == [["e0", "e1"]]
    assert [action for action, _ in log] == ["filtered", "forwarded", "forwarded"]
    assert waits == []


def test_a_target_that_is_down_for_a_moment_loses_nothing(deliver, records):
    queues = Queues(down=2)
    waits, _ = deliver(queues, records(1))
    assert queues.sent == ["e0"]
    assert len(waits) == 2


def test_only_the_remainder_of_a_partial_batch_is_sent_again(deliver, records):
    queues = Queues(bad={"e1"})
    deliver(queues, records(3), retry_attempts=2)
    assert queues.calls[0] == ["e0", "e1", "e2"]
    assert queues.calls[1:] == [["e1"]] * 2
    assert sorted(queues.sent) == ["e0", "e2"]


def test_bisect_finds_the_poison_and_sends_the_others(deliver, records):
    queues = Queues(bad={"e5"}, whole=True)
    deliver(queues, records(8), retry_attempts=5)
    assert sorted(queues.sent) == [f"e{number}" for number in range(8) if number != 5]
    assert len(queues.dead) == 1
    assert queues.dead[0]["DDBStreamBatchInfo"]["startSequenceNumber"] == f"{5:021d}"
    assert queues.dead[0]["context"]["condition"] == "RetryAttemptsExhausted"


def test_without_bisect_the_whole_batch_dies(deliver, records):
    queues = Queues(bad={"e1"}, whole=True)
    deliver(queues, records(3), bisect=False, retry_attempts=2)
    assert queues.sent == []
    assert len(queues.calls) == 3, "the first attempt and two retries"
    assert queues.dead[0]["DDBStreamBatchInfo"]["batchSize"] == 3


def test_a_record_that_cannot_be_shaped_dies_alone(deliver, records):
    queues = Queues()
    poison = records(1, message_group_id="landing page")
    deliver(queues, poison + records(2)[1:], retry_attempts=2)
    assert queues.sent == ["e1"]
    assert len(queues.dead) == 1


def test_unlimited_retries_end_by_record_age_only(golden, records):
    definition = dataclasses.replace(
        read(golden("pipe"), REGION, ACCOUNT), retry_attempts=-1, record_age_seconds=60
    )
    now = [NOW.timestamp()]
    queues = Queues(bad={"e0"})

    def pause(_):
        now[0] += 10

    Delivery(
        definition, queues, lambda: datetime.fromtimestamp(now[0], UTC), pause, lambda *_, **__: None
    ).deliver(records(1), "shard")
    assert queues.dead[0]["context"]["condition"] == "RecordAgeExceeded"
    assert len(queues.calls) == 6


def test_old_records_are_not_sent_at_all(deliver, records):
    queues = Queues()
    old = records(2)
    old[0]["dynamodb"]["ApproximateCreationDateTime"] = NOW.timestamp() - 3601
    _, log = deliver(queues, old)
    assert queues.sent == ["e1"]
    assert ("dead", "RecordAgeExceeded") in [(action, fields.get("condition")) for action, fields in log]


def test_without_a_dead_letter_queue_the_record_is_gone(deliver, records):
    queues = Queues(bad={"e0"})
    deliver(queues, records(1), dead_letter=None, retry_attempts=0)
    assert (queues.sent, queues.dead) == ([], [])


def test_the_log_names_ids_and_no_content(deliver, records):
    _, log = deliver(Queues(), records(1, title="secret title"))
    assert "secret title" not in str([fields | {"body": None} for _, fields in log])
    assert log[0][1]["deduplication"] == "e0"
