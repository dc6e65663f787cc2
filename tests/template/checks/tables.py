"""The tables."""

from contract import TABLES
from model import reference

from . import check


def _keys(schema):
    keys = {each["KeyType"]: each["AttributeName"] for each in schema}
    return keys.get("HASH"), keys.get("RANGE")


def _tables(template):
    return template.of_type("AWS::DynamoDB::Table")


@check
def table_keys(template):
    for name, wanted in TABLES.items():
        table = template.properties(name)
        found = {"": _keys(table.get("KeySchema", []))}
        for index in table.get("GlobalSecondaryIndexes", []):
            found[index["IndexName"]] = _keys(index["KeySchema"])
        if found != wanted:
            yield f"{name} has the keys {found}"


@check
def table_projections(template):
    """What an index holds is written and paid for again with each change of it."""
    for name, index, wanted in (
        ("OutboxTable", "ready", {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["accepted_at"]}),
        ("EventsTable", "by_document", None),
    ):
        for each in template.properties(name).get("GlobalSecondaryIndexes", []):
            if each["IndexName"] == index:
                projection = each["Projection"]
                if wanted is not None and projection != wanted:
                    yield f"{index} holds {projection}; the relay needs accepted_at and nothing else"
                if projection["ProjectionType"] == "ALL" or "payload" in projection.get(
                    "NonKeyAttributes", []
                ):
                    yield f"{index} holds the payload a second time"


@check
def table_billing(template):
    for name, table in _tables(template).items():
        if table.get("BillingMode") != "PAY_PER_REQUEST":
            yield f"{name} is not on demand"


@check
def table_ttl(template):
    for name, table in _tables(template).items():
        if table.get("TimeToLiveSpecification") != {"AttributeName": "expires_at", "Enabled": True}:
            yield f"{name} does not expire items by expires_at"


@check
def table_recovery(template):
    for name, table in _tables(template).items():
        if table.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled") is not True:
            yield f"{name} has no point-in-time recovery"


@check
def table_encryption(template):
    for name, table in _tables(template).items():
        if table.get("SSESpecification", {}).get("SSEEnabled") is not True:
            yield f"{name} does not state that it is encrypted"


@check
def table_retained(template):
    for name in _tables(template):
        resource = template.resources[name]
        if resource.get("DeletionPolicy") != "RetainExceptOnCreate":
            yield f"{name} is deleted with the stack"
        if resource.get("UpdateReplacePolicy") != "Retain":
            yield f"{name} is deleted when it is replaced"


@check
def table_protection(template):
    for name, table in _tables(template).items():
        if table.get("DeletionProtectionEnabled") != {"Fn::If": ["ProtectsTables", True, False]}:
            yield f"{name} is not protected by DeletionProtection"
    condition = (
        template.source.get("Conditions", {}).get("ProtectsTables", {}).get("Fn::Equals", [None, None])
    )
    if reference(condition[0]) != ("DeletionProtection", None) or condition[1] != "true":
        yield "ProtectsTables does not follow the parameter"


@check
def table_stream(template):
    """The stream is what the Pipe reads: new images, of the outbox alone."""
    for name, table in _tables(template).items():
        wanted = {"StreamViewType": "NEW_IMAGE"} if name == "OutboxTable" else None
        if table.get("StreamSpecification") != wanted:
            yield f"{name} has the stream {table.get('StreamSpecification')}"
