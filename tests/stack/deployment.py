"""The real template, by the real `sam build` and `sam deploy`, into the emulator."""

import fcntl
import os
import shlex
import tomllib
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .aws import ROOT_KEY, ROOT_SECRET, Aws
from .gaps import add_routes, allow_batches
from .pipe.deployed import physical_ids
from .places import LOCAL, REGION, ROOT, SAM_BIN
from .processes import Process

CONFIGURATION = "local"
BUILD_SECONDS = 1800
DEPLOY_SECONDS = 300


class SamFailed(RuntimeError):
    """`sam` ended with an error; the message holds the end of its output."""


@contextmanager
def built(log: Path):
    """`tests/build.sh`, which is `sam build`; inside, what was built stays as it is. Cargo decides what to compile:
    with nothing changed this takes two seconds.

    One at a time on this machine, since all builds share one folder, which each of them empties first.
    """
    LOCAL.mkdir(exist_ok=True)
    with (LOCAL / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _run("sam build", [str(ROOT / "tests" / "build.sh")], log, {"BUILD_LOCKED": "1"}, BUILD_SECONDS)
        yield


class Deployment:
    """A deployed stack: where its things are."""

    def __init__(self, aws: Aws, name: str, parameters: Mapping[str, str], log: Path):
        """Deploys what was built last. `parameters` go over those of the `local` configuration."""
        self.aws = aws
        self.name = name
        self._deploy(parameters, log)
        self.ids = physical_ids(aws, name)
        described = aws.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
        self.outputs = {entry["OutputKey"]: entry["OutputValue"] for entry in described.get("Outputs", [])}
        self.parameters = {
            entry["ParameterKey"]: entry["ParameterValue"] for entry in described["Parameters"]
        }
        template = aws.client("cloudformation").get_template(StackName=name, TemplateStage="Processed")[
            "TemplateBody"
        ]
        self.api_id = add_routes(aws, template, self.ids)
        allow_batches(aws, template, self.ids)

    def _deploy(self, parameters: Mapping[str, str], log: Path) -> None:
        arguments = [
            "deploy",
            "--config-env",
            CONFIGURATION,
            "--stack-name",
            self.name,
            "--region",
            REGION,
            "--resolve-s3",
            "--no-confirm-changeset",
            "--no-fail-on-empty-changeset",
            "--no-progressbar",
            "--capabilities",
            "CAPABILITY_IAM",
            *overriding(parameters),
        ]
        _sam(arguments, log, {"AWS_ENDPOINT_URL": self.aws.endpoint}, DEPLOY_SECONDS)

    def function(self, logical_id: str) -> str:
        """A function's name."""
        return self.ids[logical_id]

    def role_of(self, logical_id: str) -> str:
        """The name of a function's role."""
        configuration = self.aws.client("lambda").get_function_configuration(
            FunctionName=self.function(logical_id)
        )
        return configuration["Role"].rsplit("/", 1)[-1]

    def secret(self, logical_id: str) -> str:
        """The current value of a secret."""
        return self.aws.client("secretsmanager").get_secret_value(SecretId=self.ids[logical_id])[
            "SecretString"
        ]

    def put_secret(self, logical_id: str, value: str) -> None:
        """A new current value; the one before stays readable as the previous."""
        self.aws.client("secretsmanager").put_secret_value(SecretId=self.ids[logical_id], SecretString=value)


def overriding(parameters: Mapping[str, str]) -> list[str]:
    """The command line that sets template parameters over those of samconfig.toml."""
    overrides = configured_parameters() | dict(parameters)
    return ["--parameter-overrides", *(f"{key}={value}" for key, value in sorted(overrides.items()))]


def configured_parameters() -> dict[str, str]:
    """The template parameters of samconfig.toml's `local` environment: on the command line they do not add up."""
    configuration = tomllib.loads((ROOT / "samconfig.toml").read_text()).get(CONFIGURATION, {})
    found: dict[str, str] = {}
    for section in ("global", "deploy"):
        given: Any = configuration.get(section, {}).get("parameters", {}).get("parameter_overrides", [])
        for pair in shlex.split(given) if isinstance(given, str) else given:
            key, value = pair.split("=", 1)
            found[key] = value
    return found


def _sam(arguments: list[str], log: Path, variables: dict[str, str], seconds: float) -> None:
    _run(f"sam {arguments[0]}", [str(SAM_BIN / "sam"), *arguments], log, variables, seconds)


def _run(name: str, command: list[str], log: Path, variables: dict[str, str], seconds: float) -> None:
    """Runs `sam` with no AWS settings but the emulator's, so that it can reach nothing else."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")} | {
        "PATH": f"{SAM_BIN}:{os.environ['PATH']}",
        "SAM_CLI_TELEMETRY": "0",
        "AWS_ACCESS_KEY_ID": ROOT_KEY,
        "AWS_SECRET_ACCESS_KEY": ROOT_SECRET,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    sam = Process("sam", command, log, environment | variables, cwd=ROOT)
    try:
        status = sam.wait(seconds)
    finally:
        # Cargo and its compilers are in the same group, and end with it.
        sam.stop()
    if status != 0:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-40:])
        raise SamFailed(f"{name} ended with {status} (all of it in {log}):\n{end}")
