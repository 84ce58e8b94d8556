from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import DeadlinePassed
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.init_producer_id import InitProducerIdResponse
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import settle


def test_partitions_of_one_leader_share_a_request_and_there_is_one_at_a_time() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("many", 1, 1, 1)
        broker, under_way, most = cluster.brokers[1], 0, 0

        async def slow(request: Any, version: int) -> Any:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await settle()
            under_way -= 1
            return broker.produce(request)

        broker.scripts[ApiKey.PRODUCE] = slow
        async with Producer(client, ProducerSettings(linger_ms=5)) as producer:
            for number in range(30):
                await producer.send("many", b"%d" % number, partition=number % 3)
        first = broker.seen(ApiKey.PRODUCE)[0]
        assert [row.index for row in first.topic_data[0].partition_data] == [0, 1, 2]
        assert most == 1

    with_client(test)


def test_a_lone_record_is_sent_after_linger_ms() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        loop = asyncio.get_running_loop()
        async with Producer(client, ProducerSettings(linger_ms=60)) as producer:
            await (await producer.send("t1", b"the first one also asks for a producer id"))
            for _ in range(3):
                started = loop.time()
                await (await producer.send("t1", b"x"))
                assert 0.05 <= loop.time() - started < 0.9

    with_client(test)


def test_init_producer_id_is_retried() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        answers = [Error.COORDINATOR_LOAD_IN_PROGRESS, Error.COORDINATOR_NOT_AVAILABLE]

        def reluctant(request: Any, version: int) -> Any:
            if answers:
                return InitProducerIdResponse(error_code=answers.pop(0))
            return cluster.brokers[1].init_producer_id(request)

        for broker in cluster.brokers.values():
            broker.scripts[ApiKey.INIT_PRODUCER_ID] = reluctant
        async with Producer(client) as producer:
            await (await producer.send("t1", b"x"))
        assert answers == []

    with_client(test)


def test_without_a_producer_id_the_delivery_timeout_names_the_reason() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        for broker in cluster.brokers.values():
            broker.scripts[ApiKey.INIT_PRODUCER_ID] = lambda request, version: InitProducerIdResponse(
                error_code=Error.CLUSTER_AUTHORIZATION_FAILED
            )
        async with Producer(client, ProducerSettings(delivery_timeout_ms=200)) as producer:
            with pytest.raises(DeadlinePassed, match="no producer id"):
                await (await producer.send("t1", b"x"))

    with_client(test)
