from __future__ import annotations

import asyncio

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ChannelClosed, DeadlinePassed, VersionUnsupported, WrongCluster
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.rejections import AuthorizationFailed
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.transactions.scripted_coordinator import LOST, ScriptedCoordinator, with_coordinator
from tests.waiting import until_true

SETTINGS = ProducerSettings(transactional_id="id", linger_ms=1)
PASSING = [
    Error.NOT_COORDINATOR,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.CONCURRENT_TRANSACTIONS,
    LOST,
]


@pytest.mark.spec("R10")
@pytest.mark.parametrize(
    "api_key",
    [
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.END_TXN,
    ],
    ids=lambda key: key.name,
)
def test_a_request_is_retried_after_every_error_that_passes(api_key: ApiKey) -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        coordinator.errors[api_key] = list(PASSING)
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send("t1", b"x")
                await producer.send_offsets_to_transaction({TopicPartition("t2", 0): 1}, ConsumerGroupMetadata("g"))
        assert coordinator.count(api_key) == len(PASSING) + 1
        assert [row.value for row in cluster.topics["t1"][0].records()] == [b"x"]

    with_coordinator(test)


def test_requests_go_to_the_coordinator_that_was_looked_up_last() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            await (await producer.send("t3", b"x"))
            coordinator.node_id = 2
            coordinator.errors[ApiKey.END_TXN] = [Error.NOT_COORDINATOR]
            await producer.commit_transaction()
        ends = [node_id for key, node_id in coordinator.asked if key == ApiKey.END_TXN]
        assert ends == [1, 2]

    with_coordinator(test)


def test_requests_of_version_1_do_not_have_the_meaning_of_version_2() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send("t1", b"x")
                await producer.send_offsets_to_transaction({TopicPartition("t2", 0): 1}, ConsumerGroupMetadata("g"))
        versions = {key: version for broker in cluster.brokers.values() for key, version, _ in broker.requests}
        assert versions[ApiKey.PRODUCE] == 11
        assert versions[ApiKey.END_TXN] == 4
        assert versions[ApiKey.TXN_OFFSET_COMMIT] == 4
        assert versions[ApiKey.ADD_PARTITIONS_TO_TXN] == 3
        (produce,) = [row for row in coordinator.requests if type(row).__name__ == "ProduceRequest"]
        assert produce.transactional_id == "id"

    with_coordinator(test)


def test_a_broker_without_the_versions_of_version_2_gets_no_request() -> None:
    """As Produce below 12 the batch would not join the transaction."""

    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        for broker in cluster.brokers.values():
            broker.max_versions[ApiKey.PRODUCE] = 11
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            producer._transactions.manager.version = 2  # type: ignore[union-attr]
            producer.begin_transaction()
            queued = await producer.send("t1", b"x")
            with pytest.raises(VersionUnsupported, match="does not support transaction version 2: Produce"):
                await queued
        assert not coordinator.count(ApiKey.PRODUCE)

    with_coordinator(test)


def test_a_final_rejection_of_the_lookup_ends_the_producer() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        coordinator.errors[ApiKey.FIND_COORDINATOR] = [Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
        async with Producer(client, SETTINGS) as producer:
            with pytest.raises(AuthorizationFailed):
                await producer.init_transactions()

    with_coordinator(test)


def test_a_value_that_the_protocol_cannot_hold_ends_the_producer() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            with pytest.raises(VersionUnsupported, match="AddOffsetsToTxn cannot be sent"):
                await producer.send_offsets_to_transaction(
                    {TopicPartition("t2", 0): 1}, ConsumerGroupMetadata("g" * 40_000)
                )

    with_coordinator(test)


def test_a_deadline_names_the_last_failure() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        coordinator.errors[ApiKey.INIT_PRODUCER_ID] = [LOST] * 200
        async with Producer(client, SETTINGS) as producer:
            with pytest.raises(DeadlinePassed, match="init_transactions did not end in time") as raised:
                await producer.init_transactions(timeout_ms=300)
            assert "lost" in str(raised.value.__cause__)
            coordinator.errors.clear()
            await producer.init_transactions()
            producer.begin_transaction()

    with_coordinator(test)


def test_calls_fail_at_once_when_the_client_is_closed_before_its_producer() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            await (await producer.send("t1", b"x"))
            await client.close()
            with pytest.raises(ChannelClosed, match="the producer cannot send any more"):
                await producer.commit_transaction(timeout_ms=3_600_000)

    with_coordinator(test)


def test_a_commit_that_waits_ends_when_the_producer_is_closed() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        coordinator.errors[ApiKey.END_TXN] = [Error.CONCURRENT_TRANSACTIONS] * 10_000
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            await (await producer.send("t1", b"x"))
            commit = asyncio.ensure_future(producer.commit_transaction(timeout_ms=3_600_000))
            await until_true(lambda: coordinator.count(ApiKey.END_TXN) > 0)
            await producer.close()
            with pytest.raises(ChannelClosed, match="the producer is closed"):
                await commit

    with_coordinator(test)


def test_a_producer_is_closed_although_the_abort_at_its_end_is_cancelled() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        coordinator.errors[ApiKey.END_TXN] = [Error.CONCURRENT_TRANSACTIONS] * 10_000
        producer = Producer(client, SETTINGS)

        async def leave_it_open() -> None:
            async with producer:
                await producer.init_transactions()
                producer.begin_transaction()
                await (await producer.send("t1", b"x"))

        block = asyncio.ensure_future(leave_it_open())
        await until_true(lambda: coordinator.count(ApiKey.END_TXN) > 0)
        block.cancel()
        with pytest.raises(asyncio.CancelledError):
            await block
        with pytest.raises(ChannelClosed):
            await producer.abort_transaction()

    with_coordinator(test)


def test_a_commit_is_not_sent_to_the_coordinator_of_another_cluster() -> None:
    """It could have the same transactional id, producer id and epoch."""

    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            await (await producer.send("t1", b"x"))
            client.view.cluster_id = "cluster-B"
            with pytest.raises(WrongCluster, match="initialized in cluster cluster-A"):
                await producer.commit_transaction()
        assert not coordinator.count(ApiKey.END_TXN)

    with_coordinator(test)
