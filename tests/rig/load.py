"""Many senders at once: new webhooks, the same ones again, old ones replayed, and badly signed ones."""

import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from stack.neighbours.sender import Answer
from stack.stack import Stack

from . import verdict
from .relaying import calm_down
from .result import Result
from .traffic import Journal, Sent, deliver

DOCUMENTS_SHARE = 0.4
DOUBLED, REPLAYED, FORGED = 0.3, 0.2, 0.2
DEADLINE_SECONDS = 60.0


@dataclass
class Load:
    """What was answered."""

    answers: Counter = field(default_factory=Counter)
    outside: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    first: Counter = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, answer: Answer, seconds: float) -> None:
        """One answer, held against the contract."""
        body = answer.body if isinstance(answer.body, dict) else {}
        with self.lock:
            self.seconds.append(seconds)
            self.answers[answer.status] += 1
            if answer.status == 503 and body.get("error"):
                return
            if kind == "good":
                right = answer.status == 200 and body.get("received") is True and "event_id" in body
                if right and body.get("duplicate") is False:
                    self.first[body["event_id"]] += 1
            else:
                right = answer.status in (400, 401) and bool(body.get("error") and body.get("message"))
            if not right:
                self.outside.append(f"{kind}: {answer.status} {str(answer.body)[:80]}")


def run_load(stack: Stack, senders: int, events: int, seed: int, say: Callable[[str], None]) -> Result:
    """`events` distinct ones by `senders` senders."""
    chance = random.Random(seed)
    journal = Journal()
    known = {event["event_id"] for event in stack.ledger.scan("events")}
    for sent in _edits(stack, events, chance):
        journal.add(sent)
    jobs = _jobs(journal.all, chance)
    load = Load()
    began = time.monotonic()
    with ThreadPoolExecutor(senders) as pool:
        list(pool.map(lambda job: _send(stack, load, journal, *job), jobs))
    seconds = time.monotonic() - began
    calm_down(stack)
    result = Result("load", f"{senders} senders, {len(load.seconds)} requests, {events} events")
    new = {event["event_id"] for event in stack.ledger.scan("events")} - known
    accepted = {sent.edit.event_id for sent in journal.all if sent.accepted}
    verdict.judge(stack, journal, result)
    result.problems += [f"an answer outside the contract: {text}" for text in load.outside[: verdict.SHOWN]]
    result.problems += [f"refused: {text}" for text in journal.refused[: verdict.SHOWN]]
    if len(new) != events or new != accepted:
        result.problems.append(f"{len(new)} new events in the table, {len(accepted)} answered, {events} sent")
    if twice := [event for event, times in load.first.items() if times > 1]:
        result.problems.append(f"{len(twice)} events were new more than once")
    times = sorted(load.seconds)
    say(
        f"{len(times) / seconds:.0f} requests a second; p50 {1000 * times[len(times) // 2]:.0f} ms, "
        f"p99 {1000 * times[int(len(times) * 0.99)]:.0f} ms; answers "
        + ", ".join(f"{status} ×{count}" for status, count in sorted(load.answers.items()))
    )
    return result


def _edits(stack: Stack, count: int, chance: random.Random) -> Iterator[Sent]:
    documents = max(1, int(count * DOCUMENTS_SHARE))
    for _ in range(count):
        name = f"load-{chance.randrange(documents)}"
        edit = stack.edit(name, "page", f"/{name}", send=False, title=secrets.token_hex(4))
        yield Sent(edit, f"/{name}", edit.change["at"])


def _jobs(edits: list[Sent], chance: random.Random) -> list[tuple[str, Sent]]:
    """Each edit once or twice in a row, forged ones between them, and some of all once more at the end."""
    jobs: list[tuple[str, Sent]] = []
    for sent in chance.sample(edits, len(edits)):
        jobs += [("good", sent)] * (2 if chance.random() < DOUBLED else 1)
        if chance.random() < FORGED:
            jobs.append((chance.choice(["wrong secret", "no signature", "malformed"]), sent))
    return jobs + [("good", sent) for sent in edits if chance.random() < REPLAYED]


def _send(stack: Stack, load: Load, journal: Journal, kind: str, sent: Sent) -> None:
    options = {
        "good": {},
        "wrong secret": {"secret": "another secret"},
        "no signature": {"signed": False},
        "malformed": {"header": "t=yesterday,v1=?"},
    }[kind]

    def send() -> Answer:
        began = time.monotonic()
        answer = stack.send(sent.edit.delivery, **options)
        load.note(kind, answer, time.monotonic() - began)
        if kind == "good" and answer.status == 200:
            sent.edit.answer = answer
        return answer

    if kind == "good":
        deliver(send, sent, journal, time.monotonic() + DEADLINE_SECONDS)
    else:
        send()
