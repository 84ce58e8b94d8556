"""DescribeCluster: brokers of the request's listener; clients do not receive the active controller's id."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from signalbox.broker.handlers.describe_cluster import DescribeClusterHandler
from signalbox.broker.routing.exposed_nodes import ExposedController
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_cluster import DescribeClusterRequest
from signalbox.protocol.own_tags import active_controller
from tests.broker.handler_requests import ALLOW_ALL, acl, cache_of, context, request_of, response_to


def ask(version: int, authorizer: Any = ALLOW_ALL, listener: str = "CLIENT", **fields: Any) -> Any:
    cache = cache_of()
    handler = DescribeClusterHandler(cache, "cluster", authorizer, ExposedController(cache, Random(1)))
    return response_to(handler, request_of(DescribeClusterRequest(**fields), version, context(listener=listener)))


@pytest.mark.spec("L10", "F12")
@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_cluster_as_the_listener_shows_it(version: int) -> None:
    response = ask(version)
    assert [(b.broker_id, b.host, b.port, b.rack) for b in response.brokers] == [
        (1, "client1", 9001, "rack1"),
        (2, "client2", 9002, "rack2"),
    ]
    assert (response.cluster_id, response.error_code) == ("cluster", Error.NONE)
    assert response.controller_id in (1, 2)
    assert ask(version, listener="NOWHERE").controller_id == -1


@pytest.mark.parametrize(
    ("endpoint_type", "error"), [(2, Error.MISMATCHED_ENDPOINT_TYPE), (7, Error.UNSUPPORTED_ENDPOINT_TYPE)]
)
def test_endpoints_that_are_not_here(endpoint_type: int, error: Error) -> None:
    response = ask(1, endpoint_type=endpoint_type)
    assert (response.error_code, response.brokers) == (error, [])
    assert response.error_message


@pytest.mark.spec("F12")
def test_the_active_controller_needs_describe_on_the_cluster() -> None:
    assert active_controller(ask(1)) == -1
    assert active_controller(ask(1, include_cluster_authorized_operations=True)) == cache_of().image.controller_id


def test_authorized_operations_need_describe_on_the_cluster() -> None:
    assert ask(1).cluster_authorized_operations == -(2**31)
    asked: dict[str, Any] = {"include_cluster_authorized_operations": True}
    assert ask(1, **asked).cluster_authorized_operations == sum(1 << code for code in (5, 7, 8, 9, 10, 11, 12))
    assert ask(1, acl(("alice", "CREATE", "cluster")), **asked).cluster_authorized_operations == 0
    assert active_controller(ask(1, acl(("alice", "CREATE", "cluster")), **asked)) == -1
    bits = ask(1, acl(("alice", "ALTER", "cluster")), **asked).cluster_authorized_operations
    assert bits == 1 << 7 | 1 << 8
