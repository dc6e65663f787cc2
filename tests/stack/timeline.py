"""The way of one edit through the pipeline, told by the ledger's items and the neighbours' own logs.

Nothing here comes from whoever sent the edit: a step that nobody else has written down did not happen.
"""

from dataclasses import dataclass
from datetime import datetime

from .ledger import Item
from .stack import Stack

STEPS = (
    "saved",
    "received",
    "committed",
    "forwarded",
    "delivered",
    "fenced",
    "routes",
    "Stellate",
    "slugs",
    "applied",
)

# How many are named of a list that can be long.
NAMES = 5


@dataclass(frozen=True)
class Moment:
    """One step: when it happened and what is known of it. No time: it is known to have happened, not when."""

    step: str
    at: datetime | None
    detail: str


def instant(text: str | None) -> datetime | None:
    """A time as any of the logs writes it."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def timeline(stack: Stack, event_id: str) -> list[Moment]:
    """What is seen of an event by now, in the order of the pipeline; steps not seen are left out."""
    event = stack.ledger.event(event_id)
    if event is None:
        return []
    partition = stack.ledger.partition(event["document_key"])
    item = next((one for one in partition if one["sk"] == event["outbox_sort_key"]), None)
    moments = [*_saved(event), _received(event)]
    if item is None:
        return moments
    moments += _forwarded(stack, item)
    wake = _wake_of(partition, item)
    if wake is not None:
        moments += _handled(stack, item, wake)
    if item["state"] != "pending":
        reason = item.get("reason")
        detail = item["state"] + (f" ({reason})" if reason not in (None, item["state"]) else "")
        detail += f", status {item['status']}" if item.get("status") else ""
        moments.append(Moment("applied", instant(item.get("applied_at")), detail))
    return moments


def _saved(event: Item) -> list[Moment]:
    revision = event.get("revision")
    detail = f"{event.get('document_type')} {event.get('document_id')}, revision {revision}"
    return [Moment("saved", instant(event.get("updated_at")), f"{detail} (by Sanity's clock, to the second)")]


def _received(event: Item) -> Moment:
    detail = f"{event['event_id']}, {event['operation']}, verified by the {event['verified_by']} secret"
    return Moment("received", instant(event["received_at"]), detail)


def _forwarded(stack: Stack, item: Item) -> list[Moment]:
    moments = []
    sends = [one for one in stack.pipe.log("forwarded") if one["sk"] == item["sk"]] if stack.pipe else []
    if sends:
        moments.append(
            Moment(
                "committed",
                instant(sends[0]["read_at"]),
                f"event and outbox item; {item['sk'][:24]}… is on the stream",
            )
        )
        moments.append(
            Moment("forwarded", instant(sends[0]["at"]), f"by the Pipe, group {sends[0]['group']}")
        )
    elif item.get("resends"):
        moments.append(Moment("committed", None, f"event and outbox item {item['sk'][:24]}…"))
        moments.append(Moment("forwarded", None, f"by the relay, {item['resends']} times"))
    return moments


def _wake_of(partition: list[Item], item: Item) -> Item | None:
    """The wake that handled the event, or covered it."""
    wakes = [one for one in partition if one["sk"].startswith("Z#")]
    named = [one for one in wakes if item["event_id"] in one.get("events", []) + one.get("covered", [])]
    return named[0] if named else None


def _handled(stack: Stack, item: Item, wake: Item) -> list[Moment]:
    began, fenced = instant(wake["began_at"]), instant(wake.get("fenced_at"))
    others = len(wake.get("events", [])) + len(wake.get("covered", [])) - 1
    together = f", together with {others} other events of the document" if others else ""
    moments = [Moment("delivered", began, f"to the consumer{together}")]
    if fenced:
        reads = [entry for entry in stack.lake.log() if _within(entry["at"], began, fenced)]
        moments.append(
            Moment("fenced", fenced, f"{wake.get('fence')}, after {len(reads)} reads of the content lake")
        )
    if wake.get("planned_at"):
        slugs = _some(wake.get("slugs", [])) or "none"
        moments.append(
            Moment(
                "routes",
                instant(wake["planned_at"]),
                f"{wake.get('routes_affected', 0)} affected, {wake.get('routes_written', 0)} written; slugs {slugs}",
            )
        )
    end = instant(item.get("applied_at"))
    purged = [one for one in stack.stellate.purges() if _within(one["at"], began, end)]
    if purged:
        keys = _some([f"{one['type']}{{{one.get('name')}: {one.get('value')}}}" for one in purged])
        moments.append(Moment("Stellate", instant(purged[-1]["at"]), keys))
    revalidated = [one for one in stack.storefront.revalidations() if _within(one["at"], began, end)]
    if revalidated:
        slugs = _some([one["slug"] for one in revalidated])
        moments.append(Moment("slugs", instant(revalidated[-1]["at"]), f"revalidated {slugs}"))
    return moments


def _some(names: list[str]) -> str:
    """The names, or the first of them and how many there are."""
    rest = len(names) - NAMES
    return ", ".join(names[:NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _within(at: str, began: datetime | None, end: datetime | None) -> bool:
    moment = instant(at)
    return moment is not None and (began is None or moment >= began) and (end is None or moment <= end)


def printed(moments: list[Moment]) -> list[str]:
    """Lines to print; times count from the moment the webhook was received."""
    start = next((one.at for one in moments if one.step == "received"), None)
    lines = []
    for one in moments:
        clock = one.at.astimezone().strftime("%H:%M:%S") if one.at else ""
        since = (
            f"{(one.at - start).total_seconds():+7.3f} s" if one.at and start and one.step != "saved" else ""
        )
        lines.append(f"  {one.step:<10} {clock:>8} {since:>10}  {one.detail}")
    return lines
