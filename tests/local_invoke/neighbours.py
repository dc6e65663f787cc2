"""The content lake, the GraphQL CDN and the storefront that the consumer samples meet: the local stack's stand-ins."""

import shutil
from pathlib import Path

import requests
from stack.places import LOOPBACK, NEIGHBOURS
from stack.processes import Process, ProcessFailed

SANITY_TOKEN = "local-sanity-token"
STELLATE_TOKEN = "local-stellate-token"
STOREFRONT_SECRET = "local-storefront-secret"


class Neighbour:
    """One stand-in, running; see tests/stack/neighbours/serve.mjs for what it can be told."""

    def __init__(self, name: str, directory: Path):
        node = shutil.which("node")
        if not node:
            raise ProcessFailed("node is missing: the stand-ins run on it (tests/setup.sh)")
        self._process = Process(name, [node, str(NEIGHBOURS / f"{name}.mjs")], directory / f"{name}.log", {})
        try:
            self.port = self._process.first_json_line()["listening"]
        except BaseException:
            self.stop()
            raise

    def tell(self, verb: str, **arguments) -> dict:
        """Uses one of its controls."""
        answer = requests.post(f"http://{LOOPBACK}:{self.port}/__control/{verb}", json=arguments, timeout=10)
        answer.raise_for_status()
        return answer.json()

    def log(self, since: int = 0) -> list[dict]:
        """What it was asked, after the entry with this sequence number."""
        answer = requests.get(f"http://{LOOPBACK}:{self.port}/__log", params={"since": since}, timeout=10)
        answer.raise_for_status()
        return answer.json()["entries"]

    def stop(self) -> None:
        """Ends it."""
        self._process.stop()


class Neighbours:
    """All three, the lake holding what content.PUBLISHED says."""

    def __init__(self, directory: Path, dataset: str, documents: list[dict]):
        self._running: list[Neighbour] = []
        try:
            self.lake = self._start("lake", directory)
            self.stellate = self._start("stellate", directory)
            self.storefront = self._start("storefront", directory)
            self.lake.tell("settings", token=SANITY_TOKEN)
            self.stellate.tell("settings", service="cascata", token=STELLATE_TOKEN)
            self.storefront.tell("settings", secret=STOREFRONT_SECRET, secret_in="header", results=True)
            for document in documents:
                self.lake.tell(
                    "mutate", dataset=dataset, mutations=[{"createOrReplace": document}],
                    transaction_id=document["_rev"], updated_at=document["_updatedAt"],
                )
        except BaseException:
            self.stop()
            raise

    def _start(self, name, directory):
        neighbour = Neighbour(name, directory)
        self._running.append(neighbour)
        return neighbour

    def purges(self, since: int = 0) -> tuple[list[dict], int]:
        """What was purged from the GraphQL CDN after a number, in order, and the number now."""
        answer = self.stellate.tell("purges", since=since)
        return answer["purges"], answer["last"]

    def revalidations(self, since: int = 0) -> tuple[list[dict], int]:
        """What was revalidated in the storefront after a number, in order, and the number now."""
        answer = self.storefront.tell("revalidations", since=since)
        return answer["revalidations"], answer["last"]

    def stop(self) -> None:
        """Ends all of them."""
        for neighbour in self._running:
            neighbour.stop()
        self._running.clear()
