"""Ways to break the Pipe."""

from .mutation import REMOVED, adding, arn, properties, replacing

PIPE = properties("OutboxPipe")
STREAM = f"{PIPE}.SourceParameters.DynamoDBStreamParameters"
GROUP = f"{PIPE}.TargetParameters.SqsQueueParameters.MessageGroupId"
DEDUPLICATION = f"{PIPE}.TargetParameters.SqsQueueParameters.MessageDeduplicationId"
FILTERS = f"{PIPE}.SourceParameters.FilterCriteria.Filters"
PATTERN = f"{FILTERS}.0.Pattern"
TEMPLATE = f"{PIPE}.TargetParameters.InputTemplate"
CONDITION = properties("OutboxPipeRole", "AssumeRolePolicyDocument.Statement.0.Condition")
PIPES_OF_THE_ACCOUNT = "arn:${AWS::Partition}:pipes:${AWS::Region}:${AWS::AccountId}:pipe/"


def _filter_inside_the_stream(source):
    stream = {**source["DynamoDBStreamParameters"], "FilterCriteria": source["FilterCriteria"]}
    return {"DynamoDBStreamParameters": stream}


MUTATIONS = {
    "pipe-message-group": [
        ("no MessageGroupId", GROUP, REMOVED),
        ("MessageGroupId as <$.path>", GROUP, "<$.dynamodb.NewImage.message_group_id.S>"),
        ("MessageGroupId without the type key", GROUP, "$.dynamodb.NewImage.message_group_id"),
        ("MessageGroupId the same for all", GROUP, "all"),
        ("MessageGroupId by the document's id", GROUP, "$.dynamodb.NewImage.document_id.S"),
    ],
    "pipe-deduplication": [
        ("deduplication id by $.eventID", DEDUPLICATION, "$.eventID"),
        ("no deduplication id", DEDUPLICATION, REMOVED),
        ("deduplication id by the revision", DEDUPLICATION, "$.dynamodb.NewImage.revision.S"),
    ],
    "pipe-source-and-target": [
        (
            "Pipe reads the stream of another table",
            f"{PIPE}.Source",
            {"Fn::GetAtt": ["EventsTable", "StreamArn"]},
        ),
        ("Pipe sends to the dead-letter queue", f"{PIPE}.Target", arn("RevalidateDeadLetterQueue")),
    ],
    "pipe-filter": [
        ("filter not JSON", PATTERN, replacing('"eventName"', "eventName")),
        ("filter without INSERT", PATTERN, replacing('"eventName": ["INSERT"],', "")),
        ("filter with MODIFY", PATTERN, replacing('"INSERT"', '"INSERT", "MODIFY"')),
        ("filter without status", PATTERN, replacing('"status": { "S": ["READY"] },', "")),
        ("filter by status without the type key", PATTERN, replacing('{ "S": ["READY"] }', '["READY"]')),
        ("filter lets a missing group id pass", PATTERN, replacing('"message_group_id"', '"message_group"')),
        (
            "filter lets a missing dedup. id pass",
            PATTERN,
            replacing('"message_deduplication_id"', '"message_id"'),
        ),
        (
            "filter by eventSource",
            PATTERN,
            replacing('"eventName"', '"eventSource": ["aws:dynamodb"], "eventName"'),
        ),
        ("second filter, joined by or", f"{FILTERS}.1", {"Pattern": '{"eventName":["MODIFY"]}'}),
        ("no filter", f"{PIPE}.SourceParameters.FilterCriteria", REMOVED),
        ("filter inside the stream's parameters", f"{PIPE}.SourceParameters", _filter_inside_the_stream),
    ],
    "pipe-input-template": [
        ("no input template", TEMPLATE, REMOVED),
        ("input template with a path outside <>", TEMPLATE, replacing("<$.dynamodb.NewImage.sk.S>", "$.sk")),
        (
            "input template with an unquoted id",
            TEMPLATE,
            replacing('"<$.dynamodb.NewImage.sk.S>"', "<$.dynamodb.NewImage.sk.S>"),
        ),
        ("input template with free text", TEMPLATE, replacing("NewImage.sk.S", "NewImage.document_id.S")),
        (
            "input template without the event id",
            TEMPLATE,
            replacing('"event_id":"<$.dynamodb.NewImage.event_id.S>",', ""),
        ),
        (
            "input template with the whole image",
            TEMPLATE,
            replacing('"<$.dynamodb.NewImage.sk.S>"', "<$.dynamodb.NewImage>"),
        ),
    ],
    "pipe-batch-size": [
        ("BatchSize 100", f"{STREAM}.BatchSize", 100),
        ("BatchSize by default", f"{STREAM}.BatchSize", REMOVED),
    ],
    "pipe-retries": [
        ("default retries", f"{STREAM}.MaximumRetryAttempts", REMOVED),
        ("endless retries", f"{STREAM}.MaximumRetryAttempts", -1),
        ("default record age", f"{STREAM}.MaximumRecordAgeInSeconds", REMOVED),
        ("record age of a day", f"{STREAM}.MaximumRecordAgeInSeconds", 86400),
        ("no bisecting", f"{STREAM}.OnPartialBatchItemFailure", REMOVED),
    ],
    "pipe-states-every-field": [
        ("parallelization by default", f"{STREAM}.ParallelizationFactor", REMOVED),
        ("Pipe's batching window by default", f"{STREAM}.MaximumBatchingWindowInSeconds", REMOVED),
        ("Pipe deployed stopped", f"{PIPE}.DesiredState", "STOPPED"),
    ],
    "pipe-starting-position": [
        ("Pipe starts at LATEST", f"{STREAM}.StartingPosition", "LATEST"),
    ],
    "pipe-dead-letters": [
        (
            "FIFO Pipe DLQ",
            properties("PipeDeadLetterQueue"),
            adding(FifoQueue=True, ContentBasedDeduplication=False),
        ),
        ("no Pipe DLQ", f"{STREAM}.DeadLetterConfig", REMOVED),
    ],
    "pipe-log": [
        ("Pipe without a log", f"{PIPE}.LogConfiguration", REMOVED),
        ("Pipe logs the records' data", f"{PIPE}.LogConfiguration.IncludeExecutionData", ["ALL"]),
    ],
    "pipe-name": [
        ("Pipe's name without a version", f"{PIPE}.Name", {"Fn::Sub": "${AWS::StackName}-outbox"}),
    ],
    "pipe-role-trust": [
        ("no confused-deputy condition", CONDITION, REMOVED),
        ("Pipe role trusted for any account", f"{CONDITION}.StringEquals", REMOVED),
        (
            "Pipe role trusted for one version",
            f"{CONDITION}.ArnLike",
            {"aws:SourceArn": {"Fn::Sub": PIPES_OF_THE_ACCOUNT + "${AWS::StackName}-outbox-v1"}},
        ),
        (
            "Pipe role trusted for every Pipe",
            f"{CONDITION}.ArnLike",
            {"aws:SourceArn": {"Fn::Sub": PIPES_OF_THE_ACCOUNT + "*"}},
        ),
    ],
}
