"""Ways to break the queues and the event source."""

from .mutation import REMOVED, properties, replacing

QUEUE = properties("RevalidateQueue")
DEAD = properties("RevalidateDeadLetterQueue")
SOURCE = properties("ConsumerFunction", "Events.Queue.Properties")


def _standard(queue):
    """The same queue, as a standard one."""
    name = {"Fn::Sub": queue["QueueName"]["Fn::Sub"].removesuffix(".fifo")}
    return {
        key: value for key, value in queue.items() if key not in ("FifoQueue", "ContentBasedDeduplication")
    } | {"QueueName": name}


MUTATIONS = {
    "queue-is-fifo": [
        ("queue not FIFO", QUEUE, _standard),
        ("queue's name without .fifo", f"{QUEUE}.QueueName.Fn::Sub", replacing(".fifo", "")),
    ],
    "queue-deduplication": [
        ("deduplication by content", f"{QUEUE}.ContentBasedDeduplication", True),
        ("deduplication not stated", f"{QUEUE}.ContentBasedDeduplication", REMOVED),
        ("deduplication by content in the DLQ", f"{DEAD}.ContentBasedDeduplication", True),
    ],
    "queue-delay": [
        ("no delay", f"{QUEUE}.DelaySeconds", REMOVED),
        ("delay fixed", f"{QUEUE}.DelaySeconds", 45),
        ("another delay by default", "Parameters.QueueDelaySeconds.Default", 900),
    ],
    "queue-visibility": [
        ("visibility < 6 x timeout", f"{QUEUE}.VisibilityTimeout", 359),
        ("visibility by default", f"{QUEUE}.VisibilityTimeout", REMOVED),
        ("longer timeout under the same visibility", properties("ConsumerFunction", "Timeout"), 120),
    ],
    "queue-dead-letters": [
        ("queue DLQ not FIFO", DEAD, _standard),
        ("no queue DLQ", f"{QUEUE}.RedrivePolicy", REMOVED),
        ("one receive", f"{QUEUE}.RedrivePolicy.maxReceiveCount", 1),
        ("queue DLQ open to every queue", f"{DEAD}.RedriveAllowPolicy", REMOVED),
        (
            "queue DLQ open to another queue",
            f"{DEAD}.RedriveAllowPolicy.sourceQueueArns.0",
            "arn:aws:sqs:eu-west-1:123456789012:other.fifo",
        ),
    ],
    "queue-retention": [
        ("dead letters kept by default", f"{DEAD}.MessageRetentionPeriod", REMOVED),
        (
            "Pipe's dead letters kept for a day",
            properties("PipeDeadLetterQueue", "MessageRetentionPeriod"),
            86400,
        ),
    ],
    "queue-encryption": [
        ("queue not encrypted", f"{QUEUE}.SqsManagedSseEnabled", False),
    ],
    "event-source-exists": [
        ("queue without a consumer", properties("ConsumerFunction", "Events"), REMOVED),
        ("event source disabled", f"{SOURCE}.Enabled", False),
    ],
    "event-source-batch": [
        ("batching window on FIFO", f"{SOURCE}.MaximumBatchingWindowInSeconds", 5),
        ("batch of 11 on FIFO", f"{SOURCE}.BatchSize", 11),
    ],
    "event-source-partial-failures": [
        ("no ReportBatchItemFailures", f"{SOURCE}.FunctionResponseTypes", REMOVED),
    ],
    "event-source-concurrency": [
        ("consumer unbounded", f"{SOURCE}.ScalingConfig", REMOVED),
    ],
}
