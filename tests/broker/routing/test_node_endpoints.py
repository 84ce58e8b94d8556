"""Endpoints of new leaders: on the request's listener, or none (L10)."""

from __future__ import annotations

import pytest

from signalbox.broker.routing.node_endpoints import node_endpoints
from signalbox.protocol.messages.fetch import FetchResponse
from tests.broker.handler_requests import cache_of


@pytest.mark.spec("L10")
def test_once_each_in_order_and_only_those_of_the_listener() -> None:
    found = node_endpoints(cache_of(), "CLIENT", [2, 3, 1, 2, -1], FetchResponse.NodeEndpoint)
    assert [(e.node_id, e.host, e.port, e.rack) for e in found] == [
        (1, "client1", 9001, "rack1"),
        (2, "client2", 9002, "rack2"),
    ]
    [third] = node_endpoints(cache_of(), "REPLICATION", [3], FetchResponse.NodeEndpoint)
    assert (third.host, third.port) == ("replication3", 9103)
