from __future__ import annotations

import asyncio
import math
import time
from contextlib import suppress

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import Purpose
from signalbox.client.failures import (
    ClientFailure,
    ConnectFailed,
    ConnectionLost,
    DeadlinePassed,
    Misrouted,
    NoUsableNode,
    VersionUnsupported,
    WrongCluster,
)
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import crossed_cluster, hurried, with_client
from tests.client.loopback_cluster import LoopbackCluster, Script
from tests.waiting import until_answered, until_true

NO_TOPICS = MetadataRequest(topics=[])


async def rejected(client: ClusterClient, node_id: int) -> Misrouted:
    """Send requests to a misrouted node until one is rejected: before that the connection may be cut, or the attempt to
    connect cancelled, since the client bootstraps again."""
    while True:
        try:
            await client.request(node_id, NO_TOPICS)
        except Misrouted as failure:
            return failure
        except (ConnectFailed, ConnectionLost, NoUsableNode):
            await asyncio.sleep(0)


@pytest.mark.spec("R4")
def test_a_client_discovers_the_cluster_and_connects_to_nodes_with_their_identity() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        response = await client.request_any(NO_TOPICS)
        assert response.cluster_id == client.view.cluster_id == "cluster-A"
        assert sorted(client.view.nodes) == [1, 2, 3]
        for node_id in (1, 2, 3):
            await client.request(node_id, NO_TOPICS)
            sent = [(row.cluster_id, row.node_id) for row in cluster.brokers[node_id].seen(ApiKey.API_VERSIONS)]
            assert ("cluster-A", node_id) in sent
            assert all(pair == ("cluster-A", node_id) or pair == (None, -1) for pair in sent)
        assert [(row.node_id, row.connected, row.verified) for row in client.routes()] == [
            (node_id, True, True) for node_id in (1, 2, 3)
        ]

    with_client(test)


@pytest.mark.spec("R4")
def test_a_coordinator_connection_is_its_own_and_carries_the_true_node_id() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        await client.request(2, NO_TOPICS, purpose=Purpose.REQUESTS)
        before = cluster.brokers[2].connections
        await client.request(2, NO_TOPICS, purpose=Purpose.COORDINATOR)
        assert cluster.brokers[2].connections == before + 1
        assert cluster.brokers[2].seen(ApiKey.API_VERSIONS)[-1].node_id == 2

    with_client(test)


@pytest.mark.spec("F13", "F17")
def test_a_controller_that_joined_after_the_last_metadata_is_found() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        def answer(code: Error) -> Script:
            return lambda request, version: ElectLeadersResponse(error_code=code)

        joining = cluster.advertised.pop(3)
        await client.request_any(NO_TOPICS)
        assert sorted(client.view.nodes) == [1, 2]
        for node_id, code in ((1, Error.NOT_CONTROLLER), (2, Error.NOT_CONTROLLER), (3, Error.NONE)):
            cluster.brokers[node_id].scripts[ApiKey.ELECT_LEADERS] = answer(code)
        assert (await client.request_any(ElectLeadersRequest())).error_code == Error.NOT_CONTROLLER
        cluster.advertised[3] = joining
        async with asyncio.timeout(60):
            while (await client.request_any(ElectLeadersRequest())).error_code != Error.NONE:
                await client.pause(1, client.deadline())

    with_client(test)


@pytest.mark.spec("R5")
def test_a_node_that_joined_after_the_last_metadata_is_found() -> None:
    """As a coordinator: FindCoordinator names it before this client has it in its view."""

    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        joining = cluster.advertised.pop(3)
        await client.request_any(NO_TOPICS)
        cluster.advertised[3] = joining
        with pytest.raises(NoUsableNode):
            await client.request(3, NO_TOPICS)
        await until_true(lambda: 3 in client.view.nodes)
        await client.request(3, NO_TOPICS)

    with_client(test)


@pytest.mark.spec("F13", "F17")
def test_a_request_that_a_node_rejects_with_not_controller_goes_to_the_next_node() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        def answer(code: Error) -> Script:
            return lambda request, version: ElectLeadersResponse(error_code=code)

        for node_id, code in ((1, Error.NOT_CONTROLLER), (2, Error.NONE), (3, Error.NOT_CONTROLLER)):
            cluster.brokers[node_id].scripts[ApiKey.ELECT_LEADERS] = answer(code)
        for _ in range(4):
            assert (await client.request_any(ElectLeadersRequest())).error_code == Error.NONE
        cluster.brokers[2].scripts[ApiKey.ELECT_LEADERS] = answer(Error.NOT_CONTROLLER)
        assert (await client.request_any(ElectLeadersRequest())).error_code == Error.NOT_CONTROLLER
        assert all(cluster.brokers[node_id].seen(ApiKey.ELECT_LEADERS) for node_id in (1, 2, 3))

    with_client(test)


@pytest.mark.spec("R5")
def test_swapped_addresses_are_rejected_and_healed_without_the_callers_help() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        board.swap("2", "3")
        rejection = await rejected(client, 2)
        assert "wanted node 2 of cluster cluster-A" in str(rejection)
        assert client.rebootstraps == 1
        await until_true(lambda: 2 in client.view.nodes)
        with pytest.raises((Misrouted, NoUsableNode)):
            await client.request(2, NO_TOPICS)
        await until_true(lambda: any(row.quarantined for row in client.routes()))
        assert (await client.request(1, NO_TOPICS)).cluster_id == "cluster-A"
        assert (await client.request_any(NO_TOPICS)).cluster_id == "cluster-A"
        await board.restore()
        await until_true(lambda: not any(row.quarantined for row in client.routes()))
        assert (await client.request(2, NO_TOPICS)).cluster_id == "cluster-A"

    with_client(test)


@pytest.mark.spec("R6")
def test_a_permanent_swap_costs_few_rebootstraps_and_does_not_affect_the_third_node() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        board.swap("2", "3")
        began = time.monotonic()
        for _ in range(40):
            for node_id in (2, 3):
                with pytest.raises((Misrouted, NoUsableNode, ConnectionLost)):
                    await client.request(node_id, NO_TOPICS)
            await asyncio.sleep(0.02)
        await until_true(lambda: sum(row.quarantined for row in client.routes()) == 2)
        assert client.rebootstraps == 1
        await client.request(1, NO_TOPICS)
        connections = cluster.brokers[1].connections
        for _ in range(20):
            await client.request(1, NO_TOPICS)
        # The rebootstrap may still be on its way to this broker.
        assert cluster.brokers[1].connections - connections in (0, 1)
        # Probes come every 25 ms up to 200 ms, then each after an eighth more time, and some requests came before.
        outage = max(time.monotonic() - began, 0.2)
        probes = 12 + math.log(outage / 0.2) / math.log(9 / 8)
        assert cluster.brokers[2].rejected + cluster.brokers[3].rejected < 2 * probes

    with_client(test)


@pytest.mark.spec("R6")
def test_addresses_that_are_swapped_again_and_again_leave_the_connection_of_the_third_node_open() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        kept = None
        for _ in range(4):
            before = cluster.brokers[3].rejected
            board.swap("2", "3")
            while cluster.brokers[3].rejected == before:
                assert not await is_reached(client, 2)
                await asyncio.sleep(0)
            # The first rejection closes all connections; the broker counts it before the client has read it.
            await until_true(lambda: client.rebootstraps == 1 and 1 in client.view.nodes)
            await client.request(1, NO_TOPICS)
            connection = await client.metadata_updater.pool.get(client.view.nodes[1])
            kept = kept or connection
            assert connection is kept
            await board.restore()
            board.sever("2", "3")
            await until_answered(lambda: is_reached(client, 2))
            client.metadata_updater.rebootstrap._start_over_at_ms = 0.0  # as after a quiet second
        assert client.rebootstraps == 1

    with_client(test)


async def is_reached(client: ClusterClient, node_id: int) -> bool:
    try:
        await client.request(node_id, NO_TOPICS)
    except ClientFailure:
        return False
    return True


@pytest.mark.spec("R6")
def test_metadata_with_a_better_address_ends_the_quarantine() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        board.swap("2", "3")
        await rejected(client, 2)
        await until_true(lambda: 2 in client.view.nodes)
        with pytest.raises((Misrouted, NoUsableNode)):
            await client.request(2, NO_TOPICS)
        cluster.advertised[2] = cluster.brokers[2].address
        await until_true(lambda: client.view.nodes[2].address == cluster.brokers[2].address)
        assert (await client.request(2, NO_TOPICS)).cluster_id == "cluster-A"

    with_client(test)


@pytest.mark.spec("R6")
def test_a_pinned_client_rejects_bootstrap_servers_of_another_cluster() -> None:
    async def run() -> None:
        async with crossed_cluster(1, "cluster-B") as (cluster, _):
            settings = hurried(cluster.bootstrap, api_timeout_ms=300, cluster_id_policy="pin:cluster-A")
            async with ClusterClient(settings) as client:
                with pytest.raises(DeadlinePassed, match="lead to cluster cluster-B, pinned is cluster-A") as caught:
                    await client.request_any(NO_TOPICS)
                assert isinstance(caught.value.__cause__, WrongCluster)
                assert client.view.nodes == {}
            async with ClusterClient(hurried(cluster.bootstrap)) as client:
                assert (await client.request_any(NO_TOPICS)).cluster_id == "cluster-B"

    asyncio.run(run())


def test_a_client_follows_its_seeds_to_another_cluster() -> None:
    async def run() -> None:
        async with (
            crossed_cluster(1, "cluster-A") as (old, board),
            crossed_cluster(1, "cluster-B") as (new, _),
            ClusterClient(hurried(old.bootstrap)) as client,
        ):
            await client.request_any(NO_TOPICS)
            new.advertised[1] = new.brokers[1].address
            board.rewire("1", new.brokers[1].address)
            board.sever()
            assert (await client.request_any(NO_TOPICS)).cluster_id == "cluster-B"
            assert client.rebootstraps >= 1

    asyncio.run(run())


@pytest.mark.spec("R4")
def test_with_the_check_off_a_swap_goes_unnoticed() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        board.swap("2", "3")
        with suppress(ConnectionLost):
            await client.request(2, NO_TOPICS)
        assert (await client.request(2, NO_TOPICS)).cluster_id == "cluster-A"
        assert cluster.brokers[3].seen(ApiKey.METADATA)
        assert all(row.cluster_id is None for row in cluster.brokers[3].seen(ApiKey.API_VERSIONS))

    from signalbox.client.cluster.rebootstrap import RecoveryPolicy

    with_client(test, recovery=RecoveryPolicy(cluster_check_enabled=False))


def test_a_dead_node_is_left_out_and_the_others_answer() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        await board.refuse_connections("1")
        for _ in range(6):
            assert (await client.request_any(NO_TOPICS)).cluster_id == "cluster-A"
        assert client.rebootstraps == 0

    with_client(test)


@pytest.mark.spec("R5")
def test_when_no_node_is_left_the_client_starts_over_and_comes_back() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        for name in board.names():
            await board.refuse_connections(name)
        cluster.advertised = {1: cluster.brokers[1].address}
        assert (await client.request_any(NO_TOPICS)).cluster_id == "cluster-A"
        await until_true(lambda: list(client.view.nodes) == [1])
        assert client.rebootstraps >= 1

    with_client(test, reconnect_backoff_ms=200, reconnect_backoff_max_ms=200)


def test_a_deadline_error_names_the_last_failure() -> None:
    async def run() -> None:
        async with ClusterClient(hurried("127.0.0.1:1", api_timeout_ms=200)) as client:
            with pytest.raises(DeadlinePassed, match=r"no broker is available: .*127\.0\.0\.1:1"):
                await client.request_any(NO_TOPICS)

    asyncio.run(run())


def test_a_silent_node_costs_the_caller_its_own_time_and_no_connection() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        connections = cluster.brokers[1].connections
        board.delay("1", 300)
        with pytest.raises(DeadlinePassed, match="did not answer in 50 ms"):
            await client.request(1, NO_TOPICS, timeout_ms=50)
        await board.restore("1")
        await client.request(1, NO_TOPICS)
        assert cluster.brokers[1].connections == connections

    with_client(test, size=1)


def test_topics_and_leaders_are_waited_for() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        asyncio.get_running_loop().call_later(0.1, cluster.add_topic, "late", 2, 3)
        topic = await client.topic("late")
        assert [row.leader_id for row in topic.partitions.values()] == [2, 3]
        node = await client.leader_of(TopicPartition("late", 1), client.deadline())
        assert node.node_id == 3
        with pytest.raises(DeadlinePassed, match=r"topic never is not available \(UNKNOWN_TOPIC_OR_PARTITION\)"):
            await client.topic("never", timeout_ms=200)  # below topic.metadata.propagation.max.ms

    with_client(test)


def test_a_request_that_no_broker_takes_is_not_retried() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        with pytest.raises(VersionUnsupported, match="Produce"):
            await client.request_any(lambda connection: connection.version_for(ProduceRequest(), max_version=1))

    with_client(test)
