"""What the queue and the Pipe give up: each event is marked, told once, and its message stays until the event is settled."""

import json
import uuid
from datetime import UTC, datetime

import pytest
from driving import relay_until
from stack.stack import schedule_event
from stack.waiting import wait_until

QUEUE, PIPE = "RevalidateDeadLetterQueue", "PipeDeadLetterQueue"


class Inbox:
    """What subscribers of the alarm topic are told."""

    def __init__(self, stack):
        self._sqs, self._sns = stack.aws.client("sqs"), stack.aws.client("sns")
        self._url = self._sqs.create_queue(QueueName=f"inbox-{uuid.uuid4().hex}")["QueueUrl"]
        arn = self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        topic = stack.deployment.ids["AlarmTopic"]
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": topic}},
        }
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self._sqs.set_queue_attributes(QueueUrl=self._url, Attributes={"Policy": policy})
        self._subscription = self._sns.subscribe(
            TopicArn=topic, Protocol="sqs", Endpoint=arn, ReturnSubscriptionArn=True
        )["SubscriptionArn"]
        self.told: list[dict] = []

    def read(self):
        """All notices so far."""
        while messages := self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                self.told.append(json.loads(message["Body"]))
                self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])
        return self.told

    def about(self, text):
        """The notices that mention something."""
        return [notice for notice in self.read() if text in notice["Message"]]

    def close(self):
        """Nobody is told any more."""
        self._sns.unsubscribe(SubscriptionArn=self._subscription)
        self._sqs.delete_queue(QueueUrl=self._url)


@pytest.fixture
def inbox(stack):
    """A subscriber, and two dead-letter queues that other tests have left nothing in."""
    for queue in (QUEUE, PIPE):
        stack.aws.client("sqs").purge_queue(QueueUrl=stack.queues.url(queue))
    inbox = Inbox(stack)
    yield inbox
    inbox.close()


def look(stack):
    """One run of the dead letters' schedule."""
    return stack.functions.invoke("DeadLettersFunction", schedule_event())


def to_the_pipes_queue(stack, body):
    """A message as the Pipe, or somebody else, puts it there."""
    stack.aws.client("sqs").send_message(QueueUrl=stack.queues.url(PIPE), MessageBody=body)


def test_an_event_whose_message_is_given_up_fails_is_told_once_and_leaves_when_it_is_settled(stack, name, inbox):
    stack.queues.set("RevalidateQueue", VisibilityTimeout=1)
    try:
        # Without its ledger a consumer cannot even put an event off.
        with stack.functions.denied("ConsumerFunction", "dynamodb:GetItem"):
            edit = stack.edit(name, "page", f"/{name}")
            wait_until(lambda: stack.queues.total(QUEUE) == 1, 60, "its message is given up")
    finally:
        stack.queues.set("RevalidateQueue", VisibilityTimeout=360)
    first = look(stack)
    assert (first["failed"], first["told"], first["faults"]) == (1, 1, 0), first
    item = stack.ledger.item(edit.event_id)
    assert item["state"] == "failed" and "status" not in item and "next_attempt" not in item
    receives = int("".join(filter(str.isdigit, item["reason"].split(" receives")[0])))
    assert receives >= 3, item["reason"]
    again = look(stack)
    assert (again["failed"], again["told"]) == (0, 0), again
    assert stack.queues.total(QUEUE) == 1, "it stays while the event is not settled"
    (notice,) = inbox.about(edit.event_id)
    for said in (name, "page", "reprocess", item["received_at"]):
        assert said in notice["Message"], said
    request = {"verb": "reprocess", "event_id": edit.event_id, "requester": "somebody", "reason": "mended"}
    stack.functions.invoke("OperatorFunction", request | {"dry_run": False})
    stack.wait_state(edit)
    last = look(stack)
    assert (last["settled"], last["told"]) == (1, 0), last
    assert stack.queues.total(QUEUE) == 0


def test_a_foreign_message_is_told_once_and_kept(stack, name, inbox):
    stack.queues.set("RevalidateQueue", VisibilityTimeout=1)
    try:
        message_id = stack.queues.send("this is no wake-up", group=f"foreign-{name}")
        wait_until(lambda: stack.queues.total(QUEUE) == 1, 60, "it is given up")
    finally:
        stack.queues.set("RevalidateQueue", VisibilityTimeout=360)
    assert [look(stack)["told"] for _ in range(2)] == [1, 0]
    assert len(inbox.read()) == 1 and message_id in inbox.told[0]["Message"]
    assert stack.queues.total(QUEUE) == 1


def test_the_pipes_message_has_no_payload_and_stays_while_what_it_stands_for_is_ready(stack, name, inbox):
    stack.pause_pipe()
    try:
        edit = stack.edit(name, "page", f"/{name}")
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        batch = {"shardId": "shard", "approximateArrivalOfLastRecord": now, "batchSize": 1}
        to_the_pipes_queue(
            stack, json.dumps({"context": {"condition": "RetryAttemptsExhausted"}, "DDBStreamBatchInfo": batch})
        )
        assert [look(stack)["told"] for _ in range(2)] == [1, 0]
        assert stack.queues.total(PIPE) == 1
        relay_until(stack, lambda: stack.state(edit.event_id) == "applied", 60, "the relay sends what it stands for")
    finally:
        stack.resume_pipe()

    def gone():
        look(stack)
        return stack.queues.total(PIPE) == 0

    relay_until(stack, gone, 60, "its message leaves when all of it is settled")
    (notice,) = inbox.about("RetryAttemptsExhausted")
    assert notice["Subject"].endswith("the Pipe gave up records")


def test_a_new_pipes_probe_leaves_without_a_word(stack, inbox):
    for body in ("test", "{}", '{"requestContext":{}}'):
        to_the_pipes_queue(stack, body)
    assert look(stack)["told"] == 0
    assert stack.queues.total(PIPE) == 0
    assert inbox.read() == []
