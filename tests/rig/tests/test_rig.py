"""The rig itself: what it counts has happened, and what is wrong it sees."""

import subprocess
import time
from types import SimpleNamespace

import pytest
import requests
from rig import cli, kills, verdict
from rig.result import Result, table
from rig.traffic import Journal, Sent, deliver
from rig.victims import alive, killed
from stack.processes import start_time_of

EARLY, LATE, LATER = "2026-11-30T12:00:00.000Z", "2026-11-30T12:00:01.000Z", "2026-11-30T12:00:02.000Z"


def a_life():
    child = subprocess.Popen(["sleep", "60"])
    return child, (child.pid, start_time_of(child.pid))


def test_a_kill_counts_once_and_only_when_the_process_dies_of_it():
    child, life = a_life()
    assert alive(life)
    assert killed(life)
    assert not alive(life), "not even while nobody has looked after the dead"
    assert not killed(life), "who is dead is not killed again"
    child.wait()
    assert not alive(life)


def test_another_process_with_the_same_id_is_left_alone():
    child, (pid, started) = a_life()
    try:
        assert not killed((pid, started - 1))
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def sent(document="page-1", slug="/one", at=EARLY):
    edit = SimpleNamespace(
        document_id=document, revision="r1", event_id=f"evt_{document}_{at}", change={"at": at}
    )
    return Sent(edit, slug, at, accepted=True)


@pytest.mark.parametrize(
    ("answers", "accepted", "tries", "refused"),
    [
        ([200], True, 1, 0),
        ([503, None, 429, 200], True, 4, 0),
        ([401, 200], False, 1, 1),
    ],
)
def test_a_webhook_is_repeated_as_sanity_does(answers, accepted, tries, refused, monkeypatch):
    monkeypatch.setattr("rig.traffic.RETRY_SECONDS", 0)
    one, journal = sent(), Journal()
    one.accepted = False
    left = iter(answers)

    def send():
        status = next(left)
        if status is None:
            raise requests.ConnectionError
        return SimpleNamespace(status=status)

    deliver(send, one, journal, time.monotonic() + 60)
    assert (one.accepted, one.tries, len(journal.refused)) == (accepted, tries, refused)


class World:
    """A stack as the verdict looks at it: one page that was edited, handled and purged. A test takes something away."""

    def __init__(self):
        self.journal = Journal()
        self.journal.add(sent())
        (one,) = self.journal.all
        self.events = [{"event_id": one.edit.event_id}]
        self.outbox = [{"pk": "DOC#1", "sk": "E#1#evt", "state": "applied", "status": "SENT"}]
        self.routes = [{"pk": "DOC#production#page-1", "sk": "ROUTE#default", "slug": "/one"}]
        self.purges = [
            {"name": "_id", "value": "page-1", "at": LATE},
            {"name": "slug", "value": "/one", "at": LATE},
        ]
        self.revalidations = [{"slug": "/one", "at": LATER}]
        self.log = []

    def stack(self):
        return SimpleNamespace(
            ledger=SimpleNamespace(
                scan=lambda table: {"events": self.events, "outbox": self.outbox}[table],
                routes=lambda: self.routes,
            ),
            stellate=SimpleNamespace(purges=lambda: self.purges),
            storefront=SimpleNamespace(revalidations=lambda: self.revalidations),
            lake=SimpleNamespace(document=lambda _: {"_id": "page-1"}),
            functions=SimpleNamespace(names=lambda: ["F"], log=lambda _: self.log),
            queues=SimpleNamespace(set=lambda *_, **__: None),
        )

    def judged(self):
        result = Result("kills", "")
        verdict.judge(self.stack(), self.journal, result)
        return result.lost, result.stuck, result.stale, result.panics


def test_all_is_well():
    assert World().judged() == (0, 0, 0, 0)


def test_an_accepted_edit_without_an_event_is_lost():
    world = World()
    world.events = []
    assert world.judged() == (1, 0, 0, 0)


@pytest.mark.parametrize(
    "item",
    [
        {"sk": "E#1#evt", "state": "pending", "status": "READY"},
        {"sk": "E#1#evt", "state": "pending", "status": "DEAD"},
        {"sk": "E#1#evt", "state": "failed"},
        {"sk": "E#1#evt#r1", "state": "applied", "status": "READY"},
        {"sk": "PLAN#0"},
    ],
)
def test_what_is_in_no_final_state_is_stuck(item):
    world = World()
    world.outbox.append({"pk": "DOC#1"} | item)
    assert world.judged() == (0, 1, 0, 0)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda world: world.purges.pop(0),
        lambda world: world.purges[0].update(at="2026-11-30T11:59:59Z"),
        lambda world: world.purges.pop(1),
        lambda world: world.revalidations.clear(),
        lambda world: world.revalidations[0].update(at=EARLY),
        lambda world: world.routes.clear(),
        lambda world: world.routes[0].update(slug="/other"),
    ],
    ids=[
        "the object was not purged",
        "it was purged before the edit",
        "the routing was not purged",
        "the slug was not revalidated",
        "the outer layer was purged before the inner one",
        "the route is gone",
        "the route leads elsewhere",
    ],
)
def test_what_does_not_follow_the_source_is_stale(spoil):
    world = World()
    spoil(world)
    assert world.judged() == (0, 0, 1, 0)


class Killed(kills.Kills):
    """Kills nothing, and notes its stages. Each loses an edit that was accepted, or has a step that nobody comes by."""

    def __init__(self, world, *, loses):
        super().__init__(world.stack(), 3, 1, lambda _: None)
        self._world = world
        self._loses = loses
        self.stages = []

    def _put_fault_points(self):
        pass

    def _stage(self, stage):
        self.stages.append(stage)
        self._traffic.journal.add(sent(at=f"2026-11-30T11:59:0{len(self.stages)}.000Z"))
        if not self._loses:
            self._world.events += [{"event_id": one.edit.event_id} for one in self._traffic.journal.all]
            self._lane(stage.lanes[0])

    def _deaths(self, step, chance):
        return 3 if self._loses else 0

    def _set_fault_point(self, function, point):
        pass

    def _catch_up(self, step):
        pass


@pytest.mark.parametrize("loses", [True, False])
def test_kills_end_with_the_stage_that_loses_an_edit_or_whose_step_nobody_comes_by(loses, monkeypatch):
    monkeypatch.setattr(kills, "EDITORS", 0)
    monkeypatch.setattr(kills, "calm_down", lambda _: None)
    killed = Killed(World(), loses=loses)
    result = killed.run()
    assert len(killed.stages) == 1
    assert not result.good
    assert (result.lost, bool(result.problems)) == ((1, False) if loses else (0, True))


def test_a_panic_is_counted():
    world = World()
    world.log = ["thread 'main' panicked at src/main.rs:1:1:"]
    assert world.judged() == (0, 0, 0, 1)


def test_a_size_picks_its_part():
    assert cli.parts_of({"HISTORIES": 100_000}, cli.WHOLE) == ["histories"]
    assert cli.parts_of({"SENDERS": 10, "EVENTS": 5}, cli.WHOLE) == ["load"]
    assert cli.parts_of({}, cli.WHOLE) == ["histories", "load", "kills", "fuzz"]
    assert cli.parts_of({}, cli.BOUNDED) == ["histories", "load", "kills"]


def test_the_table_says_what_is_not_good():
    good, bad = Result("load", "much"), Result("kills", "more", stuck=2)
    assert good.good and not bad.good
    lines = table([good, bad])
    assert "NOT" in lines[2] and "NOT" not in lines[1]
    assert not Result("kills", "", problems=["too few"]).good
