"""The controller id that clients receive: any broker that they can reach (F12)."""

from __future__ import annotations

from random import Random

import pytest

from signalbox.broker.routing.exposed_nodes import ExposedController, node_endpoints
from signalbox.protocol.messages.fetch import FetchResponse
from tests.broker.handler_requests import cache_of


@pytest.mark.spec("F12")
def test_a_random_broker_of_the_listener_each_time() -> None:
    exposed = ExposedController(cache_of(), Random(1))
    assert {exposed.id_for("CLIENT") for _ in range(50)} == {1, 2}
    assert {exposed.id_for("REPLICATION") for _ in range(50)} == {1, 2, 3}


def test_a_refused_connection() -> None:
    assert ExposedController(cache_of(), Random(1)).id_for("NOWHERE") == -1


@pytest.mark.spec("L10")
def test_once_each_in_order_and_only_those_of_the_listener() -> None:
    found = node_endpoints(cache_of(), "CLIENT", [2, 3, 1, 2, -1], FetchResponse.NodeEndpoint)
    assert [(e.node_id, e.host, e.port, e.rack) for e in found] == [
        (1, "client1", 9001, "rack1"),
        (2, "client2", 9002, "rack2"),
    ]
    [third] = node_endpoints(cache_of(), "REPLICATION", [3], FetchResponse.NodeEndpoint)
    assert (third.host, third.port) == ("replication3", 9103)
