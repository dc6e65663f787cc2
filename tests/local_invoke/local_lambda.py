"""One call of `sam local invoke`, and what came of it.

SAM exits 0 when the function fails, when it times out and when its process dies; so its output is read here, and each
of these raises `FunctionFailed`.
"""

import json
import os
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import image
from container_log import ContainerLog
from stack.aws import ROOT_KEY, ROOT_SECRET
from stack.places import LOCAL, REGION, ROOT, SAM_BIN

TIMEOUT_SECONDS = 90
# What SAM or the runtime prints where a function gave no proper answer.
FAILURES = re.compile(
    r"Task timed out|panicked at|Runtime exited|Runtime\.ExitError|No response from invoke container|"
    r"Function '.*' timed out"
)


class FunctionFailed(AssertionError):
    """The function did not answer, or answered with an error."""


@dataclass
class Answer:
    """What a function answered, and what it printed meanwhile."""

    result: object
    output: str
    seconds: float
    metrics: dict = field(default_factory=dict)


class LocalLambda:
    """Calls the functions of a built template in containers."""

    def __init__(self, engine, template: Path, endpoint: str, parameters: dict, variables: dict):
        self._engine = engine
        self._template = template
        self._endpoint = endpoint
        self._parameters = [f"ParameterKey={name},ParameterValue={value}" for name, value in parameters.items()]
        self._variables = variables
        self._scratch = LOCAL / "local-invoke"
        self._scratch.mkdir(parents=True, exist_ok=True)

    def command(self, function: str, event: Path, variables: Path) -> list[str]:
        """The command line, as a person would type it."""
        return [
            str(SAM_BIN / "sam"), "local", "invoke", function,
            "--template", str(self._template), "--event", str(event), "--env-vars", str(variables),
            "--region", REGION, "--skip-pull-image", "--invoke-image", image.NAME,
            *(["--parameter-overrides", *self._parameters] if self._parameters else []),
        ]

    def invoke(self, function: str, event: Path, overrides: dict | None = None) -> Answer:
        """Calls a function with an event; `overrides` are environment variables for this call only."""
        values = {**self._variables.get(function, {}), **(overrides or {})}
        variables = self._scratch / "variables.json"
        variables.write_text(json.dumps({function: values}, indent=2))
        environment = {
            "PATH": f"{SAM_BIN}:{os.environ['PATH']}",
            "HOME": str(self._scratch),
            "SAM_CLI_TELEMETRY": "0",
            "AWS_ACCESS_KEY_ID": ROOT_KEY,
            "AWS_SECRET_ACCESS_KEY": ROOT_SECRET,
            "AWS_ENDPOINT_URL": self._endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
            **({"DOCKER_HOST": os.environ["DOCKER_HOST"]} if "DOCKER_HOST" in os.environ else {}),
        }
        begin = time.monotonic()
        with ContainerLog(self._engine, function) as log:
            run = subprocess.run(
                self.command(function, event, variables), cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=TIMEOUT_SECONDS, check=False,
            )
        return read(run.returncode, run.stdout, run.stderr, log.text, time.monotonic() - begin)


def read(status: int, answer: str, said: str, printed: str, seconds: float) -> Answer:
    """Reads a call's outcome: SAM's status, the function's answer on SAM's standard output, what SAM said on the other one
    (with some of the container's lines among it), and what the container printed."""

    def failed(why):
        return FunctionFailed(f"{why}\n--- answer\n{answer}\n--- SAM\n{said}\n--- container\n{printed}")

    if status != 0:
        raise failed(f"sam local invoke ended with {status}")
    for text in (said, printed, answer):
        if found := FAILURES.search(text):
            raise failed(f"the function failed: {found.group(0)}")
    lines = [line for line in answer.splitlines() if line.strip()]
    if not lines:
        raise failed("the function gave no answer")
    try:
        result = json.loads(lines[-1])
    except json.JSONDecodeError as error:
        raise failed("the function's answer is not JSON") from error
    if isinstance(result, dict) and ("errorType" in result or "errorMessage" in result):
        raise failed("the function answered with an error")
    return Answer(result, printed, seconds, metrics_of(printed))


def metrics_of(output: str) -> dict:
    """Every metric the function printed, by name; counts of several lines are added up."""
    found: dict = {}
    for line in output.splitlines():
        start = line.find('{')
        if start < 0 or '"_aws"' not in line:
            continue
        try:
            record = json.loads(line[start:])
        except json.JSONDecodeError:
            continue
        for directive in record["_aws"]["CloudWatchMetrics"]:
            for metric in directive["Metrics"]:
                values = record[metric["Name"]]
                for value in values if isinstance(values, list) else [values]:
                    found[metric["Name"]] = found.get(metric["Name"], 0) + value
    return found
