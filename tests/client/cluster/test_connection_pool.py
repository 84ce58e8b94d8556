from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.cluster.connection_pool import ConnectionPool
from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Identity, Node, Purpose
from signalbox.client.failures import ConnectFailed, FurtherConnectionClosed
from signalbox.protocol.api_table import ApiKey
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import until_true


def with_pool(test: Callable[[LoopbackCluster, ConnectionPool, Node], Awaitable[None]]) -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(1)
            pool = ConnectionPool(ConnectionSettings(), lambda node_id: Identity("cluster-A", node_id), 40, 100)
            await test(cluster, pool, Node(1, Address(*broker.address)))
            pool.drop_all("the test is over")

    asyncio.run(run())


def test_those_who_want_the_same_connection_share_one_attempt() -> None:
    async def test(cluster: LoopbackCluster, pool: ConnectionPool, node: Node) -> None:
        found = await asyncio.gather(*(pool.get(node) for _ in range(5)))
        assert len(set(map(id, found))) == 1
        assert await pool.get(node, Purpose.COORDINATOR) is not found[0]
        assert cluster.brokers[1].connections == 2
        assert pool.load(1) == (False, 0)

    with_pool(test)


def test_dropping_a_node_drops_every_purpose() -> None:
    async def test(cluster: LoopbackCluster, pool: ConnectionPool, node: Node) -> None:
        found = [await pool.get(node, purpose) for purpose in Purpose]
        pool.drop_node(1, "rejected")
        assert not any(connection.is_open for connection in found)
        assert pool.connections() == []
        assert pool.load(1) == (True, 0)

    with_pool(test)


def test_a_closed_connection_is_replaced_and_so_is_one_to_an_old_address() -> None:
    async def test(cluster: LoopbackCluster, pool: ConnectionPool, node: Node) -> None:
        first = await pool.get(node)
        first.close()
        second = await pool.get(node)
        assert second is not first
        third = await pool.get(Node(1, Address("localhost", node.address.port)))
        assert not second.is_open
        assert third.is_open

    with_pool(test)


def test_failed_attempts_back_off_longer_and_longer_and_success_forgets_them() -> None:
    async def test(cluster: LoopbackCluster, pool: ConnectionPool, node: Node) -> None:
        await cluster.brokers[1].stop()
        loop = asyncio.get_running_loop()
        for backoff_s in (0.04, 0.08, 0.1):
            began = loop.time()
            with pytest.raises(ConnectFailed):
                await pool.get(node)
            assert pool.backing_off(1, began + backoff_s - 0.001)  # the backoff begins at the failure, not the attempt
            assert not pool.backing_off(1, loop.time() + backoff_s)
        await cluster.brokers[1].start()
        await pool.get(node)
        assert not pool.backing_off(1, loop.time())

    with_pool(test)


def test_an_attempt_that_is_dropped_fails_for_those_who_wait_and_may_be_repeated() -> None:
    async def test(cluster: LoopbackCluster, pool: ConnectionPool, node: Node) -> None:
        waiting = asyncio.ensure_future(pool.get(node))
        await asyncio.sleep(0)
        pool.drop_all("Rebootstrapping")
        with pytest.raises(ConnectFailed, match="cancelled"):
            await waiting
        assert (await pool.get(node)).is_open

    with_pool(test)


def test_after_the_end_no_attempt_to_connect_is_under_way() -> None:
    async def test(cluster: LoopbackCluster, pool: ConnectionPool, node: Node) -> None:
        async def stall(request: Any, version: int) -> None:
            await asyncio.Event().wait()

        cluster.brokers[1].scripts[ApiKey.API_VERSIONS] = stall
        before = asyncio.all_tasks()
        waiting = asyncio.create_task(pool.get(node))
        await until_true(lambda: bool(cluster.brokers[1].seen(ApiKey.API_VERSIONS)))
        await pool.close("the test is over")
        attempts = [task for task in asyncio.all_tasks() - before if "_connect" in str(task.get_coro())]
        assert attempts == []
        with pytest.raises(ConnectFailed, match="cancelled while connecting"):
            await waiting

    with_pool(test)


def test_a_connection_of_a_probe_is_kept_unless_there_is_one() -> None:
    async def test(cluster: LoopbackCluster, pool: ConnectionPool, node: Node) -> None:
        with pytest.raises(ConnectFailed):
            await pool.get(Node(1, Address("127.0.0.1", 1)))
        loop = asyncio.get_running_loop()
        assert pool.backing_off(1, loop.time())
        probed, other = [await connect(node.address, ConnectionSettings(), Identity("cluster-A", 1)) for _ in range(2)]
        pool.keep(1, probed)
        assert not pool.backing_off(1, loop.time())
        assert await pool.get(node) is probed
        pool.keep(1, other)
        assert await pool.get(node) is probed
        assert not other.is_open
        assert pool.metrics()["connection-count"] == 1

    with_pool(test)


def test_a_broker_at_its_limit_of_connections_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async def test(cluster: LoopbackCluster, pool: ConnectionPool, node: Node) -> None:
        await pool.get(node)
        broker = cluster.brokers[1]
        broker.scripts[ApiKey.API_VERSIONS] = lambda request, version: None
        for _ in range(2):
            with pytest.raises(FurtherConnectionClosed, match=r"max\.connections\.per\.ip"):
                await pool.get(node, Purpose.FETCH)
        loop = asyncio.get_running_loop()
        assert [str(failure.address) for failure in pool.failing.lasting(loop.time(), 0)] == [str(node.address)]
        del broker.scripts[ApiKey.API_VERSIONS]
        await pool.get(node, Purpose.FETCH)
        assert pool.failing.lasting(loop.time(), 0) == []

    with_pool(test)
    assert len([text for text in caplog.messages if "at a limit of its connections" in text]) == 1
