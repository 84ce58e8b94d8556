"""`signalbox config`: values, their sources, and changes."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Any

import pytest

from signalbox.testing.cluster import Cluster
from tests.waiting import until


def rows(text: str) -> dict[str, list[str]]:
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]
    return {cells[0]: cells[1:] for cells in lines}


def test_set_see_and_go_back(run: Any) -> None:
    run("topic", "create", "configured")
    assert run("config", "set", "topic:configured", "retention.ms=77", "segment.bytes=2000000").exit_code == 0
    seen = ["77", "topic", "yes"]
    assert until(lambda: rows(run("config", "describe", "topic:configured").stdout).get("retention.ms") == seen)
    assert run("config", "set", "topic:configured", "retention.ms=").exit_code == 0
    assert until(lambda: "retention.ms" not in rows(run("config", "describe", "topic:configured").stdout))
    every = ("config", "describe", "topic:configured", "--all")
    assert until(lambda: rows(run(*every).stdout)["retention.ms"][1] == "default")


def test_a_broker_and_all_brokers(run: Any) -> None:
    found = rows(run("config", "describe", "broker:1").stdout)
    assert found["node.id"] == ["1", "server.properties", ""]
    assert run("config", "describe", "broker:").exit_code == 0
    assert run("config", "set", "broker:", "log.retention.ms=").stdout == "all brokers: changed\n"


def test_a_key_of_brokers_that_may_be_misspelt_is_stored_with_a_warning(run: Any) -> None:
    result = run("config", "set", "broker:1", "log.retenton.ms=5", "log.retention.ms=60000000", "metric.reporters=x")
    assert (result.exit_code, result.stdout) == (0, "1: changed\n")
    assert result.stderr == "warning: log.retenton.ms is not a known key (did you mean log.retention.ms?)\n"
    assert run("config", "set", "broker:1", "log.retenton.ms=", "log.retention.ms=", "metric.reporters=").stderr == ""


@pytest.mark.spec("L5")
def test_a_limit_that_would_cut_off_open_connections_needs_a_yes(run: Any, cluster: Cluster) -> None:
    change = ("config", "set", "broker:", "max.connections.per.ip=2")
    client = cluster.nodes[1].components.server.table.row("CLIENT")
    with ExitStack() as open_connections:
        for _ in range(3):
            open_connections.enter_context(socket.create_connection(("127.0.0.1", client.port)))
        rejected = until(lambda: found if (found := run(*change)).exit_code else None)
        assert "127.0.0.1 has 4 connections to node 1 open and would be limited to 2" in rejected.stderr  # its own too
        assert "--yes" in rejected.stderr
        assert "max.connections.per.ip" not in rows(run("config", "describe", "broker:").stdout)
        assert run(*change, "--yes").exit_code == 0
    until(lambda: run("config", "set", "broker:", "max.connections.per.ip=").exit_code == 0)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("describe", "nonsense"), 2),
        (("describe", "group:x"), 2),
        (("set", "topic:configured", "nonsense"), 2),
        (("describe", "topic:nope"), 1),
        (("set", "topic:nope", "retention.ms=1"), 1),
    ],
)
def test_rejections(run: Any, arguments: tuple[str, ...], code: int) -> None:
    result = run("config", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr
