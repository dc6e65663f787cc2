"""The AWS emulator (ministack), with IAM enforced, on loopback, starting empty each time."""

import os
import shutil
from pathlib import Path

import requests

from .aws import ROOT_KEY, ROOT_SECRET, Aws
from .places import ACCOUNT, LOOPBACK, REGION, STACK_BIN, free_port
from .processes import Process, children_of, environment_of

READY_SECONDS = 30.0


class Emulator:
    """Starts on construction; `stop` ends it and removes what it unpacked."""

    def __init__(self, directory: Path):
        self.port = free_port()
        self.endpoint = f"http://{LOOPBACK}:{self.port}"
        self._scratch = directory / "emulator"
        shutil.rmtree(self._scratch, ignore_errors=True)
        (self._scratch / "home").mkdir(parents=True)
        (self._scratch / "tmp").mkdir()
        self._process = Process(
            "emulator", [str(STACK_BIN / "ministack")], directory / "emulator.log", self._environment()
        )
        self.aws = Aws(self.endpoint)
        try:
            self._process.wait_ready(self._healthy, READY_SECONDS)
        except BaseException:
            self.stop()
            raise

    def _environment(self) -> dict[str, str]:
        """Nothing of ours is inherited: functions get this whole environment, which would hide a variable that the
        template forgot, and a HOME with AWS settings in it would be read by their SDK."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._scratch / "home"),
            "TMPDIR": str(self._scratch / "tmp"),
            "BIND_HOST": LOOPBACK,
            "GATEWAY_PORT": str(self.port),
            "MINISTACK_HOST": "localhost",
            "MINISTACK_REGION": REGION,
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "AUTH": "true",
        }

    def _healthy(self) -> bool:
        try:
            return requests.get(f"{self.endpoint}/_ministack/health", timeout=2).ok
        except requests.RequestException:
            return False

    @property
    def pid(self) -> int:
        """The emulator's process id."""
        return self._process.pid

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return self._process.log

    def client_environment(self) -> dict[str, str]:
        """The variables that point an AWS SDK at this emulator, as root, and at nothing else."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            # The Rust crates run their DynamoDB tests only where this names an emulator.
            "CASCATA_TEST_DYNAMODB_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": ROOT_KEY,
            "AWS_SECRET_ACCESS_KEY": ROOT_SECRET,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def function_processes(self, function: str) -> list[int]:
        """The ids of the running bootstraps of a function: its execution environments."""
        return [
            pid
            for pid in children_of(self.pid)
            if environment_of(pid).get("AWS_LAMBDA_FUNCTION_NAME") == function
        ]

    def stop(self) -> None:
        """Ends the emulator with its functions. State is not kept: stream records would not survive anyway."""
        self._process.stop()
        shutil.rmtree(self._scratch, ignore_errors=True)
