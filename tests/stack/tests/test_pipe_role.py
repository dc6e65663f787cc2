"""The trust policy as EventBridge Pipes meets it."""

import pytest
from stack.pipe.role import RoleRefused, check_trust

ARN = "arn:aws:pipes:eu-west-1:123456789012:pipe/cascata-local-outbox-1"
ACCOUNT = "123456789012"


def policy(principal=None, **condition):
    statement = {
        "Effect": "Allow",
        "Principal": principal or {"Service": "pipes.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    return {"Statement": [statement | ({"Condition": condition} if condition else {})]}


@pytest.mark.parametrize(
    "trust",
    [
        policy(),
        policy(
            StringEquals={"aws:SourceAccount": ACCOUNT},
            StringLike={"aws:SourceArn": "arn:aws:pipes:eu-west-1:123456789012:pipe/cascata-local-*"},
        ),
        policy(ArnEquals={"aws:SourceArn": ARN}),
    ],
)
def test_allowed(trust):
    check_trust(trust, ARN, ACCOUNT)


@pytest.mark.parametrize(
    "trust",
    [
        policy({"Service": "lambda.amazonaws.com"}),
        policy({"AWS": "arn:aws:iam::123456789012:root"}),
        policy(StringEquals={"aws:SourceAccount": "210987654321"}),
        policy(StringLike={"aws:SourceArn": "arn:aws:pipes:eu-west-1:123456789012:pipe/other-*"}),
        policy(StringEquals={"aws:SourceArn": "arn:aws:pipes:eu-west-1:123456789012:pipe/*"}),
        policy(Bool={"aws:SecureTransport": "true"}),
        policy(StringLike={"aws:PrincipalOrgID": "*"}),
        {"Statement": [*policy()["Statement"], policy()["Statement"][0] | {"Effect": "Deny"}]},
        {"Statement": []},
    ],
)
def test_refused(trust):
    with pytest.raises(RoleRefused):
        check_trust(trust, ARN, ACCOUNT)
