"""Webhooks as Sanity sends them: headers, body and signature."""

import base64
import hashlib
import hmac
import json
import os
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from ..places import NEIGHBOURS

PROJECTION = Path(__file__).resolve().parents[1] / "projection.groq"
SIGNATURE_HEADER = "sanity-webhook-signature"
ANSWER_SECONDS = 30


@dataclass
class Delivery:
    """One webhook, before it is signed. A retry of Sanity's is the same one sent again."""

    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    def without(self, *names: str) -> "Delivery":
        """The same without some headers."""
        return Delivery(self.body, {key: value for key, value in self.headers.items() if key not in names})

    def having(self, **headers: str) -> "Delivery":
        """The same with other headers; underscores stand for dashes."""
        return Delivery(
            self.body, self.headers | {key.replace("_", "-"): value for key, value in headers.items()}
        )


def delivery_of(change: dict[str, Any], body: Any, project: str, dataset: str) -> Delivery:
    """The webhook for one result of a mutation, with every header that Sanity sends."""
    return Delivery(
        body=body
        if isinstance(body, bytes)
        else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(),
        headers={
            "connection": "close",
            "accept-encoding": "gzip",
            "content-type": "application/json",
            "user-agent": "Sanity.io webhook delivery",
            "idempotency-key": f'"{uuid.uuid4()}"',
            "sanity-transaction-id": change["transaction_id"],
            "sanity-transaction-time": change["transaction_time"],
            "sanity-dataset": dataset,
            "sanity-document-id": change["id"],
            "sanity-project-id": project,
            "sanity-webhook-id": "cascataLocalHook",
            "sanity-operation": change["operation"],
        },
    )


def signature(body: bytes, secret: str, milliseconds: int | None = None) -> str:
    """The header value that `@sanity/webhook` makes, without starting Node; the two are compared in a test."""
    timestamp = str(milliseconds or time.time_ns() // 1_000_000)
    digest = hmac.digest(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"t={timestamp},v1={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


@dataclass(frozen=True)
class Answer:
    """What the webhook answered."""

    status: int
    body: Any
    headers: dict[str, str]
    sent_at: str | None = None
    signature: str | None = None


class Sender:
    """Sends to one address, signing with a secret."""

    def __init__(self, url: str, host: str | None, secret: str):
        """`host` is sent as Host header when the address is not the one to name."""
        self.url = url
        self.host = host
        self.secret = secret

    def send(
        self,
        delivery: Delivery,
        secret: str | None = None,
        signed: bool = True,
        milliseconds: int | None = None,
        method: str = "POST",
        header: str | None = None,
    ) -> Answer:
        """One request. `secret` is another secret to sign with, `header` a ready signature header."""
        headers = self._headers(delivery)
        if signed:
            headers[SIGNATURE_HEADER] = header or signature(
                delivery.body, secret or self.secret, milliseconds
            )
        answer = requests.request(
            method, self.url, data=delivery.body, headers=headers, timeout=ANSWER_SECONDS
        )
        return Answer(
            answer.status_code,
            _decoded(answer.text),
            dict(answer.headers),
            None,
            headers.get(SIGNATURE_HEADER),
        )

    def send_as_sanity(self, deliveries: list[Delivery], concurrent: bool = False) -> list[Answer]:
        """Signed by Sanity's own package and sent from Node: one request at a time, as Sanity does, or all at once."""
        job = {
            "url": self.url,
            "secret": self.secret,
            "concurrent": concurrent,
            "deliveries": [
                {"body": delivery.body.decode(), "headers": self._headers(delivery)}
                for delivery in deliveries
            ],
        }
        done = subprocess.run(
            ["node", str(NEIGHBOURS / "sender.mjs")],
            input=json.dumps(job).encode(),
            capture_output=True,
            env={"PATH": os.environ["PATH"]},
            timeout=ANSWER_SECONDS * max(1, len(deliveries)) + 10,
        )
        if done.returncode != 0:
            raise RuntimeError(f"the sender failed:\n{done.stderr.decode(errors='replace')}")
        return [
            Answer(one["status"], _decoded(one["body"]), one["headers"], one["sent_at"], one["signature"])
            for one in json.loads(done.stdout)["answers"]
        ]

    def _headers(self, delivery: Delivery) -> dict[str, str]:
        return delivery.headers | ({"host": self.host} if self.host else {})


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
