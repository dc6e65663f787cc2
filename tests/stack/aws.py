"""Clients of the emulated AWS: every one with the endpoint stated, so that nothing can reach the real one."""

import boto3
from botocore.config import Config

from .places import ACCOUNT, REGION

ROOT_KEY = "test"
ROOT_SECRET = "test"


class Aws:
    """Clients by service name, as the account's root (or as the given credentials)."""

    def __init__(self, endpoint: str, credentials: dict[str, str] | None = None):
        self.endpoint = endpoint
        self._session = boto3.Session(region_name=REGION)
        self._credentials = credentials or {
            "aws_access_key_id": ROOT_KEY,
            "aws_secret_access_key": ROOT_SECRET,
        }
        self._clients: dict[str, object] = {}

    def client(self, service: str):
        """The client of a service; one of each."""
        if service not in self._clients:
            self._clients[service] = self._session.client(
                service,
                endpoint_url=self.endpoint,
                config=Config(
                    connect_timeout=5, read_timeout=70, retries={"max_attempts": 2, "mode": "standard"}
                ),
                **self._credentials,
            )
        return self._clients[service]


def arn(service: str, resource: str) -> str:
    """An ARN of the emulator's account and Region."""
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"
