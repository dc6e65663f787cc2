"""The whole local stack: emulator, deployed template, Pipe and neighbours, with the verbs that tests use."""

import json
import platform
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from . import canaries
from .canaries import TOKENS
from .content import site
from .deployment import Deployment, built
from .edits import Edit, Editor
from .emulator import Emulator
from .functions import Functions
from .ledger import Item, Ledger
from .neighbours.clients import Lake, Stellate, Storefront
from .neighbours.sender import Answer, Delivery, Sender
from .neighbours.shop import GraphqlServer, Shop
from .pipe.running import RunningPipe
from .places import STATE, working_directory
from .queues import Queues
from .roles import denied
from .shop_content import shop
from .state import end_leftovers, write_state
from .waiting import wait_until

STACK_NAME = "cascata-local"
PROJECT = "localproject"
SETTLE_SECONDS = 30.0
OPEN_STATES = ("pending", "failed")


class Stack:
    """`with Stack() as stack:` is up inside and gone after, also when the start fails half-way.

    `parameters` go over those of samconfig.toml's `local` environment. `seed=False` leaves the content lake empty,
    `pipe=False` the Pipe not started. `shop=True` has the real storefront of tests/storefront, which must be built, in
    place of the stand-ins, and more content. Everything it writes is in `.local/stack/<name>`; what an earlier run of that
    name left running is ended first.
    """

    def __init__(
        self,
        name: str = "test",
        parameters: Mapping[str, str] | None = None,
        *,
        seed: bool = True,
        pipe: bool = True,
        shop: bool = False,
        progress: Callable[[str], None] = lambda _: None,
    ):
        self.name = name
        self.directory = STATE / name
        self._given = dict(parameters or {})
        self._seed = seed
        self._with_pipe = pipe
        self._shop = shop
        self._progress = progress
        self._open = ExitStack()
        self.pipe: RunningPipe | None = None

    def __enter__(self) -> "Stack":
        try:
            self._start()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, problem: type[BaseException] | None, *_: Any) -> None:
        try:
            if problem is None:
                self.refuse_canaries()
        finally:
            self._open.close()

    def _start(self) -> None:
        end_leftovers(self.directory)
        shutil.rmtree(self.directory, ignore_errors=True)
        working_directory(self.name)
        self._open.callback((self.directory / "state.json").unlink, missing_ok=True)
        self._progress("starting the emulator and the neighbours")
        self.emulator = self._opened(Emulator(self.directory))
        self.aws = self.emulator.aws
        self.lake = self._opened(Lake(self.directory))
        self._start_targets()
        self.lake.settings(token=TOKENS["sanity_token"])
        if self._seed:
            self.lake.mutate(*({"create": document} for document in (shop() if self._shop else site())))
        self._record()
        self._progress("building the functions (sam build)")
        with built(self.directory / "build.log"):
            self._progress("deploying the template (sam deploy)")
            self.deployment = Deployment(
                self.aws, STACK_NAME, self.parameters(), self.directory / "deploy.log"
            )
        self.deployment.put_secret("TargetsSecret", json.dumps(TOKENS))
        self.functions = Functions(self.emulator, self.deployment)
        self.queues = Queues(self.aws, self.deployment.ids)
        ids = self.deployment.ids
        self.ledger = Ledger(self.aws, ids["EventsTable"], ids["OutboxTable"], ids["RoutesTable"], PROJECT)
        self.sender = Sender(self.webhook_url, self.webhook_host, self.deployment.secret("WebhookSecret"))
        self.editor = Editor(self.lake, self.sender, PROJECT)
        if isinstance(self.stellate, GraphqlServer):
            self.stellate.routes_at(self.aws.endpoint, ids["RoutesTable"])
        if self._with_pipe:
            self._progress("starting the Pipe")
            self.start_pipe()
        self._record()

    def _start_targets(self) -> None:
        self.stellate: Stellate
        self.storefront: Storefront | Shop
        if self._shop:
            self.stellate = self._opened(GraphqlServer(self.directory, self.lake.url, TOKENS["sanity_token"]))
            self.storefront = self._opened(
                Shop(self.directory, self.stellate.url, TOKENS["storefront_secret"])
            )
        else:
            self.stellate = self._opened(Stellate(self.directory))
            self.storefront = self._opened(Storefront(self.directory))
            self.storefront.settings(secret=TOKENS["storefront_secret"])
        self.stellate.settings(token=TOKENS["stellate_token"])

    def _opened(self, part):
        self._open.callback(lambda: part.stop())
        return part

    def _record(self) -> None:
        parts = {
            "emulator": self.emulator,
            "lake": self.lake,
            "stellate": self.stellate,
            "storefront": self.storefront,
        }
        if self.pipe:
            parts["pipe"] = self.pipe
        details = {"lake_port": self.lake.port}
        if hasattr(self, "sender"):
            details |= {
                "webhook_url": self.webhook_url,
                "webhook_host": self.webhook_host,
                "secret": self.sender.secret,
            }
        write_state(self.directory, {name: part.pid for name, part in parts.items()}, details)

    def parameters(self) -> dict[str, str]:
        """The template parameters that point the stack at its neighbours, with those given on top."""
        return {
            "Architecture": architecture(),
            "SanityProjectId": PROJECT,
            "SanityApiUrl": self.lake.url,
            "StellateUrl": f"{self.stellate.url}/cascata",
            "StorefrontUrl": self.storefront.url,
            "SchedulesEnabled": "DISABLED",
        } | self._given

    @property
    def webhook_url(self) -> str:
        """Where webhooks are posted; to be called with `webhook_host` as Host."""
        return f"{self.emulator.endpoint}/webhooks/sanity"

    @property
    def webhook_host(self) -> str:
        """The API's own host name, which need not resolve."""
        return f"{self.deployment.api_id}.execute-api.localhost:{self.emulator.port}"

    # Editing

    def edit(
        self, document_id: str, document_type: str | None = None, path: str | None = None, **options: Any
    ) -> Edit:
        """Creates or changes a document and sends its webhook; see `Editor`."""
        return self.editor.edit(document_id, document_type, path, **options)

    def delete(self, document_id: str, **options: Any) -> Edit:
        """Deletes a document and sends its webhook."""
        return self.editor.delete(document_id, **options)

    def send(self, delivery: Delivery, **options: Any) -> Answer:
        """Sends a webhook made by hand, signed unless told otherwise."""
        return self.sender.send(delivery, **options)

    # The Pipe

    def start_pipe(self) -> None:
        """A new process, which reads the stream from its starting position."""
        self.pipe = RunningPipe(self.emulator.endpoint, STACK_NAME, self.directory)
        self._opened(self.pipe)
        self._record()

    def kill_pipe(self) -> None:
        """Kills the process as a crash would."""
        assert self.pipe is not None
        self.pipe.kill()

    def pause_pipe(self) -> None:
        """Stops the Pipe through its API, and waits until it stands still."""
        self._set_pipe("stop_pipe", "paused")

    def resume_pipe(self) -> None:
        """Starts it again; it goes on where it stood."""
        self._set_pipe("start_pipe", "resumed")

    def _set_pipe(self, verb: str, action: str) -> None:
        before = len(self.pipe.log(action)) if self.pipe else 0
        getattr(self.aws.client("pipes"), verb)(Name=self.deployment.ids["OutboxPipe"])
        if self.pipe and self.pipe.running():
            wait_until(lambda: len(self.pipe.log(action)) > before, 10, f"the Pipe is {action}")

    # Rights and weather

    def denied(self, role_logical_id: str, *actions: str, resource: str = "*"):
        """While inside (`with`), a role of the template is denied these actions."""
        return denied(self.aws, self.deployment.ids[role_logical_id], *actions, resource=resource)

    def calm(self) -> None:
        """Every neighbour well again, and the index level: between two tests that share a stack."""
        for neighbour in (self.lake, self.stellate, self.storefront):
            neighbour.recover()
        self.lake.level()
        self.lake.settings(token=TOKENS["sanity_token"], private=False)
        self.stellate.settings(token=TOKENS["stellate_token"], refuse=[])
        self.storefront.settings(
            secret=TOKENS["storefront_secret"], secret_in="header", results=False, revalidated=True, broken=[]
        )

    # The functions

    def relay_once(self) -> Any:
        """One run of the relay, as its schedule starts it; answers what it returned."""
        return self.functions.invoke("RelayFunction", schedule_event())

    def rebuild(self, reason: str = "the content was there first", **options: Any) -> dict[str, Any]:
        """Builds the routes of what is in the lake, as after a first deployment; answers what it has come to. `options`
        are further fields of the operator's request."""
        request = {
            "verb": "rebuild",
            "dry_run": False,
            "requester": "local stack",
            "reason": reason,
        } | options
        while not (answer := self.functions.invoke("OperatorFunction", request))["done"]:
            pass
        return answer["progress"]

    # Looking

    def refuse_canaries(self) -> int:
        """Raises `CanaryFound` when a function has logged a secret, a token or content; how many lines there were."""
        planted = TOKENS | {"webhook_secret": self.sender.secret, "note": canaries.NOTE}
        logs = {name: self.functions.log(name) for name in self.functions.names()}
        canaries.refuse(logs, planted)
        return sum(map(len, logs.values()))

    def state(self, event_id: str) -> str | None:
        """An event's state, or `None` while it has no outbox item."""
        item = self.ledger.item(event_id)
        return item["state"] if item else None

    def wait_state(self, edit: Edit | str, state: str = "applied", deadline: float = SETTLE_SECONDS) -> Item:
        """Waits until an edit's event is in a state; answers its outbox item."""
        event_id = edit if isinstance(edit, str) else edit.event_id
        wait_until(
            lambda: self.state(event_id) == state,
            deadline,
            f"{event_id} is {state}",
            explain=lambda: self.ledger.item(event_id),
            interval=0.1,
        )
        item = self.ledger.item(event_id)
        assert item is not None
        return item

    def wait_repeated(self, deadline: float = SETTLE_SECONDS) -> None:
        """Waits until no purge is to be repeated any more (law 10), as after a fence that had to wait."""

        def repeats() -> list[str]:
            items = self.ledger.scan("outbox")
            return [
                one["sk"] for one in items if one.get("kind") == "repeat" and one.get("status") == "READY"
            ]

        wait_until(lambda: not repeats(), deadline, "no purge is to be repeated any more", explain=repeats)

    def wait_quiet(self, deadline: float = SETTLE_SECONDS) -> None:
        """Waits until nothing is open: no event pending or failed, no READY item due now, no message anywhere."""

        def quiet() -> bool:
            items = [item for item in self.ledger.scan("outbox") if item["sk"].startswith("E#")]
            return self.queues.total("RevalidateQueue") == 0 and not any(
                item["state"] in OPEN_STATES and item["kind"] == "event" for item in items
            )

        wait_until(
            quiet, deadline, "nothing is under way", explain=lambda: self.ledger.scan("outbox"), interval=0.2
        )


def architecture() -> str:
    """The host's processor as the template names it."""
    return {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x86_64")


def schedule_event() -> dict[str, Any]:
    """What EventBridge Scheduler hands to a target without an input of its own."""
    return {
        "version": "0",
        "id": "00000000-0000-0000-0000-000000000000",
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": "123456789012",
        "time": "2026-11-30T12:00:00Z",
        "region": "eu-west-1",
        "resources": ["arn:aws:scheduler:eu-west-1:123456789012:schedule/default/relay"],
        "detail": "{}",
    }
