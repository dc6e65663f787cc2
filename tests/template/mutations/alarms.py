"""Ways to break the alarms and the dashboard."""

from .mutation import REMOVED, properties, replacing

BODY = properties("Dashboard", "DashboardBody.Fn::Sub")

MUTATIONS = {
    "alarm-action": [
        ("alarm without an action", properties("OutboxDiedAlarm", "AlarmActions"), REMOVED),
        ("alarm with an empty list of actions", properties("TargetOutageAlarm", "AlarmActions"), []),
        ("alarm with its actions switched off", properties("KeysRefusedAlarm", "ActionsEnabled"), False),
    ],
    "alarm-missing-data": [
        (
            "outbox age missing is no alarm",
            properties("OutboxOldestReadyAgeAlarm", "TreatMissingData"),
            "notBreaching",
        ),
        (
            "Pipe's state missing is no alarm",
            properties("PipeNotRunningAlarm", "TreatMissingData"),
            "missing",
        ),
        (
            "quiet queue is an alarm",
            properties("RevalidateDeadLetterQueueAlarm", "TreatMissingData"),
            "breaching",
        ),
        (
            "missing data left to the default",
            properties("SignatureRefusedAlarm", "TreatMissingData"),
            REMOVED,
        ),
    ],
    "alarm-coverage": [
        (
            "alarm watches another queue",
            properties("PipeDeadLetterQueueAlarm", "Dimensions.0.Value"),
            {"Fn::GetAtt": ["RevalidateQueue", "QueueName"]},
        ),
        (
            "alarm watches another metric of the Pipe",
            properties("PipeFailingAlarm", "MetricName"),
            "Invocations",
        ),
        ("alarm on all requests instead of 4xx", properties("ApiClientErrorsAlarm", "MetricName"), "Count"),
        (
            "alarm watches another function",
            properties("RelayThrottlesAlarm", "Dimensions.0.Value"),
            {"Ref": "WebhookFunction"},
        ),
    ],
    "alarm-metric": [
        (
            "alarm on another stage",
            properties("WebhookFaultsAlarm", "Dimensions.1"),
            {"Name": "Function", "Value": "webhook"},
        ),
        (
            "alarm computes over metrics",
            properties("RecordsFailedAlarm", "Metrics"),
            [{"Id": "a", "Expression": "b + c"}],
        ),
    ],
    "alarm-threshold": [
        ("alarm from the tenth dead letter", properties("RevalidateDeadLetterQueueAlarm", "Threshold"), 10),
        ("alarm on jobs that end", properties("ReconcileStoppedAlarm", "ComparisonOperator"), "GreaterThanThreshold"),
        ("alarm only while it lasts", properties("OutboxDiedAlarm", "EvaluationPeriods"), 3),
        ("alarm on the average", properties("SignatureRefusedAlarm", "Statistic"), "Average"),
        (
            "alarm on a Pipe that runs",
            properties("PipeNotRunningAlarm", "ComparisonOperator"),
            "GreaterThanOrEqualToThreshold",
        ),
    ],
    "alarm-key": [
        ("topic's key closed to CloudWatch", properties("AlarmKey", "KeyPolicy.Statement.1"), REMOVED),
        (
            "topic's key for decrypting only",
            properties("AlarmKey", "KeyPolicy.Statement.1.Action"),
            ["kms:Decrypt"],
        ),
        ("topic on the key AWS manages", properties("AlarmTopic", "KmsMasterKeyId"), "alias/aws/sns"),
    ],
    "alarm-topic": [
        ("topic closed to CloudWatch", "Resources.AlarmTopicPolicy", REMOVED),
        (
            "topic open to any account",
            properties("AlarmTopicPolicy", "PolicyDocument.Statement.0.Condition"),
            REMOVED,
        ),
    ],
    "dashboard": [
        ("no dashboard", "Resources.Dashboard", REMOVED),
        ("dashboard not JSON", BODY, replacing('"widgets": [', '"widgets": [,')),
        ("dashboard with an unknown metric", BODY, replacing('"RoutesWritten"', '"RoutesKept"')),
        ("dashboard without the oldest age", BODY, replacing('"OutboxOldestReadyAge"', '"OutboxReady"')),
        ("dashboard without one alarm", BODY, replacing('"${KeysRefusedAlarm.Arn}",', "")),
    ],
}
