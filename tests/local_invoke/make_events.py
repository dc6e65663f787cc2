"""Writes the samples of events/. Same input, same bytes: signatures, ids and times are fixed.

    python3 tests/local_invoke/make_events.py             writes them
    python3 tests/local_invoke/make_events.py --check     says whether they are what this program would write

The secrets are test values, documented in events/README.md; they are worth nothing anywhere else.
"""

import hashlib
import json
import sys
import uuid
from pathlib import Path

import content
import sanity_webhook
from content import DATASET, PROJECT, Edit

EVENTS = Path(__file__).resolve().parents[2] / "events"
SECRET = "local-webhook-secret"
PREVIOUS_SECRET = "local-previous-webhook-secret"
# Sanity signs a moment after the change.
SIGNED_AFTER_MILLISECONDS = 1500
REGION = "eu-west-1"
ACCOUNT = "123456789012"
QUEUE_ARN = f"arn:aws:sqs:{REGION}:{ACCOUNT}:cascata-revalidate.fifo"
STREAM_ARN = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/cascata-OutboxTable/stream/2025-11-01T00:00:00.000"
RECONCILE_SCHEDULE_ARN = f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/cascata-ReconcileFunctionQuarterHour"
DEAD_LETTERS_SCHEDULE_ARN = f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/cascata-dead-letters"
RELAY_SCHEDULE_ARN = f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/cascata-RelayFunctionMinute"


def signed_at(edit: Edit) -> int:
    """When the delivery of an edit says it was signed, in epoch milliseconds."""
    return edit.second * 1000 + SIGNED_AFTER_MILLISECONDS


# ------------------------------------------------------------------------------------------------- webhook

def delivery(edit: Edit, body: bytes | None = None, secret: str = SECRET, method: str = "POST",
             as_base64: bool = False, later: int = 0, signature: str | None = "", headers: dict | None = None) -> dict:
    """A delivery of an edit. `later` milliseconds after the first one; another `signature` than the true one, or none;
    `headers` on top of Sanity's."""
    body = sanity_webhook.compact(edit.projected()) if body is None else body
    milliseconds = signed_at(edit) + later
    true_signature = sanity_webhook.sign(body, secret, milliseconds)
    sent = sanity_webhook.hook_headers(
        body, true_signature if signature == "" else signature, content.document(edit), PROJECT, DATASET, edit.operation
    )
    return sanity_webhook.request(body, {**sent, **(headers or {})}, milliseconds, method, as_base64)


def webhook_samples() -> dict:
    """By name: the requests to the webhook function."""
    moka = sanity_webhook.compact(content.MOKA_PUBLISHED.projected())
    other = sanity_webhook.sign(moka, "not-the-secret", signed_at(content.MOKA_PUBLISHED))
    without_id = {name: value for name, value in content.ABOUT.projected().items() if name != "_id"}
    # Latin-1: no valid UTF-8, and signed over exactly these bytes.
    latin = '{"_id":"product-caffe","_type":"product","title":"caffè"}'.encode("latin-1")
    return {
        "publish": delivery(content.MOKA_PUBLISHED),
        "duplicate": delivery(content.MOKA_PUBLISHED, later=60_000),
        "projection": delivery(content.MOKA_RENAMED),
        "delayed": delivery(content.MOKA_DELAYED, later=600_000),
        "whole-document": delivery(content.ARTICLE, body=sanity_webhook.compact(content.ARTICLE_DOCUMENT)),
        "delete": delivery(content.SALE_DELETED),
        "component": delivery(content.BANNER),
        "base64-body": delivery(content.CATEGORY, as_base64=True),
        "previous-secret": delivery(content.ABOUT, secret=PREVIOUS_SECRET),
        "draft": delivery(content.DRAFT),
        "ignored-type": delivery(content.FILE),
        "unknown-type": delivery(content.TESTIMONIAL),
        "not-json": delivery(content.ABOUT, body=b'{"_id":"page-about",'),
        "not-an-object": delivery(content.ABOUT, body=b'["page-about"]'),
        "no-document-id": delivery(content.ABOUT, body=sanity_webhook.compact(without_id)),
        "not-utf8": delivery(content.MOKA_PUBLISHED, body=latin, as_base64=True),
        "bad-signature": delivery(content.MOKA_PUBLISHED, signature=other),
        "malformed-signature": delivery(content.MOKA_PUBLISHED, signature="v1=bm8tdGltZXN0YW1w"),
        "no-signature": delivery(content.MOKA_PUBLISHED, signature=None),
        "wrong-content-type": delivery(content.MOKA_PUBLISHED, headers={"content-type": "text/plain"}),
        # A hook may be set up with another method; everything else about this request is right.
        "wrong-method": delivery(content.MOKA_PUBLISHED, method="PUT"),
    }


# ------------------------------------------------------------------------------------------------ consumer

def event_id_of(edit: Edit) -> str:
    """The id under which the ledger keeps an edit of the samples. The whole document says neither project nor dataset nor
    operation, so the signed time joins."""
    return edit.event_id(signed_at(edit) if edit is content.ARTICLE else None)


def from_pipe(edit: Edit) -> str:
    """A message as the Pipe's input template and the relay write it."""
    event_id = event_id_of(edit)
    return json.dumps({
        "version": "1", "event_id": event_id, "document_key": edit.document_key, "sort_key": edit.sort_key(event_id),
    }, separators=(",", ":"))


def raw_stream_record(edit: Edit, number: int) -> str:
    """A message as the Pipe sends it without its input template: the stream's record."""
    event_id = event_id_of(edit)
    keys = {"pk": {"S": edit.document_key}, "sk": {"S": edit.sort_key(event_id)}}
    received = edit.updated_at.replace("Z", ".900Z")
    image = {
        **keys,
        "kind": {"S": "event"}, "event_id": {"S": event_id}, "status": {"S": "READY"}, "state": {"S": "pending"},
        "message_group_id": {"S": edit.document_key.removeprefix("DOC#")}, "message_deduplication_id": {"S": event_id},
        "next_attempt": {"N": str(edit.second + 1500)}, "attempts": {"N": "0"}, "resends": {"N": "0"},
        "defers": {"N": "0"}, "deliveries": {"N": "1"}, "project": {"S": PROJECT}, "dataset": {"S": DATASET},
        "document_id": {"S": edit.document_id}, "document_type": {"S": edit.document_type},
        "operation": {"S": edit.operation}, "class": {"S": "delete" if edit.operation == "delete" else "write"},
        "revision": {"S": edit.revision}, "second": {"N": str(edit.second)}, "source": {"S": "webhook"},
        "accepted_at": {"N": str(edit.second * 1000 + 900)}, "received_at": {"S": received},
    }
    return json.dumps({
        "eventID": hashlib.sha256(event_id.encode()).hexdigest()[:32],
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": REGION,
        "dynamodb": {
            "ApproximateCreationDateTime": edit.second + 1,
            "Keys": keys,
            "NewImage": image,
            "SequenceNumber": f"{4_000_000_000 + number}00000000000",
            "SizeBytes": len(json.dumps(image)),
            "StreamViewType": "NEW_IMAGE",
        },
        "eventSourceARN": STREAM_ARN,
    }, separators=(",", ":"))


def record(edit: Edit, body: str, number: int, deduplication_id: str | None = None) -> dict:
    """One record of an SQS FIFO batch."""
    sent = str(edit.second * 1000 + 2000)
    return {
        "messageId": message_id(number, body),
        "receiptHandle": hashlib.sha256(f"receipt {number} {body}".encode()).hexdigest(),
        "body": body,
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": sent,
            "SequenceNumber": f"{18_890_000_000_000_000_000 + number * 256}",
            "MessageGroupId": edit.document_key.removeprefix("DOC#"),
            "SenderId": "AROAEXAMPLEEXAMPLEEX0:cascata-outbox-v1",
            "MessageDeduplicationId": deduplication_id or event_id_of(edit),
            "ApproximateFirstReceiveTimestamp": str(int(sent) + 45_000),
        },
        "messageAttributes": {},
        "md5OfBody": hashlib.md5(body.encode()).hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": QUEUE_ARN,
        "awsRegion": REGION,
    }


def message_id(number: int, body: str) -> str:
    """The id SQS would have given the message."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{QUEUE_ARN}/{number}/{body}"))


BROKEN_BODY = '{"version":"1","event_id":'


def batches() -> dict:
    """By name: the records of each batch to the consumer function."""
    from content import ABOUT, ARTICLE, BANNER, CATEGORY, MOKA_DELAYED, MOKA_PUBLISHED, MOKA_RENAMED, SALE_DELETED

    return {
        "batch-from-pipe": [
            record(edit, from_pipe(edit), number)
            for number, edit in enumerate([MOKA_PUBLISHED, ARTICLE, MOKA_RENAMED])
        ],
        "batch-of-raw-stream-records": [
            record(edit, raw_stream_record(edit, number), number) for number, edit in enumerate([SALE_DELETED, BANNER])
        ],
        # Two documents, two groups: a and c of the kettles, b and d of the about page. a cannot be read, so c, which
        # comes behind it in its group, is not handled either. d is b once more, as the relay would resend it.
        "batch-of-mixed-groups-with-one-bad-record": [
            record(CATEGORY, BROKEN_BODY, 0, deduplication_id="evt_unreadable"),
            record(ABOUT, from_pipe(ABOUT), 1),
            record(CATEGORY, from_pipe(CATEGORY), 2),
            record(ABOUT, from_pipe(ABOUT), 3, deduplication_id=f"{event_id_of(ABOUT)}#a1"),
        ],
        "late-event": [record(MOKA_DELAYED, from_pipe(MOKA_DELAYED), 0)],
    }


# --------------------------------------------------------------------------------------------------- relay

def relay_schedule() -> dict:
    """What EventBridge Scheduler sends to a function when the schedule names no input."""
    return {
        "version": "0",
        "id": "7bf73129-1428-4cd3-a780-95db273d1602",
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": ACCOUNT,
        "time": "2025-11-03T10:00:00Z",
        "region": REGION,
        "resources": [RELAY_SCHEDULE_ARN],
        "detail": "{}",
    }


# --------------------------------------------------------------------------------------- reconcile, dead letters, operator

def reconcile_schedule() -> dict:
    """As the relay's."""
    return {**relay_schedule(), "id": "0c1f2f0e-5a0c-4b57-9d3c-2b8f9a6f7d11", "resources": [RECONCILE_SCHEDULE_ARN]}


def dead_letters_schedule() -> dict:
    """As the relay's."""
    return {**relay_schedule(), "id": "5f6f6a1c-9a51-4d0e-8f5b-3a3f0c9d2e64", "resources": [DEAD_LETTERS_SCHEDULE_ARN]}


def operator_samples() -> dict:
    """By name: what a person asks. Whatever changes something is a dry run unless it says otherwise."""
    moka = event_id_of(content.MOKA_PUBLISHED)
    who = {"requester": "somebody@example.com", "reason": "the page still shows the old price"}
    return {
        "operator-list": {"verb": "list", "state": "in_review", "limit": 50},
        "operator-show": {"verb": "show", "event_id": moka},
        "operator-trace": {"verb": "trace", "document_id": "product-moka"},
        "operator-trace-slug": {"verb": "trace", "slug": "/moka-express"},
        "operator-reprocess-dry-run": {"verb": "reprocess", "event_id": moka, **who},
        "operator-reprocess": {"verb": "reprocess", "event_id": moka, **who, "dry_run": False},
        "operator-reprocess-state": {"verb": "reprocess", "state": "dead", "type": "product", "limit": 20, **who},
        "operator-settle": {"verb": "settle", "event_id": moka, **who},
        "operator-rebuild": {"verb": "rebuild", **who},
        "operator-bad-request": {"verb": "reprocess", "event_id": moka, "dry_run": False},
    }


def all_samples() -> dict:
    """Every file's content by its name without `.json`."""
    return {
        **webhook_samples(),
        **{name: {"Records": records} for name, records in batches().items()},
        "relay-schedule": relay_schedule(),
        "reconcile-schedule": reconcile_schedule(),
        "dead-letters-schedule": dead_letters_schedule(),
        **operator_samples(),
    }


def text_of(sample: dict) -> str:
    """A file's text."""
    return json.dumps(sample, indent=2, ensure_ascii=False) + "\n"


def differences() -> list[str]:
    """What is wrong with the files in events/."""
    wanted = {f"{name}.json": text_of(sample) for name, sample in all_samples().items()}
    found = {path.name: path.read_text(encoding="utf-8") for path in EVENTS.glob("*.json")}
    return sorted(
        f"{name}: {'missing' if name not in found else 'not made by make_events.py' if name not in wanted else 'differs'}"
        for name in wanted.keys() | found.keys()
        if wanted.get(name) != found.get(name)
    )


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        wrong = differences()
        print("\n".join(wrong) if wrong else "events/ is up to date")
        return 1 if wrong else 0
    if arguments:
        print(__doc__)
        return 2
    EVENTS.mkdir(exist_ok=True)
    for name, sample in all_samples().items():
        (EVENTS / f"{name}.json").write_text(text_of(sample), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
