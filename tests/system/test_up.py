"""`signalbox up` as a user runs it: three brokers, a client from outside, Ctrl-C as a controlled shutdown."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.system.provision import command
from tests.system.test_kcat import kcat

NEEDS = (partial(command, "kcat"),)
_SIGNALBOX = Path(sys.executable).with_name("signalbox")


@pytest.fixture
def up(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    arguments = ["up", "--brokers", "3", "--data", str(tmp_path / "data"), "--port", "0"]
    process = subprocess.Popen([_SIGNALBOX, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    yield process
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def signalbox(*arguments: str) -> str:
    run = subprocess.run([_SIGNALBOX, *arguments], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_three_brokers_come_up_serve_and_go(up: subprocess.Popen[str], tmp_path: Path) -> None:
    assert up.stdout is not None
    line = next(line for line in up.stdout if line.startswith("bootstrap.servers="))
    servers = re.findall(r"127\.0\.0\.1:\d+", line)
    assert len(servers) == 3
    bootstrap = ["--bootstrap-server", servers[0]]
    signalbox("topic", "create", "made-by-hand", "--partitions", "3", *bootstrap)
    assert "made-by-hand" in signalbox("topic", "list", *bootstrap)
    lines = "\n".join(map(str, range(100)))
    kcat(",".join(servers), "-P", "-t", "made-by-hand", text=lines + "\n")
    found = kcat(servers[1], "-C", "-t", "made-by-hand", "-e", "-q", "-o", "beginning").split()
    assert sorted(map(int, found)) == list(range(100))
    up.send_signal(signal.SIGINT)
    assert up.wait(60) == 0
    for node_id in (1, 2, 3):
        log = (tmp_path / "data" / f"broker-{node_id}" / "broker.log").read_text()
        assert log.rstrip().endswith("signalbox: stopped")
