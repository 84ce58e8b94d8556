from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ChannelClosed, DeadlinePassed
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.rejections import AuthorizationFailed, RequestRejected
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.init_producer_id import InitProducerIdResponse
from signalbox.protocol.messages.produce import ProduceResponse
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster, Script
from tests.waiting import settle, until_answered, until_true


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
                assert 0.05 <= loop.time() - started < 30

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


def without_producer_ids(cluster: LoopbackCluster, error: Error) -> None:
    for broker in cluster.brokers.values():
        broker.scripts[ApiKey.INIT_PRODUCER_ID] = lambda request, version: InitProducerIdResponse(error_code=error)


def test_without_a_producer_id_the_delivery_timeout_names_the_reason() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        without_producer_ids(cluster, Error.COORDINATOR_LOAD_IN_PROGRESS)
        async with Producer(client, ProducerSettings(delivery_timeout_ms=200)) as producer:
            with pytest.raises(DeadlinePassed, match="no producer id"):
                await (await producer.send("t1", b"x"))

    with_client(test)


def test_the_delivery_timeout_passes_while_a_broker_does_not_respond_with_a_producer_id() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        release = asyncio.Event()

        def holding(broker: LoopbackBroker) -> Script:
            async def script(request: Any, version: int) -> Any:
                await release.wait()
                return broker.init_producer_id(request)

            return script

        for broker in cluster.brokers.values():
            broker.scripts[ApiKey.INIT_PRODUCER_ID] = holding(broker)
        async with Producer(client, ProducerSettings(delivery_timeout_ms=200)) as producer:
            async with asyncio.timeout(40):
                with pytest.raises(DeadlinePassed, match="no producer id was obtained yet"):
                    await (await producer.send("t1", b"x"))
            release.set()

            async def acknowledged() -> bool:
                try:
                    return (await (await producer.send("t1", b"y"))).offset == 0
                except DeadlinePassed:
                    return False

            await until_answered(acknowledged)

    with_client(test, request_timeout_ms=50_000, api_timeout_ms=50_000)


def test_only_the_partition_whose_producer_id_is_spent_waits_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("many", 1, 1, 1)
        asked, release, request_any = asyncio.Event(), asyncio.Event(), client.request_any

        async def held(request: Any, **options: Any) -> Any:
            """A broker that hosts none of the partitions takes its time."""
            asked.set()
            await release.wait()
            return await request_any(request, **options)

        async with asyncio.timeout(40), Producer(client, ProducerSettings(linger_ms=0)) as producer:
            for number in (0, 1):
                await (await producer.send("many", b"first", partition=number))
            monkeypatch.setattr(client, "request_any", held)
            scripts = cluster.brokers[1].scripts
            scripts[ApiKey.PRODUCE] = lambda request, _: _rejected_rows(request, Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
            waiting = await producer.send("many", b"rejected", partition=0)
            await asked.wait()
            del scripts[ApiKey.PRODUCE]
            for number, offset in ((1, 1), (2, 0), (1, 2)):
                assert (await (await producer.send("many", b"goes on", partition=number))).offset == offset
            assert not waiting.done()
            release.set()
            assert (await waiting).offset == 1

    with_client(test)


def test_records_fail_when_the_client_is_closed_while_a_producer_id_is_obtained() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        release = asyncio.Event()

        async def silent(request: Any, version: int) -> None:
            await release.wait()

        for broker in cluster.brokers.values():
            broker.scripts[ApiKey.INIT_PRODUCER_ID] = silent
        async with asyncio.timeout(40), Producer(client) as producer:
            record = await producer.send("t1", b"x")
            await until_true(lambda: any(row.seen(ApiKey.INIT_PRODUCER_ID) for row in cluster.brokers.values()))
            await client.close()
            with pytest.raises(ChannelClosed, match="the producer cannot send any more"):
                await record
        release.set()

    with_client(test, request_timeout_ms=50_000, api_timeout_ms=50_000)


@pytest.mark.spec("R10")
def test_without_the_right_to_a_producer_id_the_records_fail_at_once() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        without_producer_ids(cluster, Error.CLUSTER_AUTHORIZATION_FAILED)
        async with asyncio.timeout(30), Producer(client) as producer:
            with pytest.raises(AuthorizationFailed, match="no producer id"):
                await (await producer.send("t1", b"x"))

    with_client(test)


@pytest.mark.spec("R10")
def test_records_for_a_topic_whose_metadata_has_a_final_error_fail_at_once() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async with asyncio.timeout(30), Producer(client, ProducerSettings(linger_ms=1)) as producer:
            await (await producer.send("t1", b"x"))
            for broker in cluster.brokers.values():

                def metadata(request: Any, version: int, broker: Any = broker) -> Any:
                    return _rejected(broker.metadata(request), Error.TOPIC_AUTHORIZATION_FAILED)

                broker.scripts[ApiKey.METADATA] = metadata
                broker.scripts[ApiKey.PRODUCE] = lambda request, version: _not_leader(request)
            with pytest.raises(AuthorizationFailed, match="topic t1 is not available"):
                await (await producer.send("t1", b"y"))

    with_client(test)


def _rejected(response: Any, error: Error) -> Any:
    for topic in response.topics:
        topic.error_code, topic.partitions = error, []
    return response


def _not_leader(request: Any) -> Any:
    return _rejected_rows(request, Error.NOT_LEADER_OR_FOLLOWER)


def _rejected_rows(request: Any, error: Error) -> Any:
    rows = [
        ProduceResponse.TopicProduceResponse(
            name=topic.name,
            topic_id=topic.topic_id,
            partition_responses=[
                ProduceResponse.PartitionProduceResponse(index=row.index, error_code=error)
                for row in topic.partition_data
            ],
        )
        for topic in request.topic_data
    ]
    return ProduceResponse(responses=rows)


def test_a_batch_that_cannot_be_encoded_fails_alone() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("two", 1, 1)
        async with Producer(client, ProducerSettings(linger_ms=1)) as producer:
            text = await producer.send("two", "not bytes", partition=0)  # type: ignore[arg-type]
            other = await producer.send("two", b"x", partition=1)
            with pytest.raises(RequestRejected, match="INVALID_RECORD: two-0: a record cannot be encoded"):
                await text
            assert (await other).offset == 0
            assert (await (await producer.send("two", b"y", partition=0))).offset == 0

    with_client(test)


def test_records_fail_when_the_client_is_closed_before_its_producer() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.topic("t1")
        async with Producer(client, ProducerSettings(linger_ms=1)) as producer:
            record = await producer.send("t1", b"x")
            await client.close()
            with pytest.raises(ChannelClosed, match="the producer cannot send any more"):
                await record
            client.start()
            with pytest.raises(ChannelClosed, match="the producer cannot send any more"):
                await producer.send("t1", b"y")

    with_client(test)


LATER = {"retry_backoff_ms": 50_000, "retry_backoff_max_ms": 50_000}


@pytest.mark.spec("R6")
def test_a_route_that_is_right_again_is_used_at_once_and_not_after_the_retry_backoff() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async with Producer(client, ProducerSettings(linger_ms=0)) as producer:
            await (await producer.send("t2", b"before"))
            board.swap("2", "3")
            pool = client.metadata_updater.pool
            await until_true(lambda: not any(key.node_id == 2 for key, _ in pool.connections()))
            waiting = await producer.send("t2", b"during")
            await until_true(lambda: client.metrics()["quarantined-node-count"] == 1)
            assert client.rebootstraps == 1
            await board.restore()
            async with asyncio.timeout(40):
                assert (await waiting).offset == 1

    with_client(test, **LATER)


@pytest.mark.spec("R6")
def test_a_request_that_a_rebootstrap_interrupts_is_repeated_as_soon_as_the_leader_is_known_again() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        broker, received = cluster.brokers[1], asyncio.Event()

        async def append_and_stall(request: Any, version: int) -> None:
            broker.produce(request)
            received.set()
            await asyncio.Event().wait()

        async with Producer(client, ProducerSettings(linger_ms=0)) as producer:
            await (await producer.send("t1", b"before"))
            broker.scripts[ApiKey.PRODUCE] = append_and_stall
            waiting = await producer.send("t1", b"interrupted")
            await received.wait()
            del broker.scripts[ApiKey.PRODUCE]
            updater = client.metadata_updater
            updater.note_misroute(client.view.nodes[2], updater.rebootstrap.generation)
            async with asyncio.timeout(40):
                assert (await waiting).offset == 1, "once"

    with_client(test, **LATER)
