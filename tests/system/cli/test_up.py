"""`signalbox up` as a user runs it: three brokers, a client of another process, Ctrl-C as a controlled shutdown."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.system.clients.test_kcat import kcat
from tests.system.provision import command
from tests.system.wire import Wire, log_in_by_scram

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


@pytest.mark.spec("F15", "M3")
def test_the_brokers_listeners_reject_other_clients(up: subprocess.Popen[str], tmp_path: Path) -> None:
    """A forged UpdateMetadata on the brokers' listeners is rejected; the password is in a file that only its owner may
    read."""
    assert up.stdout is not None
    next(line for line in up.stdout if line.startswith("bootstrap.servers="))
    folder = tmp_path / "data"
    assert (folder / "brokers.jaas").stat().st_mode & 0o777 == 0o600
    password = re.findall(r'password="([^"]+)"', (folder / "brokers.jaas").read_text())[0]
    forged = UpdateMetadataRequest(controller_id=9, controller_epoch=1_000, broker_epoch=-1)
    for listener in ("REPLICATION", "CONTROL"):
        bound = re.findall(rf"{listener} .*?(127\.0\.0\.1:\d+)", (folder / "broker-2" / "broker.log").read_text())
        assert bound
        with Wire(bound[-1]) as wire:
            wire.send(wire.request(ApiKey.UPDATE_METADATA, 8, forged.encode(8)))
            assert wire.closed()
        with Wire(bound[-1]) as wire:
            assert log_in_by_scram(wire, "SCRAM-SHA-512", "up_broker", "guessed").error_code
        with Wire(bound[-1]) as wire:
            assert log_in_by_scram(wire, "SCRAM-SHA-512", "up_broker", password).error_code == 0
            assert wire.ask(ApiKey.UPDATE_METADATA, 8, forged).error_code == Error.INVALID_REQUEST
