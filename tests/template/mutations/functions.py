"""Ways to break the functions."""

from .mutation import REMOVED, properties

WEBHOOK = properties("WebhookFunction")
CONSUMER = properties("ConsumerFunction")
RELAY = properties("RelayFunction")
RECONCILE = properties("ReconcileFunction")
DEAD_LETTERS = properties("DeadLettersFunction")
VARIABLES = "Environment.Variables"
RESOLVED = "{{resolve:secretsmanager:${WebhookSecret}}}"

MUTATIONS = {
    "function-runtime": [
        ("another runtime", "Globals.Function.Runtime", "provided.al2"),
        ("architecture fixed", "Globals.Function.Architectures", ["arm64"]),
    ],
    "function-build": [
        ("function not built from this source", "Resources.RelayFunction.Metadata.BuildMethod", "makefile"),
    ],
    "function-timeout": [
        ("webhook slower than the API", f"{WEBHOOK}.Timeout", 30),
        ("relay runs into the next run", f"{RELAY}.Timeout", 60),
        ("dead letters seen twice in one run", f"{DEAD_LETTERS}.Timeout", 120),
        ("reconcile runs into the next run", f"{RECONCILE}.Timeout", 900),
    ],
    "function-reserved-concurrency": [
        ("reserved concurrency", f"{CONSUMER}.ReservedConcurrentExecutions", 5),
    ],
    "function-log": [
        ("function without a declared log group", f"{WEBHOOK}.LoggingConfig", REMOVED),
        ("log group by its name alone", f"{RELAY}.LoggingConfig.LogGroup", "/aws/lambda/relay"),
        ("logs as text", "Globals.Function.LoggingConfig.LogFormat", "Text"),
        ("two functions in one log group", f"{RELAY}.LoggingConfig.LogGroup", {"Ref": "WebhookLogGroup"}),
    ],
    "log-retention": [
        ("log kept for ever", properties("ConsumerLogGroup", "RetentionInDays"), REMOVED),
        ("log of the Pipe kept for ever", properties("OutboxPipeLogGroup", "RetentionInDays"), REMOVED),
    ],
    "function-environment": [
        ("variable missing", f"{WEBHOOK}.{VARIABLES}.OUTBOX_TABLE", REMOVED),
        ("variable nobody reads", f"{CONSUMER}.{VARIABLES}.QUEUE_URL", {"Ref": "RevalidateQueue"}),
        ("variable from an undeclared parameter", f"{RELAY}.{VARIABLES}.MAX_ATTEMPTS", {"Ref": "Attempts"}),
        ("rule of a path that nobody is told", f"{CONSUMER}.{VARIABLES}.STOREFRONT_LOCALES", REMOVED),
        (
            "variable from another parameter",
            f"{CONSUMER}.{VARIABLES}.STOREFRONT_ENCODE",
            {"Ref": "StorefrontTrailingSlash"},
        ),
        (
            "variable with Fn::If",
            f"{WEBHOOK}.{VARIABLES}.MESSAGE_GROUP",
            {"Fn::If": ["HasDomain", "document", "type"]},
        ),
    ],
    "function-secrets": [
        ("secret value in an environment variable", f"{WEBHOOK}.{VARIABLES}.WEBHOOK_SECRET", "7f3a9c"),
        (
            "secret resolved into a variable",
            f"{WEBHOOK}.{VARIABLES}.LOCAL_WEBHOOK_SECRET",
            {"Fn::Sub": RESOLVED},
        ),
        ("secret resolved under a plain name", f"{CONSUMER}.{VARIABLES}.STELLATE_URL", {"Fn::Sub": RESOLVED}),
        ("token by parameter", f"{CONSUMER}.{VARIABLES}.SANITY_TOKEN", {"Ref": "SanityApiVersion"}),
    ],
    "schedule": [
        ("relay without a schedule", f"{RELAY}.Events", REMOVED),
        ("relay once an hour", f"{RELAY}.Events.Minute.Properties.ScheduleExpression", "rate(1 hour)"),
        ("schedule not switched by the parameter", f"{RELAY}.Events.Minute.Properties.State", REMOVED),
        ("reconcile once a day", f"{RECONCILE}.Events.QuarterHour.Properties.ScheduleExpression", "rate(1 day)"),
    ],
}
