"""The real storefront of tests/storefront: Next.js, and the GraphQL server with the cache that Cascata purges."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from ..aws import ROOT_KEY, ROOT_SECRET
from ..places import LOCAL, LOOPBACK, REGION, ROOT, free_port
from ..processes import Process
from .clients import Stellate

STOREFRONT = ROOT / "tests" / "storefront"
SITE = LOCAL / "storefront" / "site"
BUILD_SECONDS = 600
START_SECONDS = 60
VISITS_AT_ONCE = 8


class GraphqlServer(Stellate):
    """GraphQL with a response cache, purged as Stellate is."""

    program = "server"
    folder = STOREFRONT / "graphql"

    def __init__(self, directory: Path, lake_url: str, lake_token: str):
        super().__init__(directory, LAKE_URL=lake_url, LAKE_TOKEN=lake_token)

    def routes_at(self, endpoint: str, table: str) -> None:
        """Says where the routes table is; before that no page has an answer."""
        self.control(
            "routes",
            endpoint=endpoint,
            region=REGION,
            table=table,
            accessKeyId=ROOT_KEY,
            secretAccessKey=ROOT_SECRET,
        )


class Shop:
    """The Next.js storefront, with empty caches."""

    def __init__(self, directory: Path, graphql_url: str, secret: str):
        """Starts what `build` built."""
        self.port = free_port()
        self.url = f"http://{LOOPBACK}:{self.port}"
        self._process = Process(
            "shop",
            ["node", "node_modules/next/dist/bin/next", "start", "-H", LOOPBACK, "-p", str(self.port)],
            directory / "shop.log",
            {
                "PATH": os.environ["PATH"],
                "NEXT_TELEMETRY_DISABLED": "1",
                "GRAPHQL_URL": f"{graphql_url}/graphql",
                "REVALIDATE_SECRET": secret,
            },
            cwd=SITE,
        )
        try:
            self._process.wait_ready(self._answers, START_SECONDS)
        except BaseException:
            self._process.stop()
            raise

    @staticmethod
    def build() -> None:
        """Builds it, if anything has changed since the last time."""
        subprocess.run([str(STOREFRONT / "build.sh")], check=True, timeout=BUILD_SECONDS)

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.url}/api/renders", timeout=5).ok
        except requests.ConnectionError:
            return False

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def address(self, slug: str) -> str:
        """Where the page of a slug is, as a browser asks for it."""
        return self.url + quote(slug)

    def visit(self, *slugs: str) -> dict[str, int]:
        """Asks for pages; the status of each."""
        with ThreadPoolExecutor(VISITS_AT_ONCE) as pool:
            answers = pool.map(lambda slug: requests.get(self.address(slug), timeout=30), slugs)
        return {slug: answer.status_code for slug, answer in zip(slugs, answers, strict=True)}

    def renders(self, since: int = 0) -> list[dict[str, Any]]:
        """Every render of a page after number `since`, oldest first."""
        answer = requests.get(f"{self.url}/api/renders", params={"since": since}, timeout=10)
        answer.raise_for_status()
        return answer.json()["renders"]

    def counts(self) -> dict[str, int]:
        """How often each page was rendered."""
        return {entry["slug"]: entry["count"] for entry in self.renders()}

    def revalidations(self, since: int = 0) -> list[dict[str, Any]]:
        """Renders that were no visitor's. In the App Router the two look alike: there, every render."""
        return [entry for entry in self.renders() if entry["cause"] != "stale"][since:]

    def stop(self) -> None:
        """Ends the server."""
        self._process.stop()
