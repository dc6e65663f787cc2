"""The demonstration: one edit, ten saves, a component, a duplicate, a bad signature, a delete; each checked."""

import secrets
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from .edits import Edit
from .stack import Stack
from .timeline import STEPS, printed, timeline
from .waiting import DeadlineExceeded, wait_until

APPLIED_SECONDS = 60.0
SAVES = 10
PAGE, PATH = "home", "/home"
# Longer than ten saves take, one a second. On AWS it is 45 s. Taking it back counts for messages that wait already, as
# it does on AWS, so nothing has to wait so long.
WINDOW_SECONDS = 45


class Demo:
    """Plays the steps and prints what the stack itself has seen; `passed` at the end."""

    def __init__(self, stack: Stack, say: Callable[[str], None] = print):
        self._stack = stack
        self._say = say
        self.failed: list[str] = []

    def play(self) -> bool:
        """Every step, also after one that failed; whether all of it was seen."""
        self._step("One edit, from the webhook to the purge", self._one_edit)
        self._step(f"{SAVES} saves of one page within one window", self._ten_saves)
        self._step("A banner that stands on the page", self._component)
        self._step("The same webhook again", self._duplicate)
        self._step("A bad signature", self._bad_signature)
        self._step("The page is deleted", self._delete)
        if self.failed:
            self._say(f"\nNOT seen: {', '.join(self.failed)}")
        else:
            self._say("\nEvery step was seen.")
        return not self.failed

    def _step(self, title: str, step: Callable[[], None]) -> None:
        self._say(f"\n{title}")
        try:
            step()
        except (AssertionError, DeadlineExceeded) as problem:
            self.failed.append(title)
            self._say(f"  NOT as expected: {problem}")

    def _seen(self, condition: Any, what: str) -> None:
        if not condition:
            raise AssertionError(what)
        self._say(f"  seen: {what}")

    def _send(self, edit: Edit) -> Edit:
        """By Sanity's own package."""
        (edit.answer,) = self._stack.sender.send_as_sanity([edit.delivery])
        return edit

    def _edit(self, **fields: Any) -> Edit:
        return self._send(self._stack.edit(PAGE, "page", PATH, send=False, **fields))

    def _purges_since(self, marks: tuple[int, int], of: set[str]) -> tuple[Counter, Counter]:
        """Of these documents and slugs: a person may edit others meanwhile."""
        keys = Counter(
            (one["type"], one.get("name"), one["value"])
            for one in self._stack.stellate.purges(marks[0])
            if one.get("value") in of
        )
        revalidations = self._stack.storefront.revalidations(marks[1])
        slugs = Counter(one["slug"] for one in revalidations if one["slug"] in of)
        return keys, slugs

    def _marks(self) -> tuple[int, int]:
        self._stack.wait_repeated(APPLIED_SECONDS)
        return len(self._stack.stellate.purges()), len(self._stack.storefront.revalidations())

    def _one_edit(self) -> None:
        title = f"Title {secrets.token_hex(4)}"
        edit = self._edit(title=title)
        self._say(f"  {PAGE} is given the title “{title}”; the webhook answered {edit.answer.status}")
        self._stack.wait_state(edit, "applied", APPLIED_SECONDS)
        moments = timeline(self._stack, edit.event_id)
        for line in printed(moments):
            self._say(line)
        seen = {one.step for one in moments}
        missing = [step for step in STEPS if step not in seen]
        self._seen(not missing, "every step" if not missing else f"every step; missing: {', '.join(missing)}")

    def _ten_saves(self) -> None:
        configured = self._stack.deployment.parameters["QueueDelaySeconds"]
        self._stack.queues.set("RevalidateQueue", DelaySeconds=WINDOW_SECONDS)
        marks = self._marks()
        try:
            edits = [self._save(number) for number in range(1, SAVES + 1)]
        finally:
            self._stack.queues.set("RevalidateQueue", DelaySeconds=configured)
        self._seen(len({edit.event_id for edit in edits}) == SAVES, f"{SAVES} events accepted")
        for edit in edits:
            self._stack.wait_state(edit, "applied", APPLIED_SECONDS)
        self._stack.wait_quiet(APPLIED_SECONDS)
        sent = {one["event_id"] for one in self._stack.pipe.log("forwarded")}
        self._seen(
            all(edit.event_id in sent for edit in edits),
            f"{SAVES} messages forwarded, {SAVES} events applied",
        )
        keys, slugs = self._purges_since(marks, {PAGE, PATH})
        for line in printed(
            [one for one in timeline(self._stack, edits[-1].event_id) if one.step != "saved"]
        ):
            self._say(line)
        self._seen(keys and set(keys.values()) == {1}, f"Stellate purged each key once: {_counts(keys)}")
        self._seen(
            slugs == Counter({PATH: 1}), f"the storefront revalidated each slug once: {_counts(slugs)}"
        )

    def _save(self, number: int) -> Edit:
        """In a second of its own, as a person saves."""
        second = int(time.time())
        wait_until(lambda: int(time.time()) > second, 2, "the next second")
        return self._edit(title=f"Save {number} of {SAVES}")

    def _component(self) -> None:
        marks = self._marks()
        edit = self._send(
            self._stack.edit("banner-sale", "banner", send=False, title=f"Sale {secrets.token_hex(2)}")
        )
        self._stack.wait_state(edit, "applied", APPLIED_SECONDS)
        pages = [one for one in self._stack.ledger.routes() if "banner-sale" in one["dependencies"]]
        shown = {one[name] for one in pages for name in ("document_id", "slug")}
        keys, slugs = self._purges_since(marks, shown)
        self._seen(
            all((one["graphql_type"], "_id", one["document_id"]) in keys for one in pages),
            f"Stellate purged the {len(pages)} pages that show it",
        )
        self._seen(
            slugs == Counter(one["slug"] for one in pages),
            f"each of their {len(slugs)} slugs revalidated once",
        )

    def _duplicate(self) -> None:
        edit = self._edit(title=f"Title {secrets.token_hex(4)}")
        self._stack.wait_state(edit, "applied", APPLIED_SECONDS)
        marks, events = self._marks(), len(self._stack.ledger.scan("events"))
        (again,) = self._stack.sender.send_as_sanity([edit.delivery])
        self._seen(
            again.status == 200 and again.body.get("duplicate") is True,
            f"answered {again.status}, {again.body}",
        )
        self._seen(len(self._stack.ledger.scan("events")) == events, "no new event")
        wait_until(
            lambda: self._stack.ledger.item(edit.event_id)["deliveries"] >= 1, 10, "the delivery is counted"
        )
        self._stack.wait_quiet(APPLIED_SECONDS)
        self._seen(not any(self._purges_since(marks, {PAGE, PATH})), "nothing purged")

    def _bad_signature(self) -> None:
        events = len(self._stack.ledger.scan("events"))
        edit = self._stack.edit(PAGE, "page", PATH, send=False, title="Forged")
        answer = self._stack.send(edit.delivery, secret="not the secret")
        self._seen(answer.status == 401, f"answered {answer.status}, {answer.body}")
        self._seen(len(self._stack.ledger.scan("events")) == events, "nothing stored")
        self._send(edit)
        self._stack.wait_state(edit, "applied", APPLIED_SECONDS)
        self._say("  (signed rightly, the same edit is applied)")

    def _delete(self) -> None:
        marks = self._marks()
        edit = self._send(self._stack.delete(PAGE, send=False))
        self._stack.wait_state(edit, "applied", APPLIED_SECONDS)
        for line in printed(timeline(self._stack, edit.event_id)):
            self._say(line)
        keys, slugs = self._purges_since(marks, {PAGE, PATH})
        self._seen(("Page", "_id", PAGE) in keys and PATH in slugs, f"Page {PAGE} and {PATH} purged")
        self._seen(not self._stack.ledger.routes(PAGE), "its routes are gone")


def _counts(purged: Counter) -> str:
    names = {key: " ".join(map(str, key)) if isinstance(key, tuple) else key for key in purged}
    return ", ".join(f"{names[key]} ×{times}" for key, times in purged.items()) or "nothing"
