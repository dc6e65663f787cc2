"""What belongs to the whole stack: parameters, outputs, names, secrets, the API."""

import json

from contract import OUTPUTS, PARAMETERS, TARGETS_SECRET_KEYS
from model import names_in, reference, text

from . import check

# Where a resource's own name is stated, which must differ between two stacks of one account.
NAME_PROPERTIES = {
    "AWS::ApiGatewayV2::Api": "Name",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::CloudWatch::Dashboard": "DashboardName",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::IAM::Role": "RoleName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::Pipes::Pipe": "Name",
    "AWS::Scheduler::Schedule": "Name",
    "AWS::SecretsManager::Secret": "Name",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SQS::Queue": "QueueName",
}


@check
def parameters(template):
    if set(template.parameters) != set(PARAMETERS):
        yield f"parameters differ: {sorted(set(template.parameters) ^ set(PARAMETERS))}"
    for name, parameter in template.parameters.items():
        if not parameter.get("Description"):
            yield f"{name} has no description"
        bounded = {"MinValue", "MaxValue"} <= set(parameter)
        if not (bounded or "AllowedPattern" in parameter or "AllowedValues" in parameter):
            yield f"{name} takes anything"


@check
def outputs(template):
    if not set(OUTPUTS) <= set(template.outputs):
        yield f"outputs are missing: {sorted(set(OUTPUTS) - set(template.outputs))}"
    for name, output in template.outputs.items():
        if not output.get("Description"):
            yield f"{name} has no description"


@check
def names_of_this_stack(template):
    for name, resource in template.resources.items():
        field = NAME_PROPERTIES.get(resource["Type"])
        stated = resource.get("Properties", {}).get(field) if field else None
        if stated is not None and "${AWS::StackName}" not in text(stated):
            yield f"{name} has the fixed name {text(stated)}: a second stack could not be created"


@check
def webhook_secret(template):
    secret = template.properties("WebhookSecret")
    generate = secret.get("GenerateSecretString", {})
    if "SecretString" in secret:
        yield "the webhook secret stands in the template"
    elif generate.get("PasswordLength", 32) < 32:
        yield "the webhook secret is shorter than 32 characters"
    elif generate.get("ExcludePunctuation") is not True:
        yield "the webhook secret has characters that forms and shells change"


@check
def targets_secret(template):
    try:
        values = json.loads(template.properties("TargetsSecret").get("SecretString"))
    except (TypeError, ValueError):
        yield "the secret of the targets is not JSON"
        return
    if set(values) != TARGETS_SECRET_KEYS:
        yield f"the secret of the targets has {sorted(values)}"
    if any(values.values()):
        yield "a token stands in the template"


@check
def api_route(template):
    routes = [
        (path, method, operation.get("x-amazon-apigateway-integration", {}))
        for api in template.of_type("AWS::ApiGatewayV2::Api").values()
        for path, methods in api.get("Body", {}).get("paths", {}).items()
        for method, operation in methods.items()
    ]
    found = [(path, method) for path, method, _ in routes]
    if found != [("/webhooks/sanity", "x-amazon-apigateway-any-method")]:
        yield f"the routes are {found}; a method without a route would not get this project's answer"
    for path, _, integration in routes:
        if integration.get("payloadFormatVersion") != "2.0":
            yield f"{path} hands over payload format {integration.get('payloadFormatVersion')}"
        if "WebhookFunction" not in names_in(integration.get("uri")):
            yield f"{path} does not call the webhook function"


@check
def api_throttling(template):
    for name, stage in template.of_type("AWS::ApiGatewayV2::Stage").items():
        settings = stage.get("DefaultRouteSettings", {})
        for field, parameter in (
            ("ThrottlingRateLimit", "ThrottleRate"),
            ("ThrottlingBurstLimit", "ThrottleBurst"),
        ):
            if reference(settings.get(field)) != (parameter, None):
                yield f"{name} does not take {field} from {parameter}"
