"""The webhook down for a while, on the deployed stack with the content lake: reconcile and its sweep make up for it."""

from datetime import UTC, datetime, timedelta

from driving import relay_until
from stack.stack import schedule_event


def reconcile(stack, **asked):
    """One run; answers what it did."""
    return stack.functions.invoke("ReconcileFunction", schedule_event() | asked)


def ago(seconds):
    """A time of the lake's: what is younger than a minute is left to its webhook."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def slugs(stack, document_id):
    return [route["slug"] for route in stack.ledger.routes(document_id) if "slug" in route]


def test_edits_renames_deletes_and_component_deletes_that_no_webhook_brought(stack, name, witness):
    banner = {"_type": "reference", "_ref": f"{name}-banner"}
    before, during = {"updated_at": ago(200)}, {"updated_at": ago(90), "send": False}
    stack.wait_state(stack.edit(f"{name}-banner", "banner", **before))
    known = [
        stack.edit(f"{name}-renamed", "page", f"/{name}/old", banner=banner, **before),
        stack.edit(f"{name}-edited", "page", f"/{name}/edited", **before),
        stack.edit(f"{name}-deleted", "page", f"/{name}/deleted", **before),
    ]
    for edit in known:
        stack.wait_state(edit)
    reconcile(stack)
    witness.forget()

    # Down: nothing of this is delivered.
    stack.edit(f"{name}-renamed", path=f"/{name}/new", banner=banner, **during)
    stack.edit(f"{name}-edited", title="Edited", **during)
    stack.edit(f"{name}-created", "page", f"/{name}/created", **during)
    stack.delete(f"{name}-deleted", send=False)
    stack.delete(f"{name}-banner", send=False)

    def visible():
        reconcile(stack, sweep=True)
        wanted = {f"{name}-renamed": [f"/{name}/new"], f"{name}-created": [f"/{name}/created"], f"{name}-deleted": []}
        return all(slugs(stack, document) == expected for document, expected in wanted.items())

    relay_until(stack, visible, 120, "nothing is stale")
    told = {f"/{name}/{page}" for page in ("old", "new", "edited", "created", "deleted")}
    relay_until(stack, lambda: told <= set(witness.slugs()), 30, "everything is purged")
    assert f"Banner:{name}-banner" in witness.objects()
    sources = {item["source"] for item in stack.ledger.items(f"{name}-renamed", kind="event")}
    assert sources == {"webhook", "reconcile"}
    events = len(stack.ledger.scan("events"))
    reconcile(stack, sweep=True)
    assert len(stack.ledger.scan("events")) == events, "and then there is peace"
