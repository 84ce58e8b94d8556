from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure, TransactionAborted, WrongCluster
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.rejections import RequestRejected
from signalbox.client.transactions.transaction_state import TransactionState
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.produce import ProduceResponse
from signalbox.protocol.records.batch_header import BatchHeader, iter_batch_headers
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.transactions.scripted_coordinator import ScriptedCoordinator, with_coordinator
from tests.waiting import until_true

SETTINGS = ProducerSettings(transactional_id="id", linger_ms=1)


def headers(cluster: LoopbackCluster, topic: str) -> list[BatchHeader]:
    return [header for batch in cluster.topics[topic][0].batches for header in iter_batch_headers(batch)]


def rejecting(error: Error) -> Any:
    def respond(request: Any, version: int) -> Any:
        (topic,) = request.topic_data
        row = ProduceResponse.PartitionProduceResponse(index=0, error_code=error)
        return ProduceResponse(
            responses=[ProduceResponse.TopicProduceResponse(name=topic.name, partition_responses=[row])]
        )

    return respond


def test_batches_are_transactional_and_sequences_go_on_from_transaction_to_transaction() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            for _ in range(3):
                async with producer.transaction():
                    await producer.send("t1", b"x")
        rows = [(row.is_transactional, row.producer_epoch, row.base_sequence) for row in headers(cluster, "t1")]
        assert rows == [(True, 0, 0), (True, 0, 1), (True, 0, 2)]

    with_coordinator(test)


def test_no_batch_leaves_before_its_partition_was_added() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        coordinator.errors[ApiKey.ADD_PARTITIONS_TO_TXN] = [Error.CONCURRENT_TRANSACTIONS] * 3
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send("t1", b"x")
        keys = [key for key, _ in coordinator.asked]
        assert keys.count(ApiKey.ADD_PARTITIONS_TO_TXN) == 4
        assert keys[-3:] == [ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.PRODUCE, ApiKey.END_TXN]

    with_coordinator(test)


@pytest.mark.parametrize("error", [Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.UNKNOWN_PRODUCER_ID, Error.INVALID_RECORD])
def test_a_rejected_batch_is_abortable_and_sequences_begin_again(error: Error) -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        broker = cluster.brokers[1]
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send("t1", b"x")
            accepting, broker.scripts[ApiKey.PRODUCE] = broker.scripts[ApiKey.PRODUCE], rejecting(error)
            with pytest.raises(RequestRejected, match=error.name):
                async with producer.transaction():
                    await producer.send("t1", b"y")
            broker.scripts[ApiKey.PRODUCE] = accepting
            async with producer.transaction():
                await producer.send("t1", b"z")
        rows = [(row.producer_epoch, row.base_sequence) for row in headers(cluster, "t1")]
        assert rows == [(0, 0), (1, 0)]

    with_coordinator(test)


def test_a_batch_that_waited_for_the_previous_transaction_can_still_be_split() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        broker = cluster.brokers[1]
        accept, errors = broker.scripts[ApiKey.PRODUCE], [Error.CONCURRENT_TRANSACTIONS, Error.MESSAGE_TOO_LARGE]

        def respond(request: Any, version: int) -> Any:
            return rejecting(errors.pop(0))(request, version) if errors else accept(request, version)

        broker.scripts[ApiKey.PRODUCE] = respond
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            await client.topic("t1")
            async with producer.transaction():
                for value in (b"x", b"y"):
                    await producer.send("t1", value)
        assert [row.value for row in cluster.topics["t1"][0].records()] == [b"x", b"y"]
        assert len(cluster.topics["t1"][0].batches) == 2

    with_coordinator(test)


def test_batches_behind_a_failed_one_are_not_sent() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        cluster.brokers[1].scripts[ApiKey.PRODUCE] = rejecting(Error.INVALID_RECORD)
        settings = ProducerSettings(transactional_id="id", linger_ms=1, batch_size_bytes=1)
        async with Producer(client, settings) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            queued = [await producer.send("t1", b"%d" % number) for number in range(5)]
            results = await asyncio.gather(*queued, return_exceptions=True)
            assert all(isinstance(result, RequestRejected) for result in results)
            await producer.abort_transaction()
        assert len(cluster.brokers[1].seen(ApiKey.PRODUCE)) == 1

    with_coordinator(test)


def test_a_fatal_error_fails_every_record() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        coordinator.errors[ApiKey.ADD_PARTITIONS_TO_TXN] = [Error.PRODUCER_FENCED]
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            for topic in ("t1", "t2"):
                await client.topic(topic)
            producer.begin_transaction()
            queued = [await producer.send(topic, b"x") for topic in ("t1", "t2")]
            for record in queued:
                with pytest.raises(RequestRejected, match="PRODUCER_FENCED"):
                    await record
            with pytest.raises(RequestRejected, match="PRODUCER_FENCED"):
                await producer.commit_transaction()
        assert not coordinator.count(ApiKey.PRODUCE)

    with_coordinator(test)


def test_batches_in_flight_are_waited_for_by_an_abort() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        broker, may_respond = cluster.brokers[1], asyncio.Event()

        async def slow(request: Any) -> Any:
            await may_respond.wait()
            return broker.produce(request)

        broker.scripts[ApiKey.PRODUCE] = lambda request, version: slow(request)
        settings = ProducerSettings(transactional_id="id", linger_ms=1, batch_size_bytes=1)
        async with Producer(client, settings) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            sent, unsent = [await producer.send("t1", value) for value in (b"sent", b"unsent")]
            await until_true(lambda: bool(broker.seen(ApiKey.PRODUCE)))
            abort = asyncio.ensure_future(producer.abort_transaction())
            with pytest.raises(TransactionAborted):
                await unsent
            assert not abort.done()
            assert not coordinator.count(ApiKey.END_TXN)
            may_respond.set()
            await abort
            assert (await sent).offset == 0
        assert coordinator.count(ApiKey.END_TXN) == 1
        assert [row.value for row in cluster.topics["t1"][0].records()] == [b"sent"]

    with_coordinator(test)


def test_a_producer_does_not_follow_its_client_to_another_cluster() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            await client.topic("t1")
            client.view.cluster_id = "cluster-B"
            producer.begin_transaction()
            with pytest.raises(ClientFailure):
                await (await producer.send("t1", b"x"))
            with pytest.raises(WrongCluster, match="initialized in cluster cluster-A"):
                await producer.commit_transaction()
            assert producer._transactions is not None
            assert producer._transactions.manager.state is TransactionState.FATAL_ERROR

    with_coordinator(test)
