"""What the functions need around them: an emulator with the template's own tables, queue, secrets and Pipe.

Only these resources are made, with the properties that the built template gives them; the whole stack is deployed and
tested elsewhere (tests/stack). Names are fixed and reach the functions through `--env-vars`.
"""

from pathlib import Path

import yaml
from boto3.dynamodb.types import TypeDeserializer

TABLES = ["EventsTable", "OutboxTable", "RoutesTable"]
QUEUE = "RevalidateQueue"
QUEUE_LETTERS, PIPE_LETTERS = "RevalidateDeadLetterQueue", "PipeDeadLetterQueue"
TABLE_PROPERTIES = [
    "AttributeDefinitions", "KeySchema", "BillingMode", "GlobalSecondaryIndexes", "LocalSecondaryIndexes",
]
PIPE = "local-invoke-outbox"


class _Loader(yaml.SafeLoader):
    """Reads a template, leaving short intrinsics (`!Ref X`) as {"Ref": "X"}."""


def _intrinsic(loader, suffix, node):
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    return {name: loader.construct_mapping(node, deep=True)}


_Loader.add_multi_constructor("!", _intrinsic)


def read_template(path: Path) -> dict:
    """A template as plain data."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)


class Surroundings:
    """Makes the resources on construction; they end with the emulator."""

    def __init__(self, aws, template: dict):
        resources = template["Resources"]
        self.aws = aws
        self.tables = {name: f"local-invoke-{name}" for name in TABLES}
        for logical_id, name in self.tables.items():
            self._make_table(name, resources[logical_id]["Properties"])
        self.queue_url = self._make_queue("revalidate", resources[QUEUE]["Properties"])
        self.queue_letters_url = self._make_queue("letters", resources[QUEUE_LETTERS]["Properties"])
        self.pipe_letters_url = self._make_queue("pipe-letters", resources[PIPE_LETTERS]["Properties"])
        self.topic = aws.client("sns").create_topic(Name="local-invoke-alarms")["TopicArn"]
        secrets = aws.client("secretsmanager")
        self.webhook_secret = secrets.create_secret(Name="local-invoke-webhook", SecretString="unused")["ARN"]
        self.targets_secret = secrets.create_secret(Name="local-invoke-targets", SecretString="{}")["ARN"]
        self._make_pipe()

    def _make_table(self, name, properties):
        stream = properties.get("StreamSpecification")
        self.aws.client("dynamodb").create_table(
            TableName=name,
            **{key: properties[key] for key in TABLE_PROPERTIES if key in properties},
            **({"StreamSpecification": {"StreamEnabled": True, **stream}} if stream else {}),
        )

    def _make_queue(self, name, properties):
        attributes = {key: "true" for key in ("FifoQueue",) if properties.get(key)}
        name = f"local-invoke-{name}" + (".fifo" if attributes else "")
        return self.aws.client("sqs").create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]

    def give_up(self, wake: str, probe: str):
        """Puts a wake-up into the queue's dead letters, and a probe into the Pipe's."""
        sqs = self.aws.client("sqs")
        sqs.send_message(
            QueueUrl=self.queue_letters_url, MessageBody=wake, MessageGroupId="group", MessageDeduplicationId="letter"
        )
        sqs.send_message(QueueUrl=self.pipe_letters_url, MessageBody=probe)

    def _make_pipe(self):
        table = self.aws.client("dynamodb").describe_table(TableName=self.tables["OutboxTable"])["Table"]
        queue = self.aws.client("sqs").get_queue_attributes(QueueUrl=self.queue_url, AttributeNames=["QueueArn"])
        self.aws.client("pipes").create_pipe(
            Name=PIPE,
            RoleArn="arn:aws:iam::123456789012:role/local-invoke-pipe",
            Source=table["LatestStreamArn"],
            SourceParameters={"DynamoDBStreamParameters": {"StartingPosition": "TRIM_HORIZON"}},
            Target=queue["Attributes"]["QueueArn"],
        )

    def item(self, table, **key):
        """One item of a table, as plain values."""
        found = self.aws.client("dynamodb").get_item(
            TableName=self.tables[table], Key={name: {"S": value} for name, value in key.items()}, ConsistentRead=True
        ).get("Item")
        deserialize = TypeDeserializer().deserialize
        return {name: deserialize(value) for name, value in found.items()} if found else None

    def messages(self):
        """What the queue holds, taken from it: (group, deduplication id, body) of each message."""
        sqs, found = self.aws.client("sqs"), []
        while True:
            received = sqs.receive_message(
                QueueUrl=self.queue_url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
            ).get("Messages", [])
            if not received:
                return found
            for message in received:
                attributes = message["Attributes"]
                found.append((attributes["MessageGroupId"], attributes["MessageDeduplicationId"], message["Body"]))
                sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])

    def count(self, table):
        """How many items a table has."""
        pages = self.aws.client("dynamodb").get_paginator("scan").paginate(
            TableName=self.tables[table], Select="COUNT", ConsistentRead=True
        )
        return sum(page["Count"] for page in pages)
