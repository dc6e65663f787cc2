"""Roles and their rights: exactly what the code asks for, on exactly what it asks it of."""

from contract import EVIDENCE_POLICY, EVIDENCE_VERBS, FUNCTIONS, RIGHTS, TRUST
from model import as_list, reference, text

from . import check


def _own_statements(template):
    """Every statement written in a role: the role's logical id and the statement."""
    for role, properties in template.of_type("AWS::IAM::Role").items():
        for policy in as_list(properties.get("Policies")):
            for statement in as_list(policy["PolicyDocument"]["Statement"]):
                yield role, statement


def _statements(template):
    """Those, and the ones that the role has by a policy of this template."""
    yield from _own_statements(template)
    for role, properties in template.of_type("AWS::IAM::Role").items():
        for arn in as_list(properties.get("ManagedPolicyArns")):
            policy = template.properties(reference(arn)[0])
            for statement in as_list(policy.get("PolicyDocument", {}).get("Statement")):
                yield role, statement


def _has_wildcard(value):
    return "*" in text(value)


def _grants(template):
    """Role -> resource -> verbs."""
    grants = {role: {} for role in template.of_type("AWS::IAM::Role")}
    for role, statement in _statements(template):
        for resource in as_list(statement.get("Resource")):
            for action in as_list(statement.get("Action")):
                grants[role].setdefault(text(resource), set()).add(action)
    return grants


@check
def role_wildcards(template):
    for role, statement in _statements(template):
        if statement.get("Effect") != "Allow":
            yield f"{role}: a statement that does not allow is not read by these checks"
        if "NotAction" in statement or "NotResource" in statement:
            yield f"{role}: NotAction and NotResource grant what nobody listed"
        for action in as_list(statement.get("Action")):
            if _has_wildcard(action):
                yield f"{role}: action {action}"
        for resource in as_list(statement.get("Resource")):
            if _has_wildcard(resource):
                yield f"{role}: resource {text(resource)}"


@check
def evidence_is_only_added(template):
    for role, statement in _statements(template):
        if any(reference(resource)[0] == "EventsTable" for resource in as_list(statement.get("Resource"))):
            for action in as_list(statement.get("Action")):
                if action not in EVIDENCE_VERBS and not _has_wildcard(action):
                    yield f"{role} may {action} on the events table"


@check
def evidence_has_one_policy_of_readers(template):
    for role, statement in _own_statements(template):
        if any(text(resource).startswith("${EventsTable") for resource in as_list(statement.get("Resource"))):
            for action in as_list(statement.get("Action")):
                if action in EVIDENCE_VERBS - {"dynamodb:PutItem"}:
                    yield f"{role} may {action} on the evidence without {EVIDENCE_POLICY}"
    if "Roles" in template.properties(EVIDENCE_POLICY):
        yield f"{EVIDENCE_POLICY} attaches itself; its readers say so themselves"
    if not any(output.get("Value") == {"Ref": EVIDENCE_POLICY} for output in template.outputs.values()):
        yield f"no output names {EVIDENCE_POLICY}, so nobody can be given it"


@check
def role_lacks_right(template):
    grants = _grants(template)
    for role, wanted in RIGHTS.items():
        for resource, verbs in wanted.items():
            for verb in sorted(verbs - grants.get(role, {}).get(resource, set())):
                service = verb.split(":")[0] + ":*"
                everything = {verb, service, "*"} & grants.get(role, {}).get("*", set())
                if not everything and service not in grants.get(role, {}).get(resource, set()):
                    yield f"{role} may not {verb} on {resource}"


@check
def role_has_needless_right(template):
    for role, granted in _grants(template).items():
        for resource, verbs in granted.items():
            if "*" in resource:
                continue
            excess = verbs - RIGHTS.get(role, {}).get(resource, set())
            if resource == "${EventsTable.Arn}":
                # Reading and changing it are reported by checks of their own.
                excess &= {"dynamodb:PutItem"}
            for verb in sorted(verb for verb in excess if "*" not in verb):
                yield f"{role} may {verb} on {resource}, which it has no use for"


@check
def role_is_explicit(template):
    """One role a function, with inline policies, which say at the role what it may do; the evidence's readers alone share one."""
    roles = template.of_type("AWS::IAM::Role")
    seen = []
    for name in FUNCTIONS:
        role, _ = reference(template.properties(name).get("Role"))
        seen.append(role)
        if role not in template.source["Resources"]:
            yield f"the role of {name} is not declared here"
    if len(seen) != len(set(seen)):
        yield "two functions share a role"
    for name, role in roles.items():
        for arn in as_list(role.get("ManagedPolicyArns")):
            if reference(arn)[0] != EVIDENCE_POLICY:
                yield f"{name} has a managed policy, which grants more than it needs: {text(arn)}"
    for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy"):
        for name in template.of_type(kind):
            if name != EVIDENCE_POLICY:
                yield f"{name} is a policy apart from its role"


@check
def role_trust(template):
    """Who may take on a role; a service that acts for many accounts only on behalf of this one."""
    for name, service in TRUST.items():
        for statement in as_list(
            template.properties(name).get("AssumeRolePolicyDocument", {}).get("Statement")
        ):
            if statement.get("Principal") != {"Service": service}:
                yield f"{name} is trusted to {statement.get('Principal')}, not to {service}"
            condition = statement.get("Condition", {}).get("StringEquals", {})
            if service != "lambda.amazonaws.com" and not {"aws:SourceAccount", "aws:SourceArn"} <= set(
                condition
            ):
                yield f"{name} may be taken on for another account"
