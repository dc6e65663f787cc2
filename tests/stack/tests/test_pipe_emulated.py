"""The Pipe's process against the emulator: a stack with a table, two queues, a role and a Pipe, and nothing else."""

import json

import pytest
from stack.emulator import Emulator
from stack.pipe.deployed import deployed_pipe, physical_ids
from stack.pipe.running import RunningPipe
from stack.processes import ProcessFailed
from stack.waiting import wait_until

STACK = "pipe-test"
SECONDS = 20


def template(**changes):
    stream = {
        "BatchSize": 10,
        "StartingPosition": "TRIM_HORIZON",
        "MaximumRetryAttempts": 2,
        "MaximumRecordAgeInSeconds": 3600,
        "OnPartialBatchItemFailure": "AUTOMATIC_BISECT",
        "DeadLetterConfig": {"Arn": {"Fn::GetAtt": ["Dead", "Arn"]}},
    } | changes.get("stream", {})
    statements = [
        {
            "Effect": "Allow",
            "Action": changes.get("reads", ["dynamodb:*Stream*", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]),
            "Resource": {"Fn::GetAtt": ["Outbox", "StreamArn"]},
        },
        {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": changes.get("queues", [
            {"Fn::GetAtt": ["Queue", "Arn"]},
            {"Fn::GetAtt": ["Dead", "Arn"]},
        ])},
    ]  # fmt: skip
    return {
        "Parameters": {"Version": {"Type": "String", "Default": "v1"}},
        "Resources": {
            "Outbox": {
                "Type": "AWS::DynamoDB::Table",
                "Properties": {
                    "BillingMode": "PAY_PER_REQUEST",
                    "AttributeDefinitions": [
                        {"AttributeName": "pk", "AttributeType": "S"},
                        {"AttributeName": "sk", "AttributeType": "S"},
                    ],
                    "KeySchema": [
                        {"AttributeName": "pk", "KeyType": "HASH"},
                        {"AttributeName": "sk", "KeyType": "RANGE"},
                    ],
                    "StreamSpecification": {"StreamViewType": "NEW_IMAGE"},
                },
            },
            "Queue": {
                "Type": "AWS::SQS::Queue",
                "Properties": {"QueueName": {"Fn::Sub": "${AWS::StackName}.fifo"}, "FifoQueue": True},
            },
            "Dead": {"Type": "AWS::SQS::Queue"},
            "Role": {
                "Type": "AWS::IAM::Role",
                "Properties": {
                    "AssumeRolePolicyDocument": {
                        "Version": "2012-10-17",
                        "Statement": [
                            {
                                "Effect": "Allow",
                                "Principal": {"Service": changes.get("service", "pipes.amazonaws.com")},
                                "Action": "sts:AssumeRole",
                                "Condition": {
                                    "StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
                                },
                            }
                        ],
                    },
                    "Policies": [
                        {
                            "PolicyName": "pipe",
                            "PolicyDocument": {"Version": "2012-10-17", "Statement": statements},
                        }
                    ],
                },
            },
            "Pipe": {
                "Type": "AWS::Pipes::Pipe",
                "Properties": {
                    "Name": {"Fn::Sub": "${AWS::StackName}-${Version}"},
                    "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]},
                    "Source": {"Fn::GetAtt": ["Outbox", "StreamArn"]},
                    "SourceParameters": {
                        "DynamoDBStreamParameters": stream,
                        "FilterCriteria": {
                            "Filters": [
                                {
                                    "Pattern": json.dumps(
                                        {
                                            "eventName": ["INSERT"],
                                            "dynamodb": {"NewImage": {"status": {"S": ["READY"]}}},
                                        }
                                    )
                                }
                            ]
                        },
                    },
                    "Target": {"Fn::GetAtt": ["Queue", "Arn"]},
                    "TargetParameters": {
                        "SqsQueueParameters": {
                            "MessageGroupId": "$.dynamodb.NewImage.group.S",
                            "MessageDeduplicationId": "$.dynamodb.NewImage.sk.S",
                        },
                        "InputTemplate": '{"key":"<$.dynamodb.NewImage.sk.S>"}',
                    },
                },
            },
        },
    }


class Setting:
    """An emulator with the stack in it, and at most one Pipe."""

    def __init__(self, directory):
        self.directory = directory
        self.emulator = Emulator(directory)
        self.aws = self.emulator.aws
        self.pipe = None

    def deploy(self, **changes):
        client = self.aws.client("cloudformation")
        client.create_stack(
            StackName=STACK, TemplateBody=json.dumps(template(**changes)), Capabilities=["CAPABILITY_IAM"]
        )
        client.get_waiter("stack_create_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})
        self.ids = physical_ids(self.aws, STACK)

    def start(self):
        self.pipe = RunningPipe(self.emulator.endpoint, STACK, self.directory)

    def put(self, sk, **attributes):
        item = {"pk": "P", "sk": sk, "status": "READY", "group": "g"} | attributes
        self.aws.client("dynamodb").put_item(
            TableName=self.ids["Outbox"], Item={key: {"S": value} for key, value in item.items()}
        )

    def queued(self):
        attributes = ["ApproximateNumberOfMessages"]
        answer = self.aws.client("sqs").get_queue_attributes(
            QueueUrl=self.ids["Queue"], AttributeNames=attributes
        )
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])

    def receive(self, queue):
        answer = self.aws.client("sqs").receive_message(
            QueueUrl=self.ids[queue], MaxNumberOfMessages=10, AttributeNames=["All"]
        )
        return answer.get("Messages", [])

    def wait_forwarded(self, *keys):
        wait_until(
            lambda: {entry["sk"] for entry in self.pipe.log("forwarded")} >= set(keys),
            SECONDS,
            f"forwarded: {keys}",
            explain=self.pipe.log,
        )

    def stop(self):
        if self.pipe:
            self.pipe.stop()
        self.emulator.stop()


@pytest.fixture
def setting(tmp_path):
    made = Setting(tmp_path)
    yield made
    made.stop()


def test_what_was_written_before_and_after_the_start_is_forwarded(setting):
    setting.deploy()
    setting.put("before")
    setting.start()
    setting.put("after")
    setting.put("sent", status="SENT")
    setting.put("after", status="SENT")
    setting.wait_forwarded("before", "after")
    wait_until(lambda: len(setting.pipe.log("filtered")) == 2, SECONDS, "the others are dropped")
    messages = setting.receive("Queue")
    assert [json.loads(message["Body"]) for message in messages] == [{"key": "before"}, {"key": "after"}]
    assert {message["Attributes"]["MessageGroupId"] for message in messages} == {"g"}
    assert [message["Attributes"]["MessageDeduplicationId"] for message in messages] == ["before", "after"]
    assert setting.receive("Dead") == [], "the probe was taken out"


def test_a_stopped_pipe_waits_and_goes_on(setting):
    setting.deploy()
    setting.start()
    name = deployed_pipe(setting.aws, STACK).name
    setting.aws.client("pipes").stop_pipe(Name=name)
    wait_until(lambda: setting.pipe.log("paused"), SECONDS, "the Pipe sees that it is stopped")
    setting.put("meanwhile")
    assert setting.queued() == 0
    setting.aws.client("pipes").start_pipe(Name=name)
    setting.wait_forwarded("meanwhile")


def test_a_killed_pipe_begins_anew_and_the_queue_drops_what_it_has_seen(setting):
    setting.deploy()
    setting.start()
    setting.put("one")
    setting.wait_forwarded("one")
    setting.pipe.kill()
    setting.put("two")
    setting.pipe.log_file.unlink()
    setting.start()
    setting.wait_forwarded("one", "two")
    assert setting.queued() == 2, "sent three times in all, kept twice"


def test_the_role_decides_what_may_be_sent(setting):
    setting.deploy()
    setting.start()
    iam, role = setting.aws.client("iam"), setting.ids["Role"]
    statement = {"Effect": "Deny", "Action": "sqs:SendMessage", "Resource": "arn:aws:sqs:*:*:*.fifo"}
    deny = {"Version": "2012-10-17", "Statement": [statement]}
    iam.put_role_policy(RoleName=role, PolicyName="deny", PolicyDocument=json.dumps(deny))
    setting.put("denied")
    wait_until(lambda: setting.pipe.log("dead"), SECONDS, "the record is given up", explain=setting.pipe.log)
    assert "AccessDenied" in setting.pipe.log("failed")[0]["reason"]
    (message,) = wait_until(lambda: setting.receive("Dead"), SECONDS, "the dead-letter message is there")
    body = json.loads(message["Body"])
    assert body["context"]["condition"] == "RetryAttemptsExhausted"
    assert body["DDBStreamBatchInfo"]["batchSize"] == 1
    iam.delete_role_policy(RoleName=role, PolicyName="deny")
    setting.put("allowed")
    setting.wait_forwarded("allowed")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"stream": {"BatchSize": 100}}, "BatchSize is 100"),
        ({"service": "lambda.amazonaws.com"}, "trust policy"),
        ({"queues": [{"Fn::GetAtt": ["Queue", "Arn"]}]}, "AccessDenied"),
        ({"reads": ["dynamodb:DescribeStream", "dynamodb:GetShardIterator"]}, "GetRecords"),
    ],
)
def test_a_pipe_that_aws_would_not_create_does_not_start(setting, changes, reason):
    setting.deploy(**changes)
    with pytest.raises(ProcessFailed, match=reason):
        setting.start()
