"""The Pipe's own role: who may assume it, and credentials that carry exactly its policies.

On AWS the service assumes the role with the Pipe's ARN as source, and the trust policy's confused-deputy conditions
are checked against it. The emulator's STS knows no source, so the trust policy is checked here, and the role is then
assumed through a trust that is put in place for that one call and taken back. The credentials are the role's: what its
policies do not grant, the emulator denies, and a change of them counts from the next request on.
"""

import fnmatch
from typing import Any

from ..roles import assumed

SERVICE = "pipes.amazonaws.com"
SOURCE_ACTIONS = (
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
)


class RoleRefused(ValueError):
    """EventBridge Pipes could not assume the role, or not read its source with it."""


def check_trust(policy: dict[str, Any], pipe_arn: str, account: str) -> None:
    """Raises `RoleRefused` unless the policy lets this Pipe, and not the Pipe of just anybody, assume the role."""
    context = {"aws:sourceaccount": account, "aws:sourcearn": pipe_arn}
    allowed = False
    for statement in _list(policy.get("Statement")):
        if "sts:AssumeRole" not in _list(statement.get("Action")):
            continue
        if SERVICE not in _list(_services(statement.get("Principal"))):
            continue
        if not _conditions_hold(statement.get("Condition", {}), context):
            continue
        if statement.get("Effect") == "Deny":
            raise RoleRefused(f"the role's trust policy denies {SERVICE} with source {pipe_arn}")
        allowed = True
    if not allowed:
        raise RoleRefused(f"the role's trust policy does not let {SERVICE} assume it for {pipe_arn}")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _services(principal: Any) -> Any:
    return principal.get("Service") if isinstance(principal, dict) else None


def _conditions_hold(conditions: dict[str, Any], context: dict[str, str]) -> bool:
    compare = {
        "StringEquals": lambda actual, wanted: actual == wanted,
        "StringLike": fnmatch.fnmatchcase,
        "ArnEquals": fnmatch.fnmatchcase,
        "ArnLike": fnmatch.fnmatchcase,
    }
    for operator, keys in conditions.items():
        if operator not in compare:
            raise RoleRefused(f"the condition operator {operator} is not supported here")
        for key, wanted in keys.items():
            actual = context.get(key.lower())
            if actual is None or not any(compare[operator](actual, entry) for entry in _list(wanted)):
                return False
    return True


def check_source_rights(iam, role_arn: str, stream_arn: str) -> None:
    """Raises `RoleRefused` unless the role may read the stream.

    Asked of IAM's simulator: the emulator names no resource when it checks a call of the Streams API, and so denies
    every policy that, as it should, names the stream. Reading is therefore done as root, after this.
    """
    answer = iam.simulate_principal_policy(
        PolicySourceArn=role_arn, ActionNames=list(SOURCE_ACTIONS), ResourceArns=[stream_arn]
    )
    denied = [
        one["EvalActionName"] for one in answer["EvaluationResults"] if one["EvalDecision"] != "allowed"
    ]
    if denied:
        raise RoleRefused(f"the role does not grant {', '.join(sorted(denied))} on {stream_arn}")


def assume(iam, sts, role_arn: str, pipe_arn: str, account: str) -> dict[str, str]:
    """Credentials of the role, as keyword arguments of a boto3 client. `iam` and `sts` are the root's clients."""
    name = role_arn.rsplit("/", 1)[-1]
    declared = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    check_trust(declared, pipe_arn, account)
    return assumed(iam, sts, role_arn, account)
