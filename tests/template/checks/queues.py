"""The queue, the dead-letter queues, and the event source that empties the queue."""

from model import reference, text

from . import check

QUEUE = "RevalidateQueue"
FOURTEEN_DAYS = 1209600


def _is_fifo(template, name):
    return template.value(template.properties(name).get("FifoQueue")) in (True, "true")


def _sources(template):
    """Event source mappings that read a queue: logical id, its properties, and the queue's logical id."""
    for name, mapping in template.of_type("AWS::Lambda::EventSourceMapping").items():
        queue, _ = reference(mapping.get("EventSourceArn"))
        if queue in template.of_type("AWS::SQS::Queue"):
            yield name, mapping, queue


@check
def queue_is_fifo(template):
    if not _is_fifo(template, QUEUE):
        yield f"{QUEUE} is not FIFO"
    if not text(template.properties(QUEUE).get("QueueName", "")).endswith(".fifo"):
        yield f"the name of {QUEUE} does not end with .fifo"


@check
def queue_deduplication(template):
    for name in template.of_type("AWS::SQS::Queue"):
        if (
            _is_fifo(template, name)
            and template.properties(name).get("ContentBasedDeduplication") is not False
        ):
            yield f"{name} does not state ContentBasedDeduplication false: a missing id must fail loudly"


@check
def queue_delay(template):
    delay = template.properties(QUEUE).get("DelaySeconds")
    if reference(delay) != ("QueueDelaySeconds", None) or template.value(delay) != 45:
        yield f"the delay of {QUEUE} is not the parameter QueueDelaySeconds, 45 by default"


@check
def queue_visibility(template):
    for name, mapping, queue in _sources(template):
        function, _ = reference(mapping.get("FunctionName"))
        timeout = template.properties(function).get("Timeout", 3)
        visibility = template.properties(queue).get("VisibilityTimeout", 30)
        if visibility < 6 * timeout:
            yield f"{queue} hides a message for {visibility} s; six times the timeout of {function} is {6 * timeout} s"


@check
def queue_dead_letters(template):
    redrive = template.properties(QUEUE).get("RedrivePolicy", {})
    name, _ = reference(redrive.get("deadLetterTargetArn"))
    if name not in template.of_type("AWS::SQS::Queue"):
        yield f"{QUEUE} has no dead-letter queue"
        return
    if redrive.get("maxReceiveCount") != 3:
        yield f"maxReceiveCount is {redrive.get('maxReceiveCount')}, not 3"
    if not _is_fifo(template, name) or not text(template.properties(name).get("QueueName", "")).endswith(
        ".fifo"
    ):
        yield f"{name} is not FIFO, so nothing would ever be moved there"
    allow = template.properties(name).get("RedriveAllowPolicy", {})
    arns = [text(arn) for arn in allow.get("sourceQueueArns", [])]
    source = text(template.properties(QUEUE).get("QueueName")).removesuffix(".fifo")
    if allow.get("redrivePermission") != "byQueue" or not any(
        arn.endswith(f":{source}.fifo") for arn in arns
    ):
        yield f"{name} does not take dead letters of {QUEUE} alone"


@check
def queue_retention(template):
    """Dead letters are kept as long as SQS can; a queue's own messages outlive a long weekend."""
    for name, queue in template.of_type("AWS::SQS::Queue").items():
        wanted = FOURTEEN_DAYS if name != QUEUE else 345600
        if queue.get("MessageRetentionPeriod", 0) < wanted:
            yield f"{name} keeps messages for {queue.get('MessageRetentionPeriod')} s, not {wanted} s"


@check
def queue_encryption(template):
    for name, queue in template.of_type("AWS::SQS::Queue").items():
        if queue.get("SqsManagedSseEnabled") is not True:
            yield f"{name} does not state that it is encrypted"


@check
def event_source_exists(template):
    readers = [
        (queue, reference(mapping.get("FunctionName"))[0])
        for _, mapping, queue in _sources(template)
        if mapping.get("Enabled", True) is True
    ]
    if readers != [(QUEUE, "ConsumerFunction")]:
        yield f"the queue is not read by the consumer alone: {readers}"


@check
def event_source_batch(template):
    for name, mapping, queue in _sources(template):
        if not 1 <= mapping.get("BatchSize", 10) <= 10:
            yield f"{name} takes batches of {mapping['BatchSize']}; a FIFO queue gives 10 at most"
        if _is_fifo(template, queue) and mapping.get("MaximumBatchingWindowInSeconds", 0) != 0:
            yield f"{name} has a batching window, which a FIFO queue does not support"


@check
def event_source_partial_failures(template):
    for name, mapping, _ in _sources(template):
        if mapping.get("FunctionResponseTypes") != ["ReportBatchItemFailures"]:
            yield f"{name} lacks ReportBatchItemFailures: failed messages would be deleted with the others"


@check
def event_source_concurrency(template):
    for name, mapping, _ in _sources(template):
        limit = mapping.get("ScalingConfig", {}).get("MaximumConcurrency")
        if reference(limit) != ("ConsumerMaxConcurrency", None):
            yield f"{name} is not bounded by ConsumerMaxConcurrency"
