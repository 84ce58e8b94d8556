from __future__ import annotations

import pytest

from signalbox.client import failures
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import AuthenticationRejected, ClientFailure, ConnectFailed, ConnectionLost, Misrouted

ADDRESS = Address("::1", 9092)


def test_a_failure_names_the_address_and_how_far_it_got() -> None:
    assert str(ConnectFailed(ADDRESS, "tls", "bad name")) == "could not connect to [::1]:9092 (tls): bad name"
    assert str(ConnectionLost(ADDRESS, "reset")) == "connection to [::1]:9092 lost: reset"


def test_what_a_peer_wrote_is_one_short_line() -> None:
    hostile = Address("h\x1b[2J\n" + "x" * 20_000, 9092)
    for failure in (ConnectFailed(hostile, "resolve", hostile.host), ConnectionLost(hostile, hostile.host)):
        text = str(failure)
        assert text.isprintable()
        assert len(text) < 2_000
        assert r"h\x1b[2J\n" in text
        assert "x:9092 " in text


def test_a_misroute_says_what_to_check() -> None:
    text = str(Misrouted(ADDRESS, Identity("c", 2)))
    assert "wanted node 2 of cluster c" in text
    assert "DNS, load balancer, port map" in text


@pytest.mark.parametrize(
    ("name", "retriable"),
    [
        ("ConnectFailed", True),
        ("ConnectionLost", True),
        ("Misrouted", True),
        ("NoUsableNode", True),
        ("PeerBroke", True),
        ("AuthenticationRejected", False),
        ("VersionUnsupported", False),
        ("DeadlinePassed", False),
        ("ChannelClosed", False),
        ("ConfigRejected", False),
    ],
)
def test_retriable_failures(name: str, retriable: bool) -> None:
    failure = getattr(failures, name)
    assert issubclass(failure, ClientFailure)
    assert failure.retriable is retriable


def test_a_rejected_login_is_a_failed_connect_at_its_stage() -> None:
    assert AuthenticationRejected(ADDRESS, "no").stage == "sasl"
