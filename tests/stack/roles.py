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
