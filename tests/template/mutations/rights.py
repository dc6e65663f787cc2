"""Ways to grant too much or too little."""

from .mutation import REMOVED, arn, properties


def _policy(role, path):
    return properties(role, f"Policies.0.PolicyDocument.Statement.{path}")


def _trust(role, path):
    return properties(role, f"AssumeRolePolicyDocument.Statement.0.{path}")


def _allow(action, resource):
    return {"Effect": "Allow", "Action": action, "Resource": resource}


CONSUMER_NEXT = 5
WEBHOOK_ADDS_EVENT, WEBHOOK_LOG, WEBHOOK_NEXT = 0, 3, 4
RELAY_SENDS, RELAY_NEXT = 2, 5

MUTATIONS = {
    "role-wildcards": [
        (
            "* resource in a data-plane statement",
            _policy("WebhookRole", WEBHOOK_NEXT),
            _allow("dynamodb:PutItem", "*"),
        ),
        (
            "every table of the account",
            _policy("WebhookRole", WEBHOOK_NEXT),
            _allow("dynamodb:PutItem", {"Fn::Sub": "arn:aws:dynamodb:*:${AWS::AccountId}:table/*"}),
        ),
        (
            "every index",
            _policy("RelayRole", RELAY_NEXT),
            _allow("dynamodb:Query", {"Fn::Sub": "${OutboxTable.Arn}/index/*"}),
        ),
        ("dynamodb:*", _policy("ConsumerRole", CONSUMER_NEXT), _allow("dynamodb:*", arn("RoutesTable"))),
        (
            "dynamodb:* on the events table",
            _policy("ConsumerRole", CONSUMER_NEXT),
            _allow("dynamodb:*", arn("EventsTable")),
        ),
        (
            "NotAction",
            _policy("RelayRole", RELAY_NEXT),
            {"Effect": "Allow", "NotAction": "iam:PassRole", "Resource": arn("OutboxTable")},
        ),
    ],
    "evidence-is-only-added": [
        (
            "UpdateItem granted on the events table",
            _policy("WebhookRole", f"{WEBHOOK_ADDS_EVENT}.Action"),
            ["dynamodb:PutItem", "dynamodb:UpdateItem"],
        ),
        (
            "DeleteItem granted on the events table",
            _policy("ConsumerRole", CONSUMER_NEXT),
            _allow("dynamodb:DeleteItem", arn("EventsTable")),
        ),
        (
            "BatchWriteItem granted on the events table",
            _policy("WebhookRole", WEBHOOK_NEXT),
            _allow("dynamodb:BatchWriteItem", arn("EventsTable")),
        ),
        (
            "readers may scan the events table",
            properties("EvidenceReaderPolicy", "PolicyDocument.Statement.0.Action"),
            ["dynamodb:GetItem", "dynamodb:Scan"],
        ),
        (
            "PartiQLDelete granted on the events table",
            _policy("WebhookRole", WEBHOOK_NEXT),
            _allow("dynamodb:PartiQLDelete", arn("EventsTable")),
        ),
    ],
    "evidence-has-one-policy-of-readers": [
        (
            "webhook may read events by a right of its own",
            _policy("WebhookRole", WEBHOOK_NEXT),
            _allow("dynamodb:GetItem", arn("EventsTable")),
        ),
        (
            "relay may list events by a right of its own",
            _policy("RelayRole", RELAY_NEXT),
            _allow("dynamodb:Query", {"Fn::Sub": "${EventsTable.Arn}"}),
        ),
        ("policy attaches itself", properties("EvidenceReaderPolicy", "Roles"), [{"Ref": "RelayRole"}]),
        ("policy without an output", "Outputs.EvidenceReaderPolicyArn", REMOVED),
    ],
    "role-lacks-right": [
        ("operator may not read events", properties("OperatorRole", "ManagedPolicyArns"), REMOVED),
        ("Pipe may not send to its DLQ", _policy("OutboxPipeRole", "1.Resource"), [arn("RevalidateQueue")]),
        (
            "Pipe may not send to the queue",
            _policy("OutboxPipeRole", "1.Resource"),
            [arn("PipeDeadLetterQueue")],
        ),
        ("Pipe may not read the stream", _policy("OutboxPipeRole", 0), REMOVED),
        ("relay may not send", _policy("RelayRole", RELAY_SENDS), REMOVED),
        ("webhook may not read its secret", _policy("WebhookRole", 2), REMOVED),
        ("webhook may not log", _policy("WebhookRole", WEBHOOK_LOG), REMOVED),
        (
            "consumer may not check conditions",
            _policy("ConsumerRole", "1.Action"),
            lambda actions: actions[:-1],
        ),
    ],
    "role-has-needless-right": [
        (
            "webhook may send to the queue",
            _policy("WebhookRole", WEBHOOK_NEXT),
            _allow("sqs:SendMessage", arn("RevalidateQueue")),
        ),
        (
            "webhook may read events",
            properties("WebhookRole", "ManagedPolicyArns"),
            [{"Ref": "EvidenceReaderPolicy"}],
        ),
        (
            "relay may delete outbox items",
            _policy("RelayRole", RELAY_NEXT),
            _allow("dynamodb:DeleteItem", arn("OutboxTable")),
        ),
        (
            "relay may scan the outbox",
            _policy("RelayRole", RELAY_NEXT),
            _allow("dynamodb:Scan", arn("OutboxTable")),
        ),
        (
            "consumer may read the webhook secret",
            _policy("ConsumerRole", CONSUMER_NEXT),
            _allow("secretsmanager:GetSecretValue", {"Fn::GetAtt": ["WebhookSecret", "Id"]}),
        ),
        (
            "relay writes to another function's log",
            _policy("RelayRole", RELAY_NEXT),
            _allow("logs:PutLogEvents", arn("WebhookLogGroup")),
        ),
    ],
    "role-is-explicit": [
        ("role left to SAM", properties("RelayFunction", "Role"), REMOVED),
        (
            "managed policy",
            properties("RelayRole", "ManagedPolicyArns"),
            ["arn:aws:iam::aws:policy/AmazonSQSFullAccess"],
        ),
        ("two functions, one role", properties("RelayFunction", "Role"), arn("ConsumerRole")),
        (
            "policy apart from the Pipe's role",
            "Resources.PipePolicy",
            {
                "Type": "AWS::IAM::Policy",
                "Properties": {
                    "PolicyName": "more",
                    "Roles": [{"Ref": "OutboxPipeRole"}],
                    "PolicyDocument": {"Statement": []},
                },
            },
        ),
    ],
    "role-trust": [
        (
            "role trusted to another service",
            _trust("WebhookRole", "Principal"),
            {"Service": "ec2.amazonaws.com"},
        ),
        (
            "role trusted to another account",
            _trust("ConsumerRole", "Principal"),
            {"AWS": "arn:aws:iam::210987654321:root"},
        ),
        ("schedule role trusted for any account", _trust("RelayScheduleRole", "Condition"), REMOVED),
    ],
}
