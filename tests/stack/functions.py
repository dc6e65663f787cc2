"""The deployed functions: invoked, configured, killed, and read."""

import json
import os
import signal
from typing import Any

from .deployment import Deployment
from .emulator import Emulator
from .roles import denied


class FunctionFailed(AssertionError):
    """A function ended with an error."""


class Functions:
    """By logical id: WebhookFunction, ConsumerFunction, RelayFunction, …"""

    def __init__(self, emulator: Emulator, deployment: Deployment):
        self._emulator = emulator
        self._aws = emulator.aws
        self._deployment = deployment

    def names(self) -> list[str]:
        """The logical ids of all functions of the stack."""
        return sorted(name for name in self._deployment.ids if name.endswith("Function"))

    def invoke(self, logical_id: str, payload: Any) -> Any:
        """One synchronous invocation; raises `FunctionFailed` on a function error."""
        answer = self._aws.client("lambda").invoke(
            FunctionName=self._deployment.function(logical_id), Payload=json.dumps(payload).encode()
        )
        body = json.loads(answer["Payload"].read() or b"null")
        if answer.get("FunctionError"):
            raise FunctionFailed(f"{logical_id}: {answer['FunctionError']}: {body}")
        return body

    def configure(self, logical_id: str, **variables: str) -> None:
        """Changes environment variables; the running execution environments are replaced."""
        client, name = self._aws.client("lambda"), self._deployment.function(logical_id)
        current = client.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        client.update_function_configuration(
            FunctionName=name, Environment={"Variables": current | variables}
        )

    def environment(self, logical_id: str) -> dict[str, str]:
        """Its environment variables."""
        name = self._deployment.function(logical_id)
        return self._aws.client("lambda").get_function_configuration(FunctionName=name)["Environment"][
            "Variables"
        ]

    def kill(self, logical_id: str) -> int:
        """Kills its running processes as a crash of the machine would; answers how many there were."""
        killed = self._emulator.function_processes(self._deployment.function(logical_id))
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        return len(killed)

    def denied(self, logical_id: str, *actions: str, resource: str = "*"):
        """While inside (`with`), the function's role is denied these actions."""
        return denied(self._aws, self._deployment.role_of(logical_id), *actions, resource=resource)

    def log(self, logical_id: str, since: float = 0) -> list[str]:
        """Everything the function printed that the emulator has taken in, from a time (epoch seconds) on, oldest first."""
        logs = self._aws.client("logs")
        name = self._deployment.function(logical_id)
        configuration = self._aws.client("lambda").get_function_configuration(FunctionName=name)
        group = configuration.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{name}"
        pages = logs.get_paginator("filter_log_events").paginate(
            logGroupName=group, startTime=int(since * 1000)
        )
        try:
            entries = [entry for page in pages for entry in page["events"]]
        except logs.exceptions.ResourceNotFoundException:
            return []
        return [
            entry["message"].rstrip("\n") for entry in sorted(entries, key=lambda entry: entry["timestamp"])
        ]

    def json_log(self, logical_id: str, since: float = 0) -> list[dict[str, Any]]:
        """The lines of its log that are JSON objects."""
        found = []
        for line in self.log(logical_id, since):
            try:
                parsed = json.loads(line)
            except ValueError:
                continue
            if isinstance(parsed, dict):
                found.append(parsed)
        return found

    def metrics(self, logical_id: str, name: str) -> list[float]:
        """Every value of a metric that it wrote in embedded metric format."""
        found: list[float] = []
        for line in self.json_log(logical_id):
            if "_aws" in line and name in line:
                value = line[name]
                found += value if isinstance(value, list) else [value]
        return found
