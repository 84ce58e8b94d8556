from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import ClientFailure, ConnectFailed, ConnectionLost, Misrouted, PeerBroke
from signalbox.client.inter_broker.replica_channel import ReplicaChannel, open_replica_channel
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.fair_scheduler import TrafficClass
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.waiting import until_true

SETTINGS = ConnectionSettings(connect_timeout_ms=1_000, request_timeout_ms=1_000)
WHO = Identity("cluster-A", 1)


def with_broker(test: Callable[[LoopbackBroker, DataLoop], Awaitable[None]]) -> None:
    async def run() -> None:
        data_loop = DataLoop(asyncio.get_running_loop())
        try:
            async with LoopbackCluster() as cluster:
                cluster.add_topic("t", 1)
                cluster.topics["t"][0].append(batch())
                await test(await cluster.add_broker(1), data_loop)
        finally:
            data_loop.close()

    asyncio.run(run())


def batch() -> bytes:
    from signalbox.protocol.records.record_batch import Record, encode_batch

    return encode_batch([Record(value=b"v" * 100_000)], timestamp_ms=1)


def fetch(offset: int = 0) -> FetchRequest:
    row = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(max_wait_ms=500, topics=[FetchRequest.FetchTopic(topic="t", partitions=[row])])


async def ask(channel: ReplicaChannel, message: FetchRequest, version: int = 12) -> tuple[int, bytes]:
    """(error code, records) of the one partition; the records are copied while they are valid."""
    future: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()

    def take(response: Any) -> None:
        row = response.responses[0].partitions[0]
        future.set_result((row.error_code, bytes(row.records or b"")))

    channel.send(message, version, take)
    return await asyncio.wait_for(future, 60)


def test_fetches_are_answered_in_the_data_loop_small_and_large() -> None:
    async def test(broker: LoopbackBroker, data_loop: DataLoop) -> None:
        channel = await open_replica_channel(data_loop, Address(*broker.address), SETTINGS, WHO)
        assert channel.verified
        assert channel._channel.traffic_class is TrafficClass.REPLICATION
        assert channel.version_for(ApiKey.FETCH) == 18
        for _ in range(3):
            error, records = await ask(channel, fetch())
            assert (error, len(records)) == (0, len(broker.cluster.topics["t"][0].batches[0]))
            assert (await ask(channel, fetch(1))) == (0, b"")
        assert channel.in_flight == 0
        channel.close()
        assert not channel.is_open

    with_broker(test)


def test_a_bad_route_is_rejected_before_anything_is_fetched() -> None:
    async def test(broker: LoopbackBroker, data_loop: DataLoop) -> None:
        with pytest.raises(Misrouted):
            await open_replica_channel(data_loop, Address(*broker.address), SETTINGS, Identity("cluster-A", 2))
        assert not broker.seen(ApiKey.FETCH)

    with_broker(test)


def test_a_refused_connection_and_a_missing_response() -> None:
    async def test(broker: LoopbackBroker, data_loop: DataLoop) -> None:
        async def silent(request: Any, version: int) -> Any:
            await asyncio.Event().wait()

        broker.scripts[ApiKey.API_VERSIONS] = silent
        hasty = ConnectionSettings(connect_timeout_ms=100)
        with pytest.raises(ConnectFailed, match="no answer within 100 ms") as unanswered:
            await open_replica_channel(data_loop, Address(*broker.address), hasty, WHO)
        assert unanswered.value.stage == "api-versions"
        await broker.stop()
        with pytest.raises(ConnectFailed) as rejected:
            await open_replica_channel(data_loop, Address(*broker.address), SETTINGS, WHO)
        assert rejected.value.stage == "tcp"

    with_broker(test)


def test_the_owner_is_notified_once_when_the_leader_closes_the_connection() -> None:
    async def test(broker: LoopbackBroker, data_loop: DataLoop) -> None:
        channel = await open_replica_channel(data_loop, Address(*broker.address), SETTINGS, WHO)
        failures: list[ClientFailure] = []
        channel.on_closed = failures.append
        broker.scripts[ApiKey.FETCH] = lambda request, version: None
        answers: list[Any] = []
        channel.send(fetch(), 12, answers.append)
        await until_true(lambda: bool(failures))
        assert [type(failure) for failure in failures] == [ConnectionLost]
        channel.send(fetch(), 12, answers.append)
        assert answers == []
        assert channel.in_flight == 0

    with_broker(test)


def test_an_answer_that_does_not_come_closes_the_channel() -> None:
    async def test(broker: LoopbackBroker, data_loop: DataLoop) -> None:
        async def silent(request: Any, version: int) -> Any:
            await asyncio.Event().wait()

        broker.scripts[ApiKey.FETCH] = silent
        channel = await open_replica_channel(data_loop, Address(*broker.address), SETTINGS, WHO)
        failures: list[ClientFailure] = []
        channel.on_closed = failures.append
        channel.send(fetch(), 12, lambda response: None, timeout_ms=50)
        await until_true(lambda: bool(failures))
        assert "no answer within 50 ms" in str(failures[0])

    with_broker(test)


def test_garbage_closes_the_channel_and_not_the_loop() -> None:
    async def test(broker: LoopbackBroker, data_loop: DataLoop) -> None:
        broker.scripts[ApiKey.FETCH] = lambda request, version: b"\x00\xff\xff\xff\xff"
        channel = await open_replica_channel(data_loop, Address(*broker.address), SETTINGS, WHO)
        failures: list[ClientFailure] = []
        channel.on_closed = failures.append
        channel.send(fetch(), 12, lambda response: None)
        await until_true(lambda: bool(failures))
        assert isinstance(failures[0], PeerBroke)
        del broker.scripts[ApiKey.FETCH]
        again = await open_replica_channel(data_loop, Address(*broker.address), SETTINGS, WHO)
        assert (await ask(again, fetch()))[0] == 0
        again.close()

    with_broker(test)


def test_a_channel_closed_by_its_owner_notifies_no_callback() -> None:
    async def test(broker: LoopbackBroker, data_loop: DataLoop) -> None:
        channel = await open_replica_channel(data_loop, Address(*broker.address), SETTINGS, WHO)
        failures: list[ClientFailure] = []
        channel.on_closed = failures.append
        channel.close()
        await until_true(lambda: not broker._writers)
        assert failures == []

    with_broker(test)
