"""Rights taken away for a while, and the emulator's own names for some of them."""

import json
from contextlib import contextmanager

from .aws import Aws

BATCHES = {
    "sqs:SendMessage": "sqs:SendMessageBatch",
    "sqs:DeleteMessage": "sqs:DeleteMessageBatch",
    "sqs:ChangeMessageVisibility": "sqs:ChangeMessageVisibilityBatch",
}
"""The emulator checks batches of SQS calls against rights that AWS does not know: there the plain one allows both."""

DENY_POLICY = "denied-by-test"
SESSION_SECONDS = 12 * 3600


@contextmanager
def denied(aws: Aws, role: str, *actions: str, resource: str = "*"):
    """While inside, a role is denied these actions on a resource. The next request counts it, also of sessions that are
    open already."""
    batches = [BATCHES[action] for action in actions if action in BATCHES]
    statement = {"Effect": "Deny", "Action": [*actions, *batches], "Resource": resource}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam = aws.client("iam")
    iam.put_role_policy(RoleName=role, PolicyName=DENY_POLICY, PolicyDocument=policy)
    try:
        yield
    finally:
        iam.delete_role_policy(RoleName=role, PolicyName=DENY_POLICY)


def assumed(iam, sts, role_arn: str, account: str) -> dict[str, str]:
    """Credentials of a role, as keyword arguments of a boto3 client, through a trust that is put in place for this one
    call and taken back. `iam` and `sts` are the root's clients."""
    name = role_arn.rsplit("/", 1)[-1]
    declared = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    ours = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:aws:iam::{account}:root"},
                "Action": "sts:AssumeRole",
            }
        ],
    }
    iam.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(ours))
    try:
        session = sts.assume_role(
            RoleArn=role_arn, RoleSessionName="local-stack", DurationSeconds=SESSION_SECONDS
        )["Credentials"]
    finally:
        iam.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(declared))
    return {
        "aws_access_key_id": session["AccessKeyId"],
        "aws_secret_access_key": session["SecretAccessKey"],
        "aws_session_token": session["SessionToken"],
    }
