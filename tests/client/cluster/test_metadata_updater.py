from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.client.cluster.rebootstrap import RecoveryPolicy
from signalbox.client.cluster.rebootstrap_table import Phase
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import Purpose
from signalbox.client.failures import ChannelClosed, ConnectFailed
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import until_true

NO_TOPICS = MetadataRequest(topics=[])


def script_metadata(cluster: LoopbackCluster, change: Any) -> None:
    for broker in cluster.brokers.values():

        def answer(request: Any, version: int, broker: Any = broker) -> Any:
            return change(broker.metadata(request))

        broker.scripts[ApiKey.METADATA] = answer


def test_the_least_loaded_node_is_one_with_a_connection_and_little_to_do() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        metadata_updater = client.metadata_updater
        for node_id in (1, 2, 3):
            await client.request(node_id, NO_TOPICS)

        may_answer = asyncio.Event()

        async def slow(request: Any, version: int) -> Any:
            await may_answer.wait()
            return cluster.brokers[1].metadata(request)

        for node_id in (1, 2):
            cluster.brokers[node_id].scripts[ApiKey.METADATA] = slow
        busy = [asyncio.ensure_future(client.request(node_id, NO_TOPICS)) for node_id in (1, 2)]
        await until_true(lambda: all(metadata_updater.pool.load(node_id)[1] for node_id in (1, 2)))
        nodes = [metadata_updater.least_loaded_node() for _ in range(4)]
        assert {node.node_id for node in nodes if node is not None} == {3}
        one = metadata_updater.least_loaded_node(exclude=[3])
        assert one is not None
        assert one.node_id in (1, 2)
        assert metadata_updater.least_loaded_node(exclude=[1, 2, 3]) is None
        may_answer.set()
        await asyncio.gather(*busy)

    with_client(test)


@pytest.mark.spec("R5")
def test_metadata_with_129_makes_the_client_start_over() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        rejections: list[Any] = []

        def reject_once(response: Any) -> Any:
            if not rejections:
                rejections.append(response)
                response.error_code = Error.REBOOTSTRAP_REQUIRED
            return response

        script_metadata(cluster, reject_once)
        client.metadata_updater.refresh_soon()
        await until_true(lambda: client.rebootstraps == 1 and client.metadata_updater.rebootstrap.phase is Phase.STEADY)
        assert sorted(client.view.nodes) == [1, 2, 3]

    with_client(test)


def test_metadata_without_brokers_is_not_adopted() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)

        def empty(response: Any) -> Any:
            response.brokers = []
            return response

        script_metadata(cluster, empty)
        client.metadata_updater.refresh_soon()
        await until_true(lambda: client.metadata_updater.rebootstrap.phase is Phase.OVERDUE)
        assert sorted(client.view.nodes) == [1, 2, 3]
        assert client.rebootstraps == 0
        for broker in cluster.brokers.values():
            broker.scripts.clear()
        await until_true(lambda: client.metadata_updater.rebootstrap.phase is Phase.STEADY)

    with_client(test)


@pytest.mark.spec("R5")
def test_metadata_that_cannot_be_had_for_long_makes_the_client_start_over() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)

        def nothing(response: Any) -> Any:
            return None

        script_metadata(cluster, nothing)
        client.metadata_updater.refresh_soon()
        await until_true(lambda: client.rebootstraps >= 1)
        for broker in cluster.brokers.values():
            broker.scripts.clear()
        assert (await client.request_any(NO_TOPICS)).cluster_id == "cluster-A"

    with_client(
        test,
        recovery=RecoveryPolicy(rebootstrap_trigger_ms=150),
        reconnect_backoff_ms=1,
        reconnect_backoff_max_ms=1,
    )


@pytest.mark.spec("R5")
def test_a_late_response_of_an_older_generation_is_not_adopted() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(NO_TOPICS)
        metadata_updater = client.metadata_updater
        node = client.view.nodes[1]
        old = metadata_updater.rebootstrap.generation
        metadata_updater.note_misroute(node, old)
        assert metadata_updater.rebootstrap.generation == old + 1
        metadata_updater.note_misroute(node, old)
        assert metadata_updater.rebootstrap.generation == old + 1
        await until_true(lambda: len(client.view.nodes) == 3)

    with_client(test)


@pytest.mark.spec("R5")
def test_rebootstrapping_discards_the_nodes_and_closes_every_connection() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.topic("t1")
        for node_id in (1, 2, 3):
            await client.request(node_id, NO_TOPICS)
        metadata_updater = client.metadata_updater
        assert {key.node_id for key, _ in metadata_updater.pool.connections()} >= {1, 2, 3}
        metadata_updater.note_misroute(client.view.nodes[1], metadata_updater.rebootstrap.generation)
        assert metadata_updater.rebootstrap.phase is Phase.BOOTSTRAP
        assert (client.view.cluster_id, client.view.nodes, client.view.topics) == (None, {}, {})
        assert list(metadata_updater.pool.connections()) == []
        before = {node_id: broker.connections for node_id, broker in cluster.brokers.items()}
        await until_true(lambda: len(client.view.nodes) == 3)
        for node_id, broker in cluster.brokers.items():
            await client.request(node_id, NO_TOPICS)
            assert broker.connections > before[node_id], "connected again"

    with_client(test)


def test_requested_topics_stay_in_later_metadata_requests() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.topic("t1")
        await client.topic("t2")
        client.metadata_updater.refresh_soon()
        requests = [row for broker in cluster.brokers.values() for row in broker.seen(ApiKey.METADATA)]
        await until_true(lambda: any([t.name for t in row.topics] == ["t1", "t2"] for row in requests), 2)
        keys = {key.purpose for key, _ in client.metadata_updater.pool.connections()}
        assert Purpose.METADATA in keys

    with_client(test)


def test_an_address_that_cannot_exist_does_not_end_the_updates() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        seen = client.metadata_updater
        cluster.advertised[1] = ("127.0.0.1", 70_000)
        await until_true(lambda: bool(client.view.nodes))
        seen.refresh_soon(["t1"])
        with pytest.raises(ConnectFailed, match="70000 is no port"):
            await client.request(1, NO_TOPICS)
        cluster.advertised[1] = cluster.brokers[1].address
        assert (await client.topic("t1", timeout_ms=40_000)).name == "t1"
        await client.request_any(NO_TOPICS, timeout_ms=40_000)

    with_client(test, size=1)


def test_a_node_that_accepts_and_never_answers_does_not_hold_up_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalbox.client.cluster.metadata_updater._METADATA_TIMEOUT_MS", 50)

    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await until_true(lambda: bool(client.view.nodes))
        released = asyncio.Event()

        async def stall(request: Any, version: int) -> None:
            await released.wait()

        for node_id in (1, 2):
            cluster.brokers[node_id].scripts[ApiKey.API_VERSIONS] = stall
        async with asyncio.timeout(30):
            assert (await client.topic("t1", timeout_ms=50_000)).name == "t1"
        released.set()

    with_client(test, connect_timeout_ms=50_000)


def test_a_partition_without_a_leader_does_not_cause_a_request_per_round_trip() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        def requested() -> int:
            return sum(bool(row.topics) for broker in cluster.brokers.values() for row in broker.seen(ApiKey.METADATA))

        await client.topic("t1")
        before = requested()
        for _ in range(30):
            client.metadata_updater.refresh_soon(["t1"])
            await client.request(1, NO_TOPICS)
        assert requested() == before
        await client.topic("t2")  # a topic that is new to the client is requested at once
        assert requested() == before + 1

    with_client(test, retry_backoff_ms=50_000, retry_backoff_max_ms=50_000)


def test_the_end_of_the_client_ends_calls_and_attempts_to_connect() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await until_true(lambda: bool(client.view.nodes))
        released = asyncio.Event()

        async def stall(request: Any, version: int) -> None:
            await released.wait()

        cluster.brokers[1].scripts[ApiKey.API_VERSIONS] = stall
        before = asyncio.all_tasks()
        topic = asyncio.create_task(client.topic("no-such-topic", timeout_ms=50_000))
        request = asyncio.create_task(client.request(1, NO_TOPICS, timeout_ms=50_000))
        await until_true(lambda: cluster.brokers[1].connections > 0 and "no-such-topic" in client.view.topics)
        await client.close()
        async with asyncio.timeout(30):
            with pytest.raises(ChannelClosed, match="the client is closed"):
                await topic
            with pytest.raises(ConnectFailed):
                await request
        assert not [task for task in asyncio.all_tasks() - before if "connect" in str(task.get_coro())]
        released.set()

    with_client(test, connect_timeout_ms=50_000, allow_auto_create_topics=True)


def test_a_topic_that_is_requested_while_the_client_bootstraps_waits_for_no_backoff() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        asked, may_respond = asyncio.Event(), asyncio.Event()

        async def wait(request: Any, version: int) -> Any:
            asked.set()
            await may_respond.wait()
            return cluster.brokers[1].metadata(request)

        cluster.brokers[1].scripts[ApiKey.METADATA] = wait
        await asked.wait()
        topic = asyncio.create_task(client.topic("t1"))
        await until_true(lambda: "t1" in client.metadata_updater.topics)
        may_respond.set()
        async with asyncio.timeout(40):
            assert (await topic).name == "t1"

    with_client(test, size=1, retry_backoff_ms=50_000, retry_backoff_max_ms=50_000)
