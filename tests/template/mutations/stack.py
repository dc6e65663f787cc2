"""Ways to break what belongs to the whole stack."""

from .mutation import REMOVED, properties

MUTATIONS = {
    "parameters": [
        ("parameter that takes anything", "Parameters.SanityDatasets.AllowedPattern", REMOVED),
        ("parameter without a description", "Parameters.Stage.Description", REMOVED),
        (
            "parameter nobody knows of",
            "Parameters.Extra",
            {"Type": "String", "Default": "", "AllowedPattern": "^$", "Description": "Extra"},
        ),
    ],
    "outputs": [
        ("output missing", "Outputs.WebhookUrl", REMOVED),
        ("output without a description", "Outputs.DashboardUrl.Description", REMOVED),
    ],
    "names-of-this-stack": [
        ("function with a fixed name", properties("RelayFunction", "FunctionName"), "relay"),
        ("table with a fixed name", properties("RoutesTable", "TableName"), "routes"),
        ("schedule named by SAM", properties("RelayFunction", "Events.Minute.Properties.Name"), REMOVED),
    ],
    "webhook-secret": [
        ("webhook secret in the template", properties("WebhookSecret"), {"SecretString": "7f3a9c"}),
        (
            "webhook secret of 16 characters",
            properties("WebhookSecret", "GenerateSecretString.PasswordLength"),
            16,
        ),
        (
            "webhook secret with punctuation",
            properties("WebhookSecret", "GenerateSecretString.ExcludePunctuation"),
            REMOVED,
        ),
    ],
    "targets-secret": [
        (
            "token in the template",
            properties("TargetsSecret", "SecretString"),
            '{"sanity_token":"","stellate_token":"7f3a9c","storefront_secret":""}',
        ),
        (
            "token missing",
            properties("TargetsSecret", "SecretString"),
            '{"sanity_token":"","stellate_token":""}',
        ),
    ],
    "api-route": [
        ("POST alone", properties("WebhookFunction", "Events.Sanity.Properties.Method"), "POST"),
        ("another path", properties("WebhookFunction", "Events.Sanity.Properties.Path"), "/webhook"),
        (
            "payload format 1.0",
            properties("WebhookFunction", "Events.Sanity.Properties.PayloadFormatVersion"),
            "1.0",
        ),
    ],
    "api-throttling": [
        ("API not throttled", properties("HttpApi", "DefaultRouteSettings"), REMOVED),
        ("throttling fixed", properties("HttpApi", "DefaultRouteSettings.ThrottlingRateLimit"), 10),
    ],
}
