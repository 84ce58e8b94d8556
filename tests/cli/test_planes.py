"""`signalbox planes`: what a broker's metrics page shows about its planes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from signalbox.cli.broker_page import page_of as read_page
from signalbox.cli.planes import listener_states, table_rows
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import encode_request_header
from signalbox.testing.cluster import Cluster
from tests.cli.ctrl_c import watched_until_ctrl_c

_HEAD = ["broker", "plane", "queue", "queue ms", "idle", "requests", "expired", "listener", "connections", "rejected"]


@pytest.fixture(scope="module")
def measured() -> Iterator[Cluster]:
    with Cluster(brokers=1, overrides={"signalbox.metrics.http.port": "0"}) as running:
        yield running


def page_of(cluster: Cluster) -> str:
    return str(cluster.nodes[1].describe()["metrics"]).removeprefix("http://").removesuffix("/metrics")


def trespass(cluster: Cluster) -> None:
    """Sends Metadata to the forced control plane: the connection is closed."""
    host, _, port = cluster.nodes[1].describe()["listeners"]["CONTROL"].rpartition(":")
    asked = encode_request_header(ApiKey.METADATA, 12, 1, "trespasser") + b"\0" * 8
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        sock.sendall(len(asked).to_bytes(4) + asked)
        assert sock.recv(1) == b""


@pytest.mark.spec("C7")
def test_once_is_a_line_a_listener_for_scripts(run: Any, measured: Cluster) -> None:
    trespass(measured)
    done = run("planes", page_of(measured), "--once")
    assert done.exit_code == 0, done.stderr
    head, *rows = (line.split("\t") for line in done.stdout.splitlines())
    assert head == _HEAD
    assert [[row[1], row[7]] for row in rows] == [
        ["control", "CONTROL (forced)"],
        ["data", "CLIENT"],
        ["data", "REPLICATION"],
    ]
    control = dict(zip(head, rows[0], strict=True))
    assert int(control["rejected"]) >= 1
    assert int(control["connections"]) >= 1, "the controller's own channel"
    assert int(control["requests"]) >= 2
    assert float(control["queue ms"]) >= 0
    assert 0 <= int(control["idle"].removesuffix("%")) <= 100


@pytest.mark.spec("C7")
def test_json_has_numbers(run: Any, measured: Cluster) -> None:
    page = page_of(measured)
    rows = json.loads(run("planes", f"{page},{page}", "--json").stdout)
    assert [row["broker"] for row in rows] == [page] * 6, "commas and blanks separate addresses"
    names = {"broker", "plane", "listener", "queue_ms", "idle"}
    assert all(type(value) is int for row in rows for name, value in row.items() if name not in names)
    assert all(0 <= row["idle"] <= 1 for row in rows)


@pytest.mark.spec("C7")
def test_the_live_view_has_the_figures_of_a_plane_once(measured: Cluster) -> None:
    states = list(listener_states("b", read_page(page_of(measured))))
    control, client, replication = table_rows(states, {})
    assert [control[1], client[1], replication[1]] == ["control", "data", "data"]
    assert all(control[2:7]), "each plane has its figures"
    assert all(client[2:7])
    assert replication[2:7] == ("",) * 5, "those of the data plane stand in the row of its first listener"
    assert replication[7] == "REPLICATION"
    assert int(replication[8]) >= 0


@pytest.mark.spec("C7")
def test_the_live_view_ends_by_ctrl_c(measured: Cluster) -> None:
    assert watched_until_ctrl_c(["planes", page_of(measured), "--every", "0.1"], word="REPLICATION") == 0


def test_a_page_that_is_not_a_brokers(run: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    done = run("planes", f"127.0.0.1:{port}", "--once")
    assert done.exit_code == 1
    assert "has no metrics page" in done.stderr
    with pytest.raises(typer.Exit):
        list(listener_states("x", "up 1.0\n"))
