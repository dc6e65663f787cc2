"""Ways to break the tables."""

from .mutation import REMOVED, properties

EVENTS = properties("EventsTable")
OUTBOX = properties("OutboxTable")
ROUTES = properties("RoutesTable")

MUTATIONS = {
    "table-keys": [
        ("index of READY items missing", f"{OUTBOX}.GlobalSecondaryIndexes.0", REMOVED),
        (
            "index sorted by another attribute",
            f"{OUTBOX}.GlobalSecondaryIndexes.0.KeySchema.1.AttributeName",
            "received_at",
        ),
        ("table without its sort key", f"{ROUTES}.KeySchema.1", REMOVED),
    ],
    "table-projections": [
        (
            "READY index without the age",
            f"{OUTBOX}.GlobalSecondaryIndexes.0.Projection",
            {"ProjectionType": "KEYS_ONLY"},
        ),
        (
            "payload stored twice",
            f"{EVENTS}.GlobalSecondaryIndexes.0.Projection",
            {"ProjectionType": "ALL"},
        ),
    ],
    "table-billing": [
        ("table not on demand", f"{ROUTES}.BillingMode", "PROVISIONED"),
    ],
    "table-ttl": [
        ("TTL missing", f"{EVENTS}.TimeToLiveSpecification", REMOVED),
        ("TTL switched off", f"{OUTBOX}.TimeToLiveSpecification.Enabled", False),
        ("TTL by another attribute", f"{OUTBOX}.TimeToLiveSpecification.AttributeName", "next_attempt"),
    ],
    "table-recovery": [
        ("PITR missing", f"{EVENTS}.PointInTimeRecoverySpecification", REMOVED),
        ("PITR switched off", f"{OUTBOX}.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled", False),
    ],
    "table-encryption": [
        ("table encryption not stated", f"{EVENTS}.SSESpecification", REMOVED),
    ],
    "table-retained": [
        ("table deleted with the stack", "Resources.EventsTable.DeletionPolicy", REMOVED),
        ("table kept after a failed creation", "Resources.OutboxTable.DeletionPolicy", "Retain"),
        ("table deleted when replaced", "Resources.RoutesTable.UpdateReplacePolicy", REMOVED),
    ],
    "table-protection": [
        ("no deletion protection", f"{EVENTS}.DeletionProtectionEnabled", REMOVED),
        ("protection the wrong way round", "Conditions.ProtectsTables.Fn::Equals.1", "false"),
    ],
    "table-stream": [
        ("no stream", f"{OUTBOX}.StreamSpecification", REMOVED),
        ("stream of keys", f"{OUTBOX}.StreamSpecification.StreamViewType", "KEYS_ONLY"),
        ("stream of the events", f"{EVENTS}.StreamSpecification", {"StreamViewType": "NEW_IMAGE"}),
    ],
}
