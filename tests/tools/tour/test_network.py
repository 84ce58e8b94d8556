"""A tour has a network of its own where the system gives one, and says so where it does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.tour import network


@pytest.fixture(autouse=True)
def _outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIGNALBOX_TOUR_NETWORK", raising=False)


def test_without_the_program_the_tour_runs_in_the_network_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert network.enter(["readme"]) is False


def test_where_the_system_forbids_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/false")
    assert network.enter(["readme"]) is False


def test_the_program_starts_again_with_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/true")
    monkeypatch.setattr(os, "execv", lambda program, arguments: started.append(arguments))
    monkeypatch.setenv("SIGNALBOX_TOUR_NETWORK", "")
    network.enter(["readme"])
    assert started == [["/bin/true", "-rn", sys.executable, "-m", "tools.tour", "readme"]]
    assert os.environ["SIGNALBOX_TOUR_NETWORK"] == "1"


def test_inside_loopback_is_up() -> None:
    unshare = shutil.which("unshare")
    code = (
        "from tools.tour.network import enter; import socket; print(enter([])); socket.create_server(('127.0.0.1', 1))"
    )
    command = [str(unshare), "-rn", sys.executable, "-c", code]
    if unshare is None or subprocess.run([*command[:2], "true"], check=False, capture_output=True).returncode != 0:
        assert network.enter([]) is False  # no namespaces here
        return
    environment = os.environ | {"SIGNALBOX_TOUR_NETWORK": "1"}
    root = Path(network.__file__).parents[2]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "True\n", done.stderr
