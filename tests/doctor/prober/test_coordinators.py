"""Coordinators of named groups and transactional ids, from a node that says what the test wants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from signalbox.doctor.observations import EndpointObservation, LeftOut
from signalbox.doctor.prober.coordinators import CoordinatorKeys, read_coordinators
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.find_coordinator import FindCoordinatorResponse
from tests.client.loopback_cluster import LoopbackCluster
from tests.doctor.loopback import add_brokers

pytestmark = pytest.mark.spec("R8")

SETTINGS = ConnectionSettings(connect_timeout_ms=30_000, request_timeout_ms=30_000)
BOTH = ("__consumer_offsets", "__transaction_state")
NAMED = CoordinatorKeys(groups=("payments",), transactional_ids=("tx",))


def at(node_id: int) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(node_id=node_id, host=f"h{node_id}", port=9)


def read(
    answer: Callable[[Any, LoopbackCluster], Any], *topics: str, keys: CoordinatorKeys = NAMED
) -> tuple[list[EndpointObservation], list[LeftOut], list[tuple[str, int]]]:
    """(what was observed, what was skipped, (key, type) of each request)."""

    async def run() -> tuple[list[EndpointObservation], list[LeftOut], list[tuple[str, int]]]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2)
            broker = cluster.brokers[1]
            broker.scripts[ApiKey.FIND_COORDINATOR] = lambda request, version: answer(request, cluster)
            connection = await connect(Address(*broker.address), SETTINGS)
            try:
                rows, skipped = await read_coordinators(connection, 1, topics, keys)
            finally:
                connection.close()
            return rows, skipped, [(row.key, row.key_type) for row in broker.seen(ApiKey.FIND_COORDINATOR)]

    return asyncio.run(run())


def test_named_ones_are_asked_for_beside_the_doctors_own() -> None:
    rows, skipped, asked = read(lambda request, cluster: at(2), *BOTH)
    assert asked == [("signalbox-doctor", 0), ("payments", 0), ("signalbox-doctor", 1), ("tx", 1)]
    assert [(row.key, row.node_id, row.address) for row in rows] == [
        ("", 2, "h2:9"), ("group payments", 2, "h2:9"), ("", 2, "h2:9"), ("transactional id tx", 2, "h2:9")
    ]  # fmt: skip
    assert skipped == []
    assert not any(row.absent or row.error for row in rows)


def test_nothing_is_asked_that_would_create_a_topic() -> None:
    rows, skipped, asked = read(lambda request, cluster: at(2), "__consumer_offsets")
    assert asked == [("signalbox-doctor", 0), ("payments", 0)]
    assert len(rows) == 2
    assert skipped == [LeftOut("FindCoordinator: the topic __transaction_state does not exist")]


def test_without_a_name_no_answer_is_missing() -> None:
    groups_only = CoordinatorKeys(groups=("payments",))
    _, skipped, _ = read(lambda request, cluster: at(2), keys=groups_only)
    assert [row.unknown for row in skipped] == [True, False]


def test_brokers_without_the_request() -> None:
    def read_old(keys: CoordinatorKeys) -> list[LeftOut]:
        async def run() -> list[LeftOut]:
            async with LoopbackCluster() as cluster:
                await add_brokers(cluster, 1)
                broker = cluster.brokers[1]
                broker.scripts[ApiKey.API_VERSIONS] = lambda request, _: without(broker.api_versions(request))
                connection = await connect(Address(*broker.address), SETTINGS)
                try:
                    return (await read_coordinators(connection, 1, BOTH, keys))[1]
                finally:
                    connection.close()

        return asyncio.run(run())

    def without(response: Any) -> Any:
        response.api_keys = [row for row in response.api_keys if row.api_key != ApiKey.FIND_COORDINATOR]
        return response

    reason = "FindCoordinator: the brokers do not have it"
    assert read_old(CoordinatorKeys()) == [LeftOut(reason, unknown=False)]
    assert read_old(NAMED) == [LeftOut(reason)]


def test_a_coordinator_that_metadata_lacks_is_asked_for_again() -> None:
    rows, _, asked = read(lambda request, cluster: at(7 if request.key == "payments" else 1), "__consumer_offsets")
    assert [(row.key, row.node_id, row.absent) for row in rows] == [("", 1, False), ("group payments", 7, True)]
    assert len(asked) == 4


def test_a_coordinator_that_has_just_been_restarted_is_none() -> None:
    def restarts(request: Any, cluster: LoopbackCluster) -> Any:
        if len(cluster.brokers[1].seen(ApiKey.FIND_COORDINATOR)) > 2:
            cluster.advertised[7] = ("h7", 9)
        return at(7)

    rows, _, _ = read(restarts, "__consumer_offsets")
    assert [(row.node_id, row.absent) for row in rows] == [(7, False), (7, False)]


def test_an_error_is_one_of_a_named_group_only() -> None:
    def rejects(request: Any, cluster: LoopbackCluster) -> Any:
        return FindCoordinatorResponse(error_code=Error.COORDINATOR_NOT_AVAILABLE, node_id=-1, host="", port=-1)

    rows, _, _ = read(rejects, "__consumer_offsets")
    assert [(row.key, row.error, row.absent) for row in rows] == [
        ("group payments", "COORDINATOR_NOT_AVAILABLE", False)
    ]
