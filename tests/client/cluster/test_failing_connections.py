"""Connections that fail again and again: how long, and when a broker's limit of connections is the reason."""

from __future__ import annotations

import logging

import pytest

from signalbox.client.cluster.failing_connections import FailingConnections, at_limit
from signalbox.client.connection.node import Address, ConnectionKey, Purpose
from signalbox.client.failures import ConnectFailed, ConnectionLost, FurtherConnectionClosed, PeerBroke
from signalbox.transport.tls.tls_failure import ENDED_EARLY

HERE = Address("here", 9092)
FETCH = ConnectionKey(1, Purpose.FETCH)
GROUP = ConnectionKey(1, Purpose.GROUP)


def closed(problem: str = "closed by the broker", stage: str = "api-versions") -> ConnectFailed:
    failure = ConnectFailed(HERE, stage, problem)
    failure.__cause__ = ConnectionLost(HERE, problem) if stage == "api-versions" else None
    return failure


def test_a_connection_that_is_closed_beside_others_is_at_a_limit() -> None:
    failure = at_limit(closed(), 2)
    assert isinstance(failure, FurtherConnectionClosed)
    assert "closed by the broker, while it keeps 2 other connections of this client" in str(failure)
    assert "max.connections.per.ip" in str(failure)
    assert "keeps another connection" in str(at_limit(closed(), 1))
    assert isinstance(at_limit(closed(ENDED_EARLY, "tls"), 1), FurtherConnectionClosed)


@pytest.mark.parametrize(
    ("failure", "others"),
    [
        (closed(), 0),
        (ConnectFailed(HERE, "api-versions", "no answer within 100 ms"), 2),
        (ConnectFailed(HERE, "tcp", "no route"), 2),
        (ConnectFailed(HERE, "tls", "certificate verify failed"), 2),
        (PeerBroke(HERE, "frame", "not Kafka"), 2),
    ],
)
def test_other_failures_stay_as_they_are(failure: ConnectFailed, others: int) -> None:
    assert at_limit(failure, others) is failure


def test_a_failure_lasts_from_the_first_attempt_on_until_it_succeeds() -> None:
    failing = FailingConnections()
    for second in (0.0, 1.0, 2.0):
        failing.failed(FETCH, closed(str(second)), second)
    failing.failed(GROUP, closed("other"), 1.5)
    assert [failure.problem for failure in failing.lasting(2.0, 2.0)] == ["2.0"]
    assert len(failing.lasting(2.0, 0.5)) == 2
    assert failing.lasting(2.0, 3.0) == []
    failing.succeeded(FETCH)
    assert [failure.problem for failure in failing.lasting(2.0, 0.5)] == ["other"]
    failing.drop_node(1)
    assert failing.lasting(2.0, 0.0) == []


def test_a_connection_that_nothing_needs_any_more_does_not_count() -> None:
    failing = FailingConnections()
    failing.failed(FETCH, closed(), 0.0)
    failing.failed(FETCH, closed(), 1.0)
    assert failing.lasting(60.0, 1.0) == []
    failing.failed(FETCH, closed(), 60.0)
    assert failing.lasting(60.0, 1.0) == []


def test_a_limit_is_logged_once_and_not_for_a_broker_that_stops(caplog: pytest.LogCaptureFixture) -> None:
    failing = FailingConnections()
    limited = at_limit(closed(), 2)
    with caplog.at_level(logging.WARNING):
        failing.failed(FETCH, limited, 0.0)
        assert caplog.messages == []
        for second in (1.0, 2.0, 3.0):
            failing.failed(FETCH, limited, second)
        failing.failed(GROUP, closed(), 1.0)
        failing.failed(GROUP, closed(), 2.0)
    assert caplog.messages == [f"Further connection closed (node=1, purpose=fetch): {limited}"]
