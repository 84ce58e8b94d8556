from __future__ import annotations

import logging

import pytest

from signalbox.client.connection.connect_log import LOG_INTERVAL_SECONDS, ConnectLog
from signalbox.client.connection.node import Address
from signalbox.client.failures import ConnectFailed, ConnectionLost

ADDRESS = Address("h", 1)
NAME = ConnectFailed(ADDRESS, "tls", "h on listener X: another name")


def test_the_same_failure_is_logged_once_per_interval(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    connect_log = ConnectLog("there", lambda: now[0])
    with caplog.at_level(logging.DEBUG):
        for _ in range(100):
            connect_log.failed(NAME)
        connect_log.failed(ConnectFailed(ADDRESS, "tcp", "rejected"))
        connect_log.failed(NAME)
        connect_log.failed(NAME)
        now[0] += LOG_INTERVAL_SECONDS
        connect_log.failed(NAME)
        connect_log.succeeded()
        connect_log.failed(NAME)
        connect_log.failed(ConnectionLost(ADDRESS, "hung up"))
    name = "Connection failed (there): could not connect to h:1 (tls): h on listener X: another name"
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", name),
        ("INFO", "Connection failed (there): could not connect to h:1 (tcp): rejected"),
        ("WARNING", name),
        ("WARNING", f"{name} (1 more like it since the last line)"),
        ("WARNING", name),
        ("INFO", "Connection failed (there): connection to h:1 lost: hung up"),
    ]


def test_a_connection_that_a_stopping_node_closes_is_ordinary_and_one_more_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connect_log = ConnectLog("there", lambda: 0.0)
    closed = ConnectFailed(ADDRESS, "api-versions", "the peer closed the connection")
    with caplog.at_level(logging.DEBUG):
        for _ in range(3):
            connect_log.failed(closed)
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
