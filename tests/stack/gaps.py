"""What the emulator leaves out of a deployment, made up for from the deployed template itself.

- The `Body` of an HTTP API is ignored: its routes are added one by one.
- Batches of SQS calls are checked against rights of their own (`sqs:SendMessageBatch`), which AWS does not know: there
  `sqs:SendMessage` allows both. A role that grants the one on a queue is given the other on that queue, and no more.
"""

import json
from typing import Any

import yaml

from .aws import Aws
from .roles import BATCHES

API = "AWS::ApiGatewayV2::Api"
ROLE = "AWS::IAM::Role"
ANY_METHOD = "x-amazon-apigateway-any-method"
INTEGRATION = "x-amazon-apigateway-integration"
BATCH_POLICY = "emulator-batches"


def add_routes(aws: Aws, template: Any, ids: dict[str, str]) -> str:
    """Adds the routes of the template's only HTTP API; answers the API's id."""
    ((api, body),) = _of_type(template, API).items()
    client = aws.client("apigatewayv2")
    for path, methods in body["Properties"]["Body"]["paths"].items():
        for method, operation in methods.items():
            integration = operation[INTEGRATION]
            created = client.create_integration(
                ApiId=ids[api],
                IntegrationType=integration["type"].upper(),
                IntegrationMethod=integration.get("httpMethod", "POST"),
                IntegrationUri=_function_arn(aws, integration["uri"], ids),
                PayloadFormatVersion=str(integration["payloadFormatVersion"]),
            )
            verb = "ANY" if method == ANY_METHOD else method.upper()
            key = "$default" if path == "/$default" else f"{verb} {path}"
            client.create_route(
                ApiId=ids[api], RouteKey=key, Target=f"integrations/{created['IntegrationId']}"
            )
    return ids[api]


def _function_arn(aws: Aws, uri: Any, ids: dict[str, str]) -> str:
    """The function that `…/functions/${Name.Arn}/invocations` means."""
    text = uri["Fn::Sub"] if isinstance(uri, dict) else uri
    logical = text.split("/functions/${", 1)[1].split(".Arn}", 1)[0]
    return aws.client("lambda").get_function_configuration(FunctionName=ids[logical])["FunctionArn"]


def allow_batches(aws: Aws, template: Any, ids: dict[str, str]) -> None:
    """Gives every role of the stack the batch form of the SQS rights it has."""
    iam = aws.client("iam")
    for logical in _of_type(template, ROLE):
        statements = []
        for name in iam.list_role_policies(RoleName=ids[logical])["PolicyNames"]:
            document = iam.get_role_policy(RoleName=ids[logical], PolicyName=name)["PolicyDocument"]
            for statement in document["Statement"]:
                batches = [BATCHES[action] for action in _list(statement.get("Action")) if action in BATCHES]
                if batches and statement["Effect"] == "Allow":
                    statements.append(
                        {"Effect": "Allow", "Action": batches, "Resource": statement["Resource"]}
                    )
        if statements:
            policy = {"Version": "2012-10-17", "Statement": statements}
            iam.put_role_policy(
                RoleName=ids[logical], PolicyName=BATCH_POLICY, PolicyDocument=json.dumps(policy)
            )


def _of_type(template: Any, kind: str) -> dict[str, Any]:
    parsed = yaml.safe_load(template) if isinstance(template, str) else template
    return {name: body for name, body in parsed["Resources"].items() if body["Type"] == kind}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
