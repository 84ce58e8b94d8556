"""Transactions over a cluster in this process: the coordinator's log is replicated, and fails over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as ClientPartition

from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from signalbox.client.failures import ClientFailure
from signalbox.common.ids import TopicPartition
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.metadata.layout import DEFAULT_ENTITY
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from signalbox.protocol.messages.describe_transactions import DescribeTransactionsRequest
from signalbox.protocol.messages.end_txn import EndTxnRequest
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.testing.cluster import Cluster
from signalbox.wiring.transaction_components import LeadersInMetadata, PromisedProducerIds, verification_settings
from tests.broker.handler_requests import LoadedConfigs, cache_of
from tests.configuration.settings import config_of
from tests.waiting import settle, until

pytestmark = pytest.mark.spec("D5")
NAME = "orders"
PASSING = (
    Error.NOT_COORDINATOR,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.CONCURRENT_TRANSACTIONS,
)


class TransactionClient:
    """Sends requests to the coordinator of `NAME`; those with an error that passes are retried."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.coordinator_id = -1

    def init(self) -> tuple[int, int]:
        message = InitProducerIdRequest(transactional_id=NAME, transaction_timeout_ms=60_000)
        response = self._request(message, 5, lambda response: response.error_code)
        assert response.error_code == Error.NONE
        return response.producer_id, response.producer_epoch

    def add(self, producer: tuple[int, int], topic: str) -> Error:
        message = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=NAME,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=[0])],
        )

        def code(response: Any) -> int:
            return int(response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

        return Error.of(code(self._request(message, 3, code)))

    def produce(self, producer: tuple[int, int], topic: str) -> Error:
        """One record at version 12: the leader adds the partition to the transaction (KIP-890)."""
        batch = encode_batch(
            [Record(value=b"v")],
            timestamp_ms=1,
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=0,
            transactional=True,
        )
        partition = ProduceRequest.PartitionProduceData(index=0, records=batch)
        message = ProduceRequest(
            transactional_id=NAME,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[partition])],
        )

        async def send() -> int:
            cache = self._cluster.nodes[1].components.cache
            leader, _ = cache.leader_of(TopicPartition(topic, 0)) or (1, 0)
            endpoint = cache.image.nodes("CLIENT")[leader]
            connection = await _connect(f"{endpoint.host}:{endpoint.port}")
            response = await connection.request(message, version=12)
            connection.close()
            return int(response.responses[0].partition_responses[0].error_code)

        return Error.of(self._cluster.run(send()))

    def end_and_bump(self, producer: tuple[int, int], committed: bool) -> tuple[int, int]:
        """EndTxn 5: the producer id and epoch of the next transaction."""
        message = EndTxnRequest(
            transactional_id=NAME, producer_id=producer[0], producer_epoch=producer[1], committed=committed
        )
        response = self._request(message, 5, lambda response: response.error_code)
        assert response.error_code == Error.NONE
        return response.producer_id, response.producer_epoch

    def end(self, producer: tuple[int, int], committed: bool) -> Error:
        message = EndTxnRequest(
            transactional_id=NAME, producer_id=producer[0], producer_epoch=producer[1], committed=committed
        )
        return Error.of(self._request(message, 4, lambda response: response.error_code).error_code)

    def state(self) -> str:
        message = DescribeTransactionsRequest(transactional_ids=[NAME])
        response = self._request(message, 0, lambda response: response.transaction_states[0].error_code)
        return str(response.transaction_states[0].transaction_state)

    def _request(self, message: Any, version: int, code: Any) -> Any:
        def attempt() -> Any:
            response = self._cluster.run(self._once(message, version))
            return None if response is None or code(response) in PASSING else response

        return until(attempt, "the coordinator responds")

    async def _once(self, message: Any, version: int) -> Any:
        try:
            connection = await self._connection()
        except ClientFailure:  # the broker that is found has just stopped
            return None
        if connection is None:
            return None
        response = await connection.request(message, version=version)
        connection.close()
        return response

    async def _connection(self) -> ClientConnection | None:
        connection = await _connect(self._cluster.bootstrap_servers.split(",")[0])
        found = await connection.request(FindCoordinatorRequest(coordinator_keys=[NAME], key_type=1))
        connection.close()
        (row,) = found.coordinators
        self.coordinator_id = row.node_id
        return await _connect(f"{row.host}:{row.port}") if row.error_code == Error.NONE else None


async def _connect(server: str) -> ClientConnection:
    host, _, port = server.rpartition(":")
    return await connect(Address(host, int(port)), ConnectionSettings())


def test_a_transaction_is_prepared_and_survives_a_failover_of_its_coordinator() -> None:
    with Cluster(overrides={"transaction.state.log.num.partitions": "3"}) as cluster:

        async def create() -> None:
            async with AdminClient.of(cluster.bootstrap_servers) as admin:
                await admin.create_topics([NewTopic(name="t", num_partitions=1, replication_factor=3)])

        cluster.run(create())
        client = TransactionClient(cluster)
        first = client.init()
        producer = client.init()
        assert (producer[0], producer[1]) == (first[0], first[1] + 1)
        until(lambda: client.add(producer, "t") is Error.NONE, "the coordinator has the topic's metadata")
        assert client.add(first, "t") is Error.PRODUCER_FENCED
        assert client.state() == "Ongoing"
        failed = client.coordinator_id
        cluster.stop_broker(failed)
        assert client.state() == "Ongoing"
        assert client.coordinator_id != failed
        assert client.end(producer, committed=True) is Error.NONE
        until(lambda: client.state() == "CompleteCommit", "the partition has its marker")


def test_transaction_version_2_adds_partitions_by_produce_and_raises_the_epoch_each_time(cluster: Cluster) -> None:
    plain = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    plain.produce("version-2", b"plain", partition=0)
    plain.flush(60)
    client = TransactionClient(cluster)
    producer = client.init()
    for committed, state in ((True, "CompleteCommit"), (False, "CompleteAbort"), (False, "CompleteAbort")):
        until(lambda: client.produce(producer, "version-2") is Error.NONE, "the transaction is open")  # noqa: B023
        following = client.end_and_bump(producer, committed)
        assert following == (producer[0], producer[1] + 1)
        assert client.end_and_bump(producer, committed) == following  # a retry
        until(lambda: client.state() == state, "the partition has its marker")  # noqa: B023
        producer = following
    client.end_and_bump(producer, committed=False)  # nothing was written
    until(lambda: client.state() == "CompleteAbort", "nothing needs a marker")
    assert consumed(cluster, "version-2", "reads", 2) == [b"plain", b"v"]


def consumed(cluster: Cluster, topic: str, group: str, count: int) -> list[bytes]:
    """The values of `count` records of partition 0 that a consumer with read_committed gets."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group, "isolation.level": "read_committed"}
    )
    consumer.assign([ClientPartition(topic, 0, 0)])
    try:
        messages = consumer.consume(count, 60)
        return [message.value() or b"" for message in messages]
    finally:
        consumer.close()


def transactional_producer(cluster: Cluster, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": name})
    producer.init_transactions(60)
    return producer


def test_librdkafka_commits_and_aborts_and_read_committed_sees_what_is_committed(cluster: Cluster) -> None:
    producer = transactional_producer(cluster, "commits")
    for number in range(6):
        producer.begin_transaction()
        producer.produce("committed", str(number).encode(), partition=0)
        if number % 2:
            producer.flush(
                60
            )  # librdkafka ends a transaction whose partition it could not add yet, and fails (its issue 4849)
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
    assert consumed(cluster, "committed", "reads", 3) == [b"0", b"2", b"4"]


def test_librdkafka_commits_offsets_in_transactions(cluster: Cluster) -> None:
    plain = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    plain.produce("input", b"in", partition=0)
    plain.flush(60)
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "transformer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["input"])
    assert consumer.consume(1, 60)[0].value() == b"in"
    producer = transactional_producer(cluster, "transformer")
    for offset, ends in ((5, producer.abort_transaction), (1, producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce("output", str(offset).encode(), partition=0)
        producer.send_offsets_to_transaction(
            [ClientPartition("input", 0, offset)], consumer.consumer_group_metadata(), 60
        )
        ends(60)
    (committed,) = consumer.committed([ClientPartition("input", 0)], 60)
    consumer.close()
    assert committed.offset == 1
    assert consumed(cluster, "output", "reads", 1) == [b"1"]


def test_librdkafka_fences_the_former_producer(cluster: Cluster) -> None:
    former = transactional_producer(cluster, "fenced")
    former.begin_transaction()
    former.produce("fencing", b"lost", partition=0)
    former.flush(60)
    latter = transactional_producer(cluster, "fenced")
    with pytest.raises(KafkaException) as fenced:
        former.commit_transaction(60)
    assert fenced.value.args[0].fatal()
    latter.begin_transaction()
    latter.produce("fencing", b"kept", partition=0)
    latter.commit_transaction(60)
    assert consumed(cluster, "fencing", "reads", 1) == [b"kept"]


@pytest.mark.parametrize(("partition", "leader"), [(0, 1), (1, -1), (2, -1), (9, None)])
def test_leaders_are_those_of_the_metadata_that_are_alive(partition: int, leader: int | None) -> None:
    leaders = LeadersInMetadata(cache_of(topics={"t": {0: (1, [1]), 1: (-1, [1]), 2: (8, [8])}}))
    assert leaders(TopicPartition("t", partition)) == leader


def test_verification_is_switched_off_while_the_broker_runs() -> None:
    key = "transaction.partition.verification.enable"
    static = config_of(add__partitions__to__txn__retry__backoff__ms="30").values
    for configs, is_enabled in (({}, True), ({f"brokers/{DEFAULT_ENTITY}": {key: "false"}}, False)):
        settings = verification_settings(DynamicBrokerConfig(LoadedConfigs(configs), 1, NODE_CONFIG, static))
        assert (settings.is_enabled(), settings.retry_backoff_ms, settings.retry_for_ms) == (is_enabled, 30, 100)


class Blocks(ProducerIdBlocks):
    def __init__(self, result: int | KafkaError) -> None:
        self._result = result

    async def next(self) -> int:
        if isinstance(self._result, KafkaError):
            raise self._result
        return self._result


def test_producer_ids_as_promises() -> None:
    async def run() -> None:
        ids = PromisedProducerIds(Blocks(42)).next()
        rejected = PromisedProducerIds(Blocks(KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS))).next()
        assert not ids.is_done
        await settle()
        assert ids.result() == 42
        with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            rejected.result()

    asyncio.run(run())
