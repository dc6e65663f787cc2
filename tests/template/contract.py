"""What the rest of the project relies on: names that code, stack and operators share with the template."""

FUNCTIONS = ("WebhookFunction", "ConsumerFunction", "RelayFunction", "ReconcileFunction", "OperatorFunction",
             "DeadLettersFunction")

ENVIRONMENT = {
    "WebhookFunction": """
        STAGE EVENTS_TABLE OUTBOX_TABLE WEBHOOK_SECRET_ARN SANITY_PROJECT_ID SANITY_DATASETS MESSAGE_GROUP READY_SHARDS
        OUTBOX_GRACE_SECONDS RETENTION_DAYS SIGNATURE_MAX_AGE_SECONDS ROTATION_HOURS
        LOCAL_WEBHOOK_SECRET LOCAL_PREVIOUS_WEBHOOK_SECRET
    """.split(),
    "ConsumerFunction": """
        STAGE EVENTS_TABLE OUTBOX_TABLE ROUTES_TABLE TARGETS_SECRET_ARN SANITY_PROJECT_ID SANITY_DATASETS SANITY_API_URL
        SANITY_API_VERSION STELLATE_URL STELLATE_SOFT_PURGE STOREFRONT_URL STOREFRONT_ROUTE STOREFRONT_SECRET_IN
        STOREFRONT_BATCH_SIZE STOREFRONT_BASE_PATH STOREFRONT_LOCALES STOREFRONT_TRAILING_SLASH STOREFRONT_ENCODE
        STOREFRONT_HEADERS MORE_STOREFRONTS
        FENCE_BOUND_SECONDS FENCE_POLL_MILLISECONDS FENCE_TRUST_SECONDS FENCE_TIE_SECONDS RECHECK_SECONDS
        REPEAT_YOUNG_SECONDS REPEAT_OUTER_LAYERS DEFER_FIRST_SECONDS DEFER_MAX_SECONDS BREAKER_FAILURES BREAKER_OPEN_SECONDS READY_SHARDS
        OUTBOX_GRACE_SECONDS RETENTION_DAYS MESSAGE_GROUP LOCAL_TARGETS_SECRET
    """.split(),
    "RelayFunction": """
        STAGE OUTBOX_TABLE QUEUE_URL PIPE_NAME READY_SHARDS OUTBOX_GRACE_SECONDS MAX_ATTEMPTS MESSAGE_GROUP
    """.split(),
    "ReconcileFunction": """
        STAGE EVENTS_TABLE OUTBOX_TABLE ROUTES_TABLE TARGETS_SECRET_ARN SANITY_PROJECT_ID SANITY_DATASETS SANITY_API_URL
        SANITY_API_VERSION MESSAGE_GROUP READY_SHARDS OUTBOX_GRACE_SECONDS RETENTION_DAYS RECONCILE_OVERLAP_SECONDS
        SWEEP_HOURS LOCAL_TARGETS_SECRET
    """.split(),
    "OperatorFunction": """
        STAGE EVENTS_TABLE OUTBOX_TABLE ROUTES_TABLE TARGETS_SECRET_ARN SANITY_PROJECT_ID SANITY_DATASETS SANITY_API_URL
        SANITY_API_VERSION MESSAGE_GROUP READY_SHARDS OUTBOX_GRACE_SECONDS RETENTION_DAYS LOCAL_TARGETS_SECRET
    """.split(),
    "DeadLettersFunction": """
        STAGE OUTBOX_TABLE QUEUE_DEAD_LETTERS_URL PIPE_DEAD_LETTERS_URL TOPIC_ARN OPERATOR_FUNCTION READY_SHARDS
    """.split(),
}

PARAMETERS = """
    Stage AlarmEmail LogRetentionDays Architecture RetentionDays DeletionProtection SchedulesEnabled ThrottleRate
    ThrottleBurst DomainName CertificateArn SanityProjectId SanityDatasets SanityApiUrl SanityApiVersion StellateUrl
    StellateSoftPurge StorefrontUrl StorefrontRoute StorefrontSecretIn StorefrontBatchSize StorefrontBasePath
    StorefrontLocales StorefrontTrailingSlash StorefrontEncode StorefrontHeaders MoreStorefronts
    MessageGroup QueueDelaySeconds ReadyShards
    OutboxGraceSeconds MaxAttempts FenceBoundSeconds FencePollMilliseconds FenceTrustSeconds FenceTieSeconds
    RecheckSeconds RepeatYoungSeconds RepeatOuterLayers DeferFirstSeconds DeferMaxSeconds BreakerFailures BreakerOpenSeconds
    SignatureMaxAgeSeconds RotationHours ConsumerMaxConcurrency PipeVersion ReconcileOverlapSeconds SweepHours
""".split()

OUTPUTS = """
    WebhookUrl EventsTable OutboxTable RoutesTable WebhookSecretArn TargetsSecretArn DashboardUrl RevalidateQueueUrl
    RevalidateDeadLetterQueueUrl PipeDeadLetterQueueUrl PipeName ConsumerFunction RelayFunction WebhookFunction
    ReconcileFunction OperatorFunction DeadLettersFunction
""".split()

# Metrics that the functions write, namespace Cascata, dimension Stage.
WEBHOOK_METRICS = set(
    """
    EventsAccepted EventsDuplicate EventsIgnored EventsInReview SignatureRefused RequestsRefused WebhookFaults
    """.split()
)
CONSUMER_METRICS = set(
    """
    EventsApplied ReceiptToApplied FenceWait FenceDeferred Deferred RecordsFailed TargetOutage KeysPurged KeysRefused
    RoutesWritten CascadeBoundHit EventsLate EventsSuperseded Gaps
    """.split()
)
# Written by a schedule: that they are missing says that the schedule does not run.
SCHEDULE_METRICS = set(
    """
    OutboxReady OutboxOldestReadyAge OutboxDied OutboxResent OutboxSettled PipeRunning ReconcileRuns SweepsCompleted
    DeadLetterRuns
    """.split()
)
# Written by the same schedules; that those do not run is another alarm's business.
JOB_METRICS = set("EventsReconciled SanityReads PlansWoken DeadLetters EventsFailed ForeignLetters".split())
OPERATOR_METRICS = set("EventsReprocessed EventsSettledByHand".split())
METRICS = WEBHOOK_METRICS | CONSUMER_METRICS | SCHEDULE_METRICS | JOB_METRICS | OPERATOR_METRICS

# Keys of each table and of its indexes: (hash, range).
TABLES = {
    "EventsTable": {"": ("event_id", None), "by_document": ("document_key", "received_at")},
    "OutboxTable": {
        "": ("pk", "sk"),
        "ready": ("ready_shard", "next_attempt"),
        "by_state": ("state_key", "received_at"),
    },
    "RoutesTable": {"": ("pk", "sk")},
}

TARGETS_SECRET_KEYS = {"sanity_token", "stellate_token", "storefront_secret"}

# Every right of every role: resource as the policy names it, and the verbs.
_WRITE_LOG = {"logs:CreateLogStream", "logs:PutLogEvents"}
# Through the one policy of those who may read the evidence.
EVIDENCE_POLICY = "EvidenceReaderPolicy"
_EVIDENCE = {
    "${EventsTable.Arn}": {"dynamodb:GetItem"},
    "${EventsTable.Arn}/index/by_document": {"dynamodb:Query"},
}
RIGHTS = {
    "WebhookRole": {
        "${EventsTable.Arn}": {"dynamodb:PutItem"},
        "${OutboxTable.Arn}": {"dynamodb:PutItem", "dynamodb:UpdateItem"},
        "${WebhookSecret.Id}": {"secretsmanager:GetSecretValue"},
        "${WebhookLogGroup.Arn}": _WRITE_LOG,
    },
    "ConsumerRole": _EVIDENCE
    | {
        "${OutboxTable.Arn}": {
            "dynamodb:GetItem",
            "dynamodb:Query",
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
            "dynamodb:DeleteItem",
            "dynamodb:ConditionCheckItem",
        },
        "${RoutesTable.Arn}": {
            "dynamodb:BatchGetItem",
            "dynamodb:Query",
            "dynamodb:PutItem",
            "dynamodb:DeleteItem",
            "dynamodb:ConditionCheckItem",
        },
        "${TargetsSecret.Id}": {"secretsmanager:GetSecretValue"},
        "${RevalidateQueue.Arn}": {
            "sqs:ReceiveMessage",
            "sqs:DeleteMessage",
            "sqs:GetQueueAttributes",
            "sqs:ChangeMessageVisibility",
        },
        "${ConsumerLogGroup.Arn}": _WRITE_LOG,
    },
    "RelayRole": {
        "${OutboxTable.Arn}": {"dynamodb:Query", "dynamodb:GetItem", "dynamodb:UpdateItem"},
        "${OutboxTable.Arn}/index/ready": {"dynamodb:Query"},
        "${RevalidateQueue.Arn}": {"sqs:SendMessage"},
        "${OutboxPipe.Arn}": {"pipes:DescribePipe"},
        "${RelayLogGroup.Arn}": _WRITE_LOG,
    },
    "RelayScheduleRole": {"${RelayFunction.Arn}": {"lambda:InvokeFunction"}},
    "ReconcileRole": {
        "${EventsTable.Arn}": {"dynamodb:PutItem"},
        "${OutboxTable.Arn}": {"dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem"},
        "${RoutesTable.Arn}": {"dynamodb:Scan"},
        "${TargetsSecret.Id}": {"secretsmanager:GetSecretValue"},
        "${ReconcileLogGroup.Arn}": _WRITE_LOG,
    },
    "ReconcileScheduleRole": {"${ReconcileFunction.Arn}": {"lambda:InvokeFunction"}},
    "OperatorRole": _EVIDENCE
    | {
        "${OutboxTable.Arn}": {"dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem"},
        "${OutboxTable.Arn}/index/by_state": {"dynamodb:Query"},
        "${RoutesTable.Arn}": {
            "dynamodb:BatchGetItem",
            "dynamodb:Query",
            "dynamodb:Scan",
            "dynamodb:PutItem",
            "dynamodb:DeleteItem",
            "dynamodb:ConditionCheckItem",
        },
        "${TargetsSecret.Id}": {"secretsmanager:GetSecretValue"},
        "${OperatorLogGroup.Arn}": _WRITE_LOG,
    },
    "DeadLettersRole": {
        "${OutboxTable.Arn}/index/ready": {"dynamodb:Query"},
        "${OutboxTable.Arn}": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
        "${RevalidateDeadLetterQueue.Arn}": {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"},
        "${PipeDeadLetterQueue.Arn}": {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"},
        "${AlarmTopic}": {"sns:Publish"},
        "${AlarmKey.Arn}": {"kms:Decrypt", "kms:GenerateDataKey"},
        "${DeadLettersLogGroup.Arn}": _WRITE_LOG,
    },
    "DeadLettersScheduleRole": {"${DeadLettersFunction.Arn}": {"lambda:InvokeFunction"}},
    "OutboxPipeRole": {
        "${OutboxTable.StreamArn}": {
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
            "dynamodb:ListStreams",
        },
        "${RevalidateQueue.Arn}": {"sqs:SendMessage"},
        "${PipeDeadLetterQueue.Arn}": {"sqs:SendMessage"},
    },
}
# Who may take on each role.
TRUST = {
    "WebhookRole": "lambda.amazonaws.com",
    "ConsumerRole": "lambda.amazonaws.com",
    "RelayRole": "lambda.amazonaws.com",
    "RelayScheduleRole": "scheduler.amazonaws.com",
    "ReconcileRole": "lambda.amazonaws.com",
    "ReconcileScheduleRole": "scheduler.amazonaws.com",
    "OperatorRole": "lambda.amazonaws.com",
    "DeadLettersRole": "lambda.amazonaws.com",
    "DeadLettersScheduleRole": "scheduler.amazonaws.com",
}
# How often each schedule runs what.
SCHEDULES = {"RelayFunction": "rate(1 minute)", "ReconcileFunction": "rate(15 minutes)", "DeadLettersFunction": "rate(5 minutes)"}
# What evidence may be done to. Anything beyond could change or delete it.
EVIDENCE_VERBS = {"dynamodb:PutItem", "dynamodb:GetItem", "dynamodb:Query"}

# Alarms an operator must have: namespace, metric, and what its dimension refers to.
ALARMS = {
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "PipeDeadLetterQueue"),
    ("AWS/EventBridge/Pipes", "ExecutionFailed", "OutboxPipe"),
    ("AWS/EventBridge/Pipes", "TargetStageFailed", "OutboxPipe"),
    ("Cascata", "PipeRunning", "Stage"),
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "RevalidateDeadLetterQueue"),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage", "RevalidateQueue"),
    ("Cascata", "OutboxOldestReadyAge", "Stage"),
    ("Cascata", "OutboxDied", "Stage"),
    ("Cascata", "EventsInReview", "Stage"),
    ("Cascata", "RecordsFailed", "Stage"),
    ("Cascata", "TargetOutage", "Stage"),
    ("Cascata", "KeysRefused", "Stage"),
    ("Cascata", "CascadeBoundHit", "Stage"),
    ("Cascata", "SignatureRefused", "Stage"),
    ("Cascata", "WebhookFaults", "Stage"),
    ("Cascata", "ReconcileRuns", "Stage"),
    ("Cascata", "SweepsCompleted", "Stage"),
    ("Cascata", "EventsReconciled", "Stage"),
    ("Cascata", "DeadLetterRuns", "Stage"),
    ("AWS/ApiGateway", "4xx", "HttpApi"),
    ("AWS/ApiGateway", "5xx", "HttpApi"),
} | {("AWS/Lambda", metric, function) for metric in ("Errors", "Throttles") for function in FUNCTIONS}

# What the dashboard must answer.
DASHBOARD = {
    "OutboxReady",
    "OutboxOldestReadyAge",
    "RecordsFailed",
    "KeysRefused",
    "OutboxDied",
    "EventsLate",
    "SignatureRefused",
    "RequestsRefused",
    "Gaps",
    "EventsReconciled",
    "ApproximateAgeOfOldestMessage",
    "ReceiptToApplied",
}
