"""What became of every edit: the ledger's word, the routes, and the neighbours' own logs."""

from collections import defaultdict
from datetime import datetime
from typing import Any

from stack.ledger import Item
from stack.stack import Stack
from stack.timeline import instant

from .result import Result
from .traffic import Journal, Sent

OPEN_STATES = ("pending", "failed")
OPEN_STATUSES = ("READY", "DEAD")
SHOWN = 5


def open_items(stack: Stack) -> list[Item]:
    """Items in no final state, and plans that nobody has finished."""
    return [
        item
        for item in stack.ledger.scan("outbox")
        if item["sk"].startswith("PLAN#")
        or (
            item["sk"].startswith("E#")
            and (item["state"] in OPEN_STATES or item.get("status") in OPEN_STATUSES)
        )
    ]


def is_quiet(stack: Stack) -> bool:
    """Nothing is open, and no message is under way."""
    return stack.queues.total("RevalidateQueue") == 0 and not open_items(stack)


def lost(stack: Stack, journal: Journal) -> list[Sent]:
    """Edits whose webhook was answered 2xx and that the ledger does not hold."""
    accepted = [sent for sent in journal.all if sent.accepted]
    events = {event["event_id"] for event in stack.ledger.scan("events")}
    return [sent for sent in accepted if sent.edit.event_id not in events]


def judge(stack: Stack, journal: Journal, result: Result) -> None:
    """Adds what is wrong to a result."""
    gone = lost(stack, journal)
    stuck = open_items(stack)
    stale = _stale(stack, journal)
    result.lost, result.stuck, result.stale = len(gone), len(stuck), len(stale)
    result.panics = sum(
        "panicked" in line for name in stack.functions.names() for line in stack.functions.log(name)
    )
    result.details += [f"lost: {sent.edit.document_id} {sent.edit.revision}" for sent in gone[:SHOWN]]
    result.details += [
        f"stuck: {item['pk'][:16]}… {item['sk']} {item.get('state')} {item.get('status')} {item.get('reason', '')}"
        for item in stuck[:SHOWN]
    ]
    result.details += [f"stale: {text}" for text in stale[:SHOWN]]


def _stale(stack: Stack, journal: Journal) -> list[str]:
    """Of each document, whether its last edit was purged on every layer after it was made, from the inside out, and whether its
    routes are those of the source. A page also follows the last edit of the banner that it shows."""
    purged: dict[tuple[str, str], list[datetime]] = defaultdict(list)
    for purge in stack.stellate.purges():
        purged[purge.get("name"), purge.get("value")].append(_at(purge["at"]))
    revalidated: dict[str, list[datetime]] = defaultdict(list)
    for entry in stack.storefront.revalidations():
        revalidated[entry["slug"]].append(_at(entry["at"]))
    routes: dict[str, set[str]] = defaultdict(set)
    for route in stack.ledger.routes():
        if "slug" in route:
            routes[route["pk"].split("#", 2)[2]].add(route["slug"])
    last = {document: edits[-1] for document, edits in journal.by_document.items()}
    found = []
    for document, edits in journal.by_document.items():
        since, slugs = _due(document, edits, last, stack)
        inner = [at for at in purged["_id", document] if at >= _at(edits[-1].at)]
        if not inner:
            found.append(f"{document} is not purged after its last edit of {edits[-1].at}")
        for slug in slugs:
            routed = [at for at in purged["slug", slug] if at >= since]
            outer = [at for at in revalidated[slug] if at >= since]
            if not routed or not outer or max(outer) < min(routed):
                found.append(f"{slug} of {document} is not purged inside out after {since.isoformat()}")
        wanted = {edits[-1].slug} - {None}
        if routes[document] != wanted:
            found.append(f"routes of {document} are {sorted(routes[document])}, not {sorted(wanted)}")
    return found


def _due(document: str, edits: list[Sent], last: dict[str, Sent], stack: Stack) -> tuple[datetime, list[str]]:
    """Since when which slugs of a document must have been purged: the one it has, or, deleted, the one it had."""
    slugs = [sent.slug for sent in edits if sent.slug]
    since = _at(edits[-1].at)
    content: dict[str, Any] | None = stack.lake.document(document)
    banner = (content or {}).get("banner", {}).get("_ref")
    if banner in last:
        since = max(since, _at(last[banner].at))
    return since, slugs[-1:]


def _at(text: str) -> datetime:
    at = instant(text)
    assert at is not None
    return at
