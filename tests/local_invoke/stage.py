"""Everything a sample needs, and the running of one: `Stage.play`."""

import json
from dataclasses import dataclass
from pathlib import Path

import content
import docker
import image
import make_events
from bridge import Bridge
from expectations import EXPECTED
from local_lambda import Answer, LocalLambda
from neighbours import SANITY_TOKEN, STELLATE_TOKEN, STOREFRONT_SECRET, Neighbours
from stack.emulator import Emulator
from stack.places import LOCAL
from surroundings import PIPE, Surroundings, read_template

DIRECTORY = LOCAL / "local-invoke"
TARGETS_SECRET = {
    "sanity_token": SANITY_TOKEN, "stellate_token": STELLATE_TOKEN, "storefront_secret": STOREFRONT_SECRET,
}


@dataclass
class Played:
    """What running a sample led to."""

    answer: Answer
    # Items added by table.
    added: dict
    # What was purged and revalidated meanwhile, as the stand-ins tell it.
    purges: list
    revalidations: list


class Stage:
    """Emulator, stand-ins, image and functions. Use as a context manager: whatever was started is stopped."""

    def __init__(self, template: Path):
        self._template = template
        self._closing: list = []
        self._played: dict[str, Played] = {}

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        while self._closing:
            self._closing.pop()()

    def _start(self):
        DIRECTORY.mkdir(parents=True, exist_ok=True)
        engine = docker.from_env()
        self._closing.append(engine.close)
        emulator = Emulator(DIRECTORY)
        self._closing.append(emulator.stop)
        self.neighbours = Neighbours(DIRECTORY, content.DATASET, content.PUBLISHED)
        self._closing.append(self.neighbours.stop)
        self.ledger = Surroundings(emulator.aws, read_template(self._template))

        self.ledger.give_up(wake=make_events.from_pipe(content.MOKA_PUBLISHED), probe="test")

        bridge = Bridge(engine)
        self._closing.append(bridge.stop)
        reach = {
            name: bridge.open(neighbour.port)
            for name, neighbour in vars(self.neighbours).items() if hasattr(neighbour, "port")
        }
        self._closing.append(lambda: image.remove(engine))
        image.prepare(engine, bridge.open(emulator.port))
        self.functions = LocalLambda(
            engine, self._template, emulator.endpoint, parameters=self._parameters(reach), variables=self._variables()
        )

    def _parameters(self, reach):
        """The template's parameters. Grace 0: the relay takes at once whatever nobody has applied. Tie 1: the fence does not
        wait for an edit that is a second old, though a single revision is all it has to go by."""
        return {
            "Stage": "local",
            "Architecture": image.architecture(),
            "SanityProjectId": content.PROJECT,
            "SanityDatasets": content.DATASET,
            "SanityApiUrl": reach["lake"],
            "StellateUrl": f"{reach['stellate']}/cascata",
            "StorefrontUrl": reach["storefront"],
            "OutboxGraceSeconds": "0",
            "FenceTieSeconds": "1",
        }

    def _variables(self):
        """The variables that name resources, and the secrets that the functions take only under SAM local."""
        tables = {
            variable: self.ledger.tables[table]
            for variable, table in
            {"EVENTS_TABLE": "EventsTable", "OUTBOX_TABLE": "OutboxTable", "ROUTES_TABLE": "RoutesTable"}.items()
        }
        return {
            "WebhookFunction": {
                **tables,
                "WEBHOOK_SECRET_ARN": self.ledger.webhook_secret,
                "LOCAL_WEBHOOK_SECRET": make_events.SECRET,
                "LOCAL_PREVIOUS_WEBHOOK_SECRET": make_events.PREVIOUS_SECRET,
            },
            "ConsumerFunction": {
                **tables,
                "TARGETS_SECRET_ARN": self.ledger.targets_secret,
                "LOCAL_TARGETS_SECRET": json.dumps(TARGETS_SECRET),
            },
            "DeadLettersFunction": {
                **tables,
                "QUEUE_DEAD_LETTERS_URL": self.ledger.queue_letters_url,
                "PIPE_DEAD_LETTERS_URL": self.ledger.pipe_letters_url,
                "TOPIC_ARN": self.ledger.topic,
                "OPERATOR_FUNCTION": "operator",
            },
            "RelayFunction": {**tables, "QUEUE_URL": self.ledger.queue_url, "PIPE_NAME": PIPE},
            **{
                name: {
                    **tables,
                    "TARGETS_SECRET_ARN": self.ledger.targets_secret,
                    "LOCAL_TARGETS_SECRET": json.dumps(TARGETS_SECRET),
                }
                for name in ("ReconcileFunction", "OperatorFunction")
            },
        }

    def play(self, name: str) -> Played:
        """Runs a sample, once, after those it builds upon."""
        if name not in self._played:
            expected = EXPECTED[name]
            for earlier in expected.after:
                self.play(earlier)
            counts = {table: self.ledger.count(table) for table in ("EventsTable", "OutboxTable")}
            purges, revalidations = self.neighbours.purges()[1], self.neighbours.revalidations()[1]
            answer = self.functions.invoke(expected.function, make_events.EVENTS / f"{name}.json")
            self._played[name] = Played(
                answer,
                {table: self.ledger.count(table) - before for table, before in counts.items()},
                self.neighbours.purges(purges)[0],
                self.neighbours.revalidations(revalidations)[0],
            )
        return self._played[name]

    def item_of(self, edit: content.Edit) -> dict:
        """The outbox item of an edit of the samples."""
        return self.ledger.item(
            "OutboxTable", pk=edit.document_key, sk=edit.sort_key(make_events.event_id_of(edit))
        )
