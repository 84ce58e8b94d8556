"""Commands that cannot connect end early, with the likely reason: wrong ports, wrong listeners, wrong certificates."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from signalbox.cli.main import app
from signalbox.testing.cluster import Cluster

LIMIT_S = 2.0  # a permanent error takes a second at most on a host that does nothing else


def timed(bootstrap: str, *arguments: str) -> tuple[Result, float]:
    began = time.monotonic()
    result = CliRunner().invoke(app, ["topic", "list", "-b", bootstrap, *arguments])
    return result, time.monotonic() - began


def config(folder: Path, **keys: str) -> str:
    file = folder / "client.properties"
    file.write_text("".join(f"{key.replace('__', '.')}={value}\n" for key, value in keys.items()))
    return str(file)


def test_a_port_without_a_listener() -> None:
    result, taken_s = timed("127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Nothing listens at this port" in result.stderr
    assert "Tried 127.0.0.1:1 with security.protocol=PLAINTEXT" in result.stderr
    assert taken_s < LIMIT_S


@pytest.mark.parametrize(
    ("listener", "keys", "hint"),
    [
        ("CONTROL", {}, "The listener does not serve clients"),
        ("CLIENT", {"security__protocol": "SSL"}, "The listener may not speak TLS"),
    ],
)
def test_a_wrong_listener_or_protocol(
    cluster: Cluster, tmp_path: Path, listener: str, keys: dict[str, str], hint: str
) -> None:
    address = cluster.nodes[1].describe()["listeners"][listener]
    result, taken_s = timed(address, "--command-config", config(tmp_path, **keys))
    assert (result.exit_code, result.stdout) == (1, "")
    assert hint in result.stderr
    assert taken_s < LIMIT_S


def test_a_port_that_never_answers_costs_the_time_to_connect(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        keys = config(tmp_path, socket__connection__setup__timeout__ms="300")
        result, taken_s = timed(address, "--command-config", keys)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no answer within 300 ms" in result.stderr
    assert "time to connect 300 ms" in result.stderr
    assert taken_s < LIMIT_S + 1


def test_an_address_that_answers_is_enough(cluster: Cluster, run: Any) -> None:
    run("topic", "create", "reached")
    result, _ = timed(f"127.0.0.1:1,{cluster.bootstrap_servers}")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "reached" in result.stdout.splitlines()
