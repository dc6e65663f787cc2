"""What each sample of events/ must lead to. A sample without an entry here fails the tests.

The order is the order in which they run; `after` names the samples that a sample builds upon, which are run first when
it is run alone.
"""

from dataclasses import dataclass, field

import content
from content import Edit
from make_events import BROKEN_BODY, batches, event_id_of

WEBHOOK, CONSUMER, RELAY = "WebhookFunction", "ConsumerFunction", "RelayFunction"
RECONCILE, OPERATOR, DEAD_LETTERS = "ReconcileFunction", "OperatorFunction", "DeadLettersFunction"


@dataclass(frozen=True)
class Request:
    """A request to the webhook function."""

    status: int
    # Part of the JSON answer.
    answer: dict
    # Part of the function's metrics.
    metrics: dict
    # The edit whose event and outbox item are stored under the ids that content.py computes.
    edit: Edit | None = None
    # The outbox item's state, and whether it may be sent.
    state: str | None = None
    ready: bool = False
    # Part of the event record.
    event: dict = field(default_factory=dict)
    # Events that the request adds.
    adds: int = 0
    headers: dict = field(default_factory=dict)
    after: tuple = ()
    function = WEBHOOK


@dataclass(frozen=True)
class Batch:
    """A batch to the consumer function."""

    # Places in the batch of the records reported as failed.
    failed: tuple
    # Edits whose outbox items are applied and sent afterwards.
    applied: tuple
    # (type, key) purged from the GraphQL CDN, and slugs revalidated: these and no others.
    purged: frozenset
    revalidated: frozenset
    after: tuple
    metrics: dict = field(default_factory=dict)
    function = CONSUMER

    def failures(self, name: str) -> list[dict]:
        """The answer's list of failures."""
        records = batches()[name]
        return [{"itemIdentifier": records[place]["messageId"]} for place in self.failed]


@dataclass(frozen=True)
class Schedule:
    """A run of the relay: edits whose items it sends to the queue. Repeats that have become due may join them."""

    resent: tuple
    metrics: dict
    after: tuple
    function = RELAY


@dataclass(frozen=True)
class Asked:
    """A request to the operator function, or a run of reconcile or of the dead letters."""

    # Part of the answer, at any depth.
    answer: dict
    metrics: dict = field(default_factory=dict)
    after: tuple = ()
    # Items that it adds to the outbox; none for whatever is not to be counted.
    adds: int | None = 0
    function: str = OPERATOR


def accepted(edit: Edit, **more) -> Request:
    """A new event that is to be handled."""
    answer = {"received": True, "duplicate": False, "event_id": event_id_of(edit)}
    return Request(
        200, answer, {"EventsAccepted": 1}, edit, "pending", ready=True, adds=1,
        **{"event": {"verified_by": "current"}, **more},
    )


def ignored(edit: Edit, reason: str) -> Request:
    """An event that is stored and left alone."""
    return Request(
        200, {"received": True, "event_id": event_id_of(edit), "state": "ignored", "reason": reason},
        {"EventsIgnored": 1}, edit, "ignored", adds=1,
    )


def in_review(reason: str) -> Request:
    """An event that is stored for a person."""
    return Request(200, {"received": True, "state": "in_review", "reason": reason}, {"EventsInReview": 1}, adds=1)


def refused(status: int, error: str, metric: str, **more) -> Request:
    """A request of which nothing is stored."""
    return Request(status, {"error": error}, {metric: 1}, **more)


EXPECTED = {
    # ------------------------------------------------------------------------------------------------ webhook
    "publish": accepted(content.MOKA_PUBLISHED, event={
        "provider": "sanity", "project": content.PROJECT, "dataset": content.DATASET, "document_id": "product-moka",
        "document_type": "product", "operation": "create", "verified_by": "current",
    }),
    "duplicate": Request(
        200, {"received": True, "duplicate": True, "event_id": event_id_of(content.MOKA_PUBLISHED)},
        {"EventsDuplicate": 1}, content.MOKA_PUBLISHED, "pending", ready=True, after=("publish",),
    ),
    "projection": accepted(content.MOKA_RENAMED),
    "whole-document": accepted(content.ARTICLE),
    "delete": accepted(content.SALE_DELETED),
    "component": accepted(content.BANNER),
    "base64-body": accepted(content.CATEGORY),
    "previous-secret": accepted(content.ABOUT, event={"verified_by": "previous"}),
    "unknown-type": accepted(content.TESTIMONIAL),
    "draft": ignored(content.DRAFT, "draft_or_version"),
    "ignored-type": ignored(content.FILE, "type_ignored"),
    "not-json": in_review("not_json"),
    "not-an-object": in_review("not_an_object"),
    "not-utf8": in_review("not_utf8"),
    "no-document-id": in_review("no_document_id"),
    "bad-signature": refused(401, "signature_mismatch", "SignatureRefused"),
    "malformed-signature": refused(400, "signature_malformed", "SignatureRefused"),
    "no-signature": refused(401, "signature_missing", "SignatureRefused"),
    "wrong-content-type": refused(415, "content_type", "RequestsRefused"),
    "wrong-method": refused(405, "method", "RequestsRefused", headers={"allow": "POST"}),
    # ----------------------------------------------------------------------------------------------- consumer
    "batch-from-pipe": Batch(
        failed=(),
        applied=(content.MOKA_PUBLISHED, content.MOKA_RENAMED, content.ARTICLE),
        # The kettles are what the product belongs to.
        purged=frozenset({
            ("Product", "product-moka"), ("Article", "article-brewing"), ("Routing", "/moka-express"),
            ("Routing", "/moka-pot-3-cups"), ("Routing", "/moka-pot"), ("Routing", "/how-to-brew"),
            ("Category", "category-kettles"), ("Routing", "/kettles"),
        }),
        revalidated=frozenset({"/moka-express", "/moka-pot-3-cups", "/moka-pot", "/how-to-brew", "/kettles"}),
        after=("publish", "projection", "whole-document"),
        metrics={"EventsApplied": 3},
    ),
    "batch-of-raw-stream-records": Batch(
        failed=(),
        applied=(content.SALE_DELETED, content.BANNER),
        # The banner is on the article, which has been seen before.
        purged=frozenset({
            ("Page", "page-summer-sale"), ("Routing", "/summer-sale"), ("Banner", "banner-winter"),
            ("Article", "article-brewing"), ("Routing", "/how-to-brew"),
        }),
        revalidated=frozenset({"/summer-sale", "/how-to-brew"}),
        after=("delete", "component", "batch-from-pipe"),
        metrics={"EventsApplied": 2},
    ),
    "batch-of-mixed-groups-with-one-bad-record": Batch(
        failed=(0, 2),
        # The kettles are handled all the same: a wake may come twice. Only the report keeps the group's order.
        applied=(content.ABOUT, content.CATEGORY),
        purged=frozenset({
            ("Page", "page-about"), ("Routing", "/about"), ("Category", "category-kettles"), ("Routing", "/kettles"),
            # The product belongs to the kettles.
            ("Product", "product-moka"), ("Routing", "/moka-express"),
        }),
        revalidated=frozenset({"/about", "/kettles", "/moka-express"}),
        after=("base64-body", "previous-secret", "batch-from-pipe"),
        metrics={"EventsApplied": 2, "RecordsFailed": 2},
    ),
    # Accepted and woken after the newer one was applied.
    "delayed": accepted(content.MOKA_DELAYED, after=("batch-from-pipe",)),
    "late-event": Batch(
        failed=(),
        applied=(content.MOKA_DELAYED,),
        purged=frozenset({
            ("Product", "product-moka"), ("Routing", "/moka-express"), ("Routing", "/moka-pot-3-cups"),
            ("Routing", "/moka-pot"), ("Category", "category-kettles"), ("Routing", "/kettles"),
        }),
        revalidated=frozenset({"/moka-express", "/moka-pot-3-cups", "/moka-pot", "/kettles"}),
        after=("batch-from-pipe", "delayed"),
        metrics={"EventsLate": 1},
    ),
    # -------------------------------------------------------------------------------------------------- relay
    # No batch has woken the consumer for this one.
    "relay-schedule": Schedule(
        resent=(content.TESTIMONIAL,),
        metrics={"OutboxDied": 0, "PipeRunning": 1},
        after=("unknown-type",),
    ),
    # ----------------------------------------------------------------------------------------------- operator
    "operator-list": Asked({"state": "in_review", "next": None}, after=("not-json",)),
    "operator-show": Asked(
        {"event": {"document_id": "product-moka", "source": "webhook"}, "item": {"state": "applied"}},
        after=("batch-from-pipe",),
    ),
    "operator-trace": Asked({"document_id": "product-moka", "plan": {"owed": []}}, after=("batch-from-pipe",)),
    "operator-trace-slug": Asked(
        {"slug": "/moka-express", "pages": [{"document_id": "product-moka", "route": "default"}]},
        after=("batch-from-pipe",),
    ),
    "operator-reprocess-dry-run": Asked({"dry_run": True, "count": 1}, after=("batch-from-pipe",)),
    # The item and the record of who asked.
    "operator-reprocess": Asked(
        {"dry_run": False, "count": 1}, {"EventsReprocessed": 1}, after=("batch-from-pipe",), adds=2
    ),
    "operator-reprocess-state": Asked({"dry_run": True, "count": 0, "items": []}),
    # It was applied: there is nothing to settle.
    "operator-settle": Asked({"error": {"code": "refused"}}, after=("batch-from-pipe",)),
    "operator-rebuild": Asked({"dry_run": True, "done": True}),
    # Who asks, and why?
    "operator-bad-request": Asked({"error": {"code": "bad_request"}}, after=("publish",)),
    # ---------------------------------------------------------------------------------------------- reconcile
    "reconcile-schedule": Asked(
        {"changes": [{"dataset": content.DATASET, "entered": 0, "complete": True}], "sweep": {"complete": True}},
        {"ReconcileRuns": 1, "SweepsCompleted": 1}, adds=None, function=RECONCILE,
    ),
    # ------------------------------------------------------------------------------------------- dead letters
    # A wake-up of an event that was applied, and what a new Pipe sends to see whether it can.
    "dead-letters-schedule": Asked(
        {"letters": 2, "settled": 2, "failed": 0, "told": 0, "faults": 0}, {"DeadLetterRuns": 1, "DeadLetters": 0},
        after=("batch-from-pipe",), function=DEAD_LETTERS,
    ),
}

# Nothing of this may appear in what a function prints or answers.
NEVER_SHOWN = (
    "local-webhook-secret", "local-previous-webhook-secret", "local-sanity-token", "local-stellate-token",
    "local-storefront-secret", "Fill it to the valve", "The best coffee", BROKEN_BODY,
)
