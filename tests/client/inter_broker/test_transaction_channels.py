from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from signalbox.client.failures import ConnectFailed, ConnectionLost, VersionUnsupported
from signalbox.client.inter_broker import transaction_channels
from signalbox.client.inter_broker.transaction_channels import TransactionChannels
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from tests.client.loopback_cluster import LoopbackCluster

pytestmark = pytest.mark.spec("D5")
SETTINGS = ConnectionSettings(connect_timeout_ms=1_000, request_timeout_ms=2_000)
Send = Callable[[int], Awaitable[Any]]


def with_channels(test: Callable[[LoopbackCluster, Send], Awaitable[None]]) -> None:
    """Two brokers; `send` returns what `on_response` gets for a request to a broker."""

    async def run() -> None:
        async with LoopbackCluster() as cluster:
            for node_id in (1, 2):
                broker = await cluster.add_broker(node_id)
                broker.scripts[ApiKey.WRITE_TXN_MARKERS] = lambda request, version: WriteTxnMarkersResponse()
            channels = TransactionChannels(
                lambda node_id: (Address(*cluster.brokers[node_id].address), SETTINGS), "cluster-A", "coordinator"
            )

            async def send(broker_id: int) -> Any:
                responses: asyncio.Queue[Any] = asyncio.Queue()
                channels.send(broker_id, WriteTxnMarkersRequest(), responses.put_nowait)
                assert responses.empty()
                return await asyncio.wait_for(responses.get(), 60)

            try:
                await test(cluster, send)
            finally:
                channels.close()

    asyncio.run(run())


def test_each_broker_has_a_connection_that_is_kept() -> None:
    async def test(cluster: LoopbackCluster, send: Send) -> None:
        for broker_id in (1, 2, 1):
            assert isinstance(await send(broker_id), WriteTxnMarkersResponse)
        assert [broker.connections for broker in cluster.brokers.values()] == [1, 1]
        (identity,) = cluster.brokers[2].seen(ApiKey.API_VERSIONS)
        assert (identity.cluster_id, identity.node_id) == ("cluster-A", 2)

    with_channels(test)


def test_the_version_is_negotiated_and_a_broker_without_the_api_is_a_failure() -> None:
    async def test(cluster: LoopbackCluster, send: Send) -> None:
        cluster.brokers[1].max_versions[ApiKey.WRITE_TXN_MARKERS] = 1
        await send(1)
        assert [version for key, version, _ in cluster.brokers[1].requests if key == ApiKey.WRITE_TXN_MARKERS] == [1]
        cluster.brokers[2].max_versions[ApiKey.WRITE_TXN_MARKERS] = 0
        assert isinstance(await send(2), VersionUnsupported)

    with_channels(test)


def test_a_lost_connection_fails_its_request_and_the_next_one_opens_another() -> None:
    async def test(cluster: LoopbackCluster, send: Send) -> None:
        broker = cluster.brokers[1]
        respond = broker.scripts[ApiKey.WRITE_TXN_MARKERS]
        broker.scripts[ApiKey.WRITE_TXN_MARKERS] = lambda request, version: None
        assert isinstance(await send(1), ConnectionLost)
        broker.scripts[ApiKey.WRITE_TXN_MARKERS] = respond
        assert isinstance(await send(1), WriteTxnMarkersResponse)

    with_channels(test)


def test_unreachable_and_unknown_brokers() -> None:
    async def test(cluster: LoopbackCluster, send: Send) -> None:
        await cluster.brokers[1].stop()
        assert isinstance(await send(1), ConnectFailed)
        assert isinstance(await send(9), LookupError)

    with_channels(test)


def test_a_connection_whose_session_ends_soon_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[ClientConnection] = []

    async def recorded(*args: Any) -> ClientConnection:
        opened.append(await connect(*args))
        return opened[-1]

    monkeypatch.setattr(transaction_channels, "connect", recorded)

    async def test(cluster: LoopbackCluster, send: Send) -> None:
        await send(1)
        opened[0].leaving = True
        assert isinstance(await send(1), WriteTxnMarkersResponse)
        assert cluster.brokers[1].connections == 2
        assert opened[0].is_open
        opened[0].close()

    with_channels(test)
