"""The Pipe as it was deployed: the processed template's resource with its intrinsics resolved against the stack."""

from typing import Any

import yaml

from ..aws import Aws, arn
from ..places import ACCOUNT, REGION
from .definition import PipeDefinition, PipeRefused, read
from .intrinsics import Resolver, Unresolvable

PIPE = "AWS::Pipes::Pipe"


def pipe_properties(aws: Aws, stack: str) -> dict[str, Any]:
    """The resolved properties of the stack's only Pipe. Raises `PipeRefused` when there is none, or more than one."""
    cloudformation = aws.client("cloudformation")
    template = cloudformation.get_template(StackName=stack, TemplateStage="Processed")["TemplateBody"]
    if isinstance(template, str):
        template = yaml.safe_load(template)
    pipes = {name: body for name, body in template["Resources"].items() if body["Type"] == PIPE}
    if len(pipes) != 1:
        raise PipeRefused([f"the stack has {len(pipes)} resources of type {PIPE}, not one"])
    (body,) = pipes.values()
    described = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
    parameters = {
        name: str(declared["Default"])
        for name, declared in template.get("Parameters", {}).items()
        if "Default" in declared
    }
    parameters |= {
        entry["ParameterKey"]: entry["ParameterValue"] for entry in described.get("Parameters", [])
    }
    physical = physical_ids(aws, stack)
    resolver = Resolver(
        template=template,
        parameters=parameters,
        physical=physical,
        attribute=lambda logical, name: _attribute(aws, template, physical, logical, name),
        pseudo={
            "AWS::Region": REGION,
            "AWS::AccountId": ACCOUNT,
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::StackName": described["StackName"],
            "AWS::StackId": described["StackId"],
        },
    )
    try:
        return resolver.resolve(body["Properties"])
    except Unresolvable as problem:
        raise PipeRefused([str(problem)]) from None


def deployed_pipe(aws: Aws, stack: str) -> PipeDefinition:
    """The stack's Pipe, checked; raises `PipeRefused`."""
    return read(pipe_properties(aws, stack), REGION, ACCOUNT)


def physical_ids(aws: Aws, stack: str) -> dict[str, str]:
    """Physical ids by logical id."""
    pages = aws.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
    return {
        entry["LogicalResourceId"]: entry["PhysicalResourceId"]
        for page in pages
        for entry in page["StackResourceSummaries"]
    }


def _attribute(aws: Aws, template: dict[str, Any], physical: dict[str, str], logical: str, name: str) -> str:
    if logical not in physical:
        raise Unresolvable(f"Fn::GetAtt of `{logical}`, which the stack does not have")
    kind, identity = template["Resources"][logical]["Type"], physical[logical]
    if kind == "AWS::DynamoDB::Table":
        table = aws.client("dynamodb").describe_table(TableName=identity)["Table"]
        found = {"Arn": table["TableArn"], "StreamArn": table.get("LatestStreamArn")}
    elif kind == "AWS::SQS::Queue":
        answer = aws.client("sqs").get_queue_attributes(QueueUrl=identity, AttributeNames=["QueueArn"])
        queue_arn = answer["Attributes"]["QueueArn"]
        found = {"Arn": queue_arn, "QueueName": queue_arn.rsplit(":", 1)[-1], "QueueUrl": identity}
    elif kind == "AWS::IAM::Role":
        found = {"Arn": aws.client("iam").get_role(RoleName=identity)["Role"]["Arn"]}
    elif kind == "AWS::Logs::LogGroup":
        found = {"Arn": arn("logs", f"log-group:{identity}:*")}
    elif kind == "AWS::KMS::Key":
        found = {"Arn": arn("kms", f"key/{identity}"), "KeyId": identity}
    else:
        raise Unresolvable(f"Fn::GetAtt of a {kind} is not supported here")
    if not found.get(name):
        raise Unresolvable(f"`{logical}` has no attribute `{name}`")
    return found[name]
