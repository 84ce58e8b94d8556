"""An S3 server for tests: versitygw, whose objects are files of a folder.

It was chosen because its conditional puts hold: `rclone serve s3` ignores `If-None-Match`, with it one writer
overwrites another's commit.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from deltalake import DeltaTable

from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.object_store.settings import StoreSettings
from signalbox.testing.free_ports import free_ports
from tests.system import provision
from tests.waiting import until

PACKAGE = "github.com/versity/versitygw/cmd/versitygw"
ACCESS_KEY, SECRET_KEY = "signalbox-tests", "a-secret-that-is-in-no-message"
BUCKET = "lake"


@dataclass(frozen=True, slots=True)
class StoreServer:
    """A running server with one bucket. `environment`: what a command needs to use it."""

    port: int
    folder: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    def storage_options(self) -> dict[str, str]:
        """The options of delta-rs."""
        return StoreSettings.of_environment(self.environment).storage_options()

    def table(self, location: S3Location) -> DeltaTable:
        """A table as any program reads it by delta-rs."""
        return DeltaTable(str(location), storage_options=self.storage_options())


def compiled_server() -> str | None:
    """The path of the server, compiled before the first time limit if a module's NEEDS name it; None without Go."""
    return provision.go_tool("versitygw", PACKAGE)


@contextmanager
def store_server(folder: Path) -> Iterator[StoreServer]:
    """Runs the server with its files in `folder`. Skips the test where no Go compiles it."""
    program = compiled_server()
    if program is None:
        pytest.skip("Go is not installed")
    (folder / "buckets" / BUCKET).mkdir(parents=True)
    [port] = free_ports(1)
    login = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
    command = [program, "--port", f"127.0.0.1:{port}", "--quiet", "posix", str(folder / "buckets")]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, **login}, cwd=folder, stdout=log, stderr=log)
    server = StoreServer(port, folder / "buckets")
    try:
        _wait_until_ready(server, process, folder / "server.log")
        yield server
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_ready(server: StoreServer, process: subprocess.Popen[bytes], log: Path) -> None:
    options = StoreSettings.of_environment({**server.environment, "AWS_MAX_ATTEMPTS": "1"}).storage_options()

    def is_ready() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            return not DeltaTable.is_deltatable(f"s3://{BUCKET}/none", options)
        except OSError:
            return False

    until(is_ready, "the store answers", 60)
