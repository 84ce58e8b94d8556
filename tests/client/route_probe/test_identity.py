from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Identity
from signalbox.client.route_probe.identity import Identified, confirms, identify
from signalbox.common.ids import Grade
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_configs import DescribeConfigsResponse
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.doctor.loopback import add_brokers, describes_own_configs

pytestmark = pytest.mark.spec("R8")

SETTINGS = ConnectionSettings(connect_timeout_ms=2_000, request_timeout_ms=2_000)
ONE = Identity("cluster-A", 1)


def rejects_all(request: Any, version: int) -> Any:
    """No right to describe configs."""
    return answers_with(request, Error.CLUSTER_AUTHORIZATION_FAILED)


def accepts_all(request: Any, version: int) -> Any:
    """A server that describes any broker: it proves nothing."""
    return answers_with(request, Error.NONE)


def answers_with(request: Any, error: Error) -> Any:
    row = DescribeConfigsResponse.DescribeConfigsResult
    return DescribeConfigsResponse(
        results=[
            row(error_code=error, resource_type=one.resource_type, resource_name=one.resource_name)
            for one in request.resources
        ]
    )


def identified(
    change: Callable[[LoopbackBroker], None],
    expected: Identity | None = ONE,
    rejected: bool = False,
    more: Iterable[int] = (),
) -> tuple[Identified, LoopbackBroker]:
    """What `identify` finds at broker 1 of three; Metadata has the nodes in `more` too."""

    async def run() -> tuple[Identified, LoopbackBroker]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2, 3)
            cluster.advertised.update(dict.fromkeys(more, ("elsewhere", 1)))
            broker = cluster.brokers[1]
            change(broker)
            sent = None if rejected else expected
            connection = await connect(Address(*broker.address), SETTINGS, sent)
            try:
                return await identify(connection, expected, rejected, 64), broker
            finally:
                connection.close()

    return asyncio.run(run())


def nothing(broker: LoopbackBroker) -> None:
    pass


def test_the_expected_identity_is_accepted_and_an_impossible_one_rejected() -> None:
    found, broker = identified(nothing)
    assert (found.cluster_id, found.node_id, found.grade, found.api_versions_max) == (*ONE, Grade.VERIFIED, 5)
    assert sorted(found.brokers) == [1, 2, 3]
    assert broker.rejected == 1


def test_a_broker_that_lists_apiversions_5_and_does_not_have_it() -> None:
    def change(broker: LoopbackBroker) -> None:
        broker.api_versions_max = 4

    found, _ = identified(change)
    assert (found.node_id, found.grade) == (1, Grade.CONFIGS)


def test_the_node_is_searched_where_it_is_not_the_expected_one() -> None:
    found, broker = identified(nothing, Identity("cluster-A", 3), rejected=True)
    assert (found.node_id, found.grade) == (1, Grade.SEARCHED)
    assert broker.rejected == 1, "its configs name the node: one wrong identity is enough"


def test_without_the_right_to_describe_configs_every_identity_is_tried() -> None:
    def change(broker: LoopbackBroker) -> None:
        broker.scripts[ApiKey.DESCRIBE_CONFIGS] = rejects_all

    found, broker = identified(change, Identity("cluster-A", 3), rejected=True)
    assert (found.node_id, found.grade, broker.rejected) == (1, Grade.SEARCHED, 2)


def test_brokers_without_apiversions_5_are_identified_by_their_configs() -> None:
    def change(broker: LoopbackBroker) -> None:
        broker.api_versions_max = 4
        broker.max_versions[ApiKey.API_VERSIONS] = 4
        broker.scripts[ApiKey.DESCRIBE_CONFIGS] = describes_own_configs(broker, "A://x:1")

    found, _ = identified(change)
    assert (found.node_id, found.grade, found.api_versions_max) == (1, Grade.CONFIGS, 4)
    assert found.advertised == "A://x:1"


@pytest.mark.parametrize("script", [rejects_all, accepts_all])
def test_without_any_proof_only_the_cluster_is_known(script: Callable[[Any, int], Any]) -> None:
    def change(broker: LoopbackBroker) -> None:
        broker.compares_identity = False
        broker.scripts[ApiKey.DESCRIBE_CONFIGS] = script

    found, _ = identified(change)
    assert (found.cluster_id, found.node_id, found.grade) == ("cluster-A", -1, Grade.CLUSTER_ONLY)


def test_a_node_that_rejects_everything_that_its_metadata_names() -> None:
    def change(broker: LoopbackBroker) -> None:
        broker.node_id = 77

    found, _ = identified(change, ONE, rejected=True)
    assert (found.node_id, found.grade, found.rejects_all) == (-1, Grade.REJECTED, True)


def closes(request: Any, version: int) -> Any:
    """A server that closes the connection on DescribeConfigs."""
    return None


@pytest.mark.parametrize(("highest", "grade"), [(5, Grade.VERIFIED), (4, Grade.CLUSTER_ONLY)])
def test_a_server_that_closes_the_connection_on_describeconfigs(highest: int, grade: Grade) -> None:
    def change(broker: LoopbackBroker) -> None:
        broker.api_versions_max = broker.max_versions[ApiKey.API_VERSIONS] = highest
        broker.scripts[ApiKey.DESCRIBE_CONFIGS] = closes

    assert identified(change)[0].grade == grade
    assert identified(change, None)[0].grade == Grade.CLUSTER_ONLY
    unknown, _ = identified(change, Identity("cluster-A", 3), rejected=True)
    assert (unknown.grade, unknown.rejects_all) == (Grade.REJECTED, False)


def test_a_node_is_confirmed_by_its_configs() -> None:
    async def run() -> list[bool]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            connection = await connect(Address(*cluster.brokers[1].address), SETTINGS)
            try:
                return [await confirms(connection, node_id) for node_id in (1, 2)]
            finally:
                connection.close()

    assert asyncio.run(run()) == [True, False]


@pytest.mark.parametrize("highest", [5, 4])
def test_a_node_beyond_those_that_are_tried_one_by_one(highest: int) -> None:
    """DescribeConfigs asks for all nodes at once."""

    def change(broker: LoopbackBroker) -> None:
        broker.node_id = 80
        broker.api_versions_max = broker.max_versions[ApiKey.API_VERSIONS] = highest

    found, _ = identified(change, Identity("cluster-A", 3), rejected=highest == 5, more=range(4, 101))
    assert (found.node_id, found.grade) == (80, Grade.SEARCHED if highest == 5 else Grade.CONFIGS)


@pytest.mark.parametrize(("rejected", "grade"), [(True, Grade.REJECTED), (False, Grade.CLUSTER_ONLY)])
def test_a_node_that_was_not_asked_for_every_identity(rejected: bool, grade: Grade) -> None:
    def change(broker: LoopbackBroker) -> None:
        broker.node_id = 80
        broker.scripts[ApiKey.DESCRIBE_CONFIGS] = rejects_all

    expected = Identity("cluster-A", 3) if rejected else None
    found, broker = identified(change, expected, rejected=rejected, more=range(4, 101))
    assert (found.node_id, found.grade, found.rejects_all) == (-1, grade, False)
    assert broker.rejected == 65, "64 candidates, and the impossible one"


def test_only_so_many_nodes_of_a_metadata_are_kept() -> None:
    found, _ = identified(nothing, more=range(4, 3_000))
    assert len(found.brokers) == 1_000
