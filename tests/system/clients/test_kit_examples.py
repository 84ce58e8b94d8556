"""The worked examples of the test kit in other languages, with a cluster of `signalbox up --drill`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.system import provision
from tests.system.provision import go_program, java_class

EXAMPLES = Path(__file__).parents[3] / "examples" / "testkit"
JAVA = str(EXAMPLES / "java" / "LostAcknowledgement.java")
GO = EXAMPLES / "go" / "main.go"

NEEDS = (partial(java_class, JAVA, "clients"), partial(go_program, "testkit-example", GO))
pytestmark = [pytest.mark.spec("R7"), pytest.mark.timeout(300)]

_SIGNALBOX = Path(sys.executable).with_name("signalbox")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`signalbox` is found as a user's shell finds it, and its default folder is a new one."""
    path = f"{_SIGNALBOX.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "XDG_DATA_HOME": str(tmp_path_factory.mktemp("data"))}


@pytest.fixture(scope="module")
def bootstrap(environment: dict[str, str]) -> Iterator[str]:
    up = ["signalbox", "up", "--drill", "--port", "0", "--topic", "orders:3", "--topic", "payments:3", "--detach"]
    started = subprocess.run(up, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert started.returncode == 0, started.stdout + started.stderr
    [ready] = [line for line in started.stdout.splitlines() if line.startswith("bootstrap.servers=")]
    yield ready.removeprefix("bootstrap.servers=").split()[0]
    subprocess.run(["signalbox", "down"], env=environment, capture_output=True, timeout=160, check=True)


def output_of(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_java(bootstrap: str, environment: dict[str, str]) -> None:
    command = [*provision.java(), "-cp", java_class(JAVA, "clients"), "LostAcknowledgement", bootstrap, "orders"]
    lines = output_of(command, environment).splitlines()
    assert [line.strip("0123456789: ") for line in lines] == ["CutAfterRequest api=Produce", "cleared", "passed"]


def test_go(bootstrap: str, environment: dict[str, str]) -> None:
    program = go_program("testkit-example", GO)
    if program is None:
        pytest.skip("Go is not installed")
    lines = output_of([program, bootstrap, "payments"], environment).splitlines()
    assert [line.strip("0123456789: ") for line in lines] == ["MoveCoordinator group=payments", "passed", "cleared"]
