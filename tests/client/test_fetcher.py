"""No partition delays another one: moved leaders, leaders that stall, offsets out of range, corrupt batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import Consumer
from signalbox.client.failures import VersionUnsupported
from signalbox.client.fetch_exchange import ConsumedRecord, records_in
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.waiting import until_true

T1, T2 = TopicPartition("t1", 0), TopicPartition("t2", 0)
NEVER_MS = 50_000  # a backoff or timeout that a test does not reach


def fill(cluster: LoopbackCluster, partition: TopicPartition, *values: bytes) -> None:
    records = [Record(value=value) for value in values]
    cluster.topics[partition.topic][partition.partition].append(encode_batch(records, timestamp_ms=1_000))


async def read(consumer: Consumer, count: int) -> list[ConsumedRecord]:
    rows: list[ConsumedRecord] = []
    async with asyncio.timeout(40):
        while len(rows) < count:
            rows += await consumer.poll(timeout_ms=NEVER_MS)
    return rows


def holding(broker: LoopbackBroker, release: asyncio.Event) -> Callable[[Any, int], Any]:
    """Fetches of a broker that are answered after `release`: a leader that accepts requests and stalls."""

    async def script(request: Any, version: int) -> Any:
        await release.wait()
        return broker.fetch(request)

    return script


def test_partitions_that_have_moved_do_not_delay_the_others_of_the_old_leader() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("t9", *[1] * 20)
        fill(cluster, T1, b"0")
        moved = [TopicPartition("t9", number) for number in range(20)]
        await client.topic("t9")
        await client.topic("t1")
        for row in cluster.topics["t9"].values():
            row.leader = 2
        for broker in cluster.brokers.values():
            stale(broker)
        consumer = Consumer(client)
        await consumer.assign(dict.fromkeys([*moved, T1], 0))
        assert [row.value for row in await read(consumer, 1)] == [b"0"]
        fill(cluster, T1, b"1")
        assert [row.value for row in await read(consumer, 1)] == [b"1"]
        await consumer.close()

    with_client(test, retry_backoff_ms=NEVER_MS, retry_backoff_max_ms=NEVER_MS)


def stale(broker: LoopbackBroker) -> None:
    """This broker's Metadata still has the old leader."""

    def script(request: Any, version: int) -> Any:
        response = broker.metadata(request)
        for topic in response.topics:
            for row in topic.partitions:
                row.leader_id = 1
        return response

    broker.scripts[ApiKey.METADATA] = script


def test_a_partition_is_fetched_from_its_new_leader_while_the_old_one_stalls() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, T1, b"0")
        release = asyncio.Event()
        cluster.brokers[1].scripts[ApiKey.FETCH] = holding(cluster.brokers[1], release)
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        polled = asyncio.create_task(read(consumer, 1))
        await until_true(lambda: bool(cluster.brokers[1].seen(ApiKey.FETCH)))
        cluster.topics["t1"][0].leader, cluster.topics["t1"][0].leader_epoch = 2, 1
        client.metadata_updater.refresh_soon(["t9"])
        assert [row.value for row in await polled] == [b"0"]
        release.set()
        assert await consumer.poll(timeout_ms=50) == []
        await consumer.close()

    with_client(test, request_timeout_ms=NEVER_MS)


def test_a_leader_in_the_view_ends_the_wait_of_a_partition_without_one() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, T1, b"0")
        cluster.topics["t1"][0].leader = -1
        release = asyncio.Event()
        cluster.brokers[2].scripts[ApiKey.FETCH] = holding(cluster.brokers[2], release)
        await client.topic("t1")
        consumer = Consumer(client)
        await consumer.assign({T1: 0, T2: 0})
        polled = asyncio.create_task(read(consumer, 1))
        await until_true(lambda: bool(cluster.brokers[2].seen(ApiKey.FETCH)))
        cluster.topics["t1"][0].leader, cluster.topics["t1"][0].leader_epoch = 1, 1
        client.metadata_updater.refresh_soon(["t9"])
        assert [row.value for row in await polled] == [b"0"]
        await consumer.close()

    with_client(test, request_timeout_ms=NEVER_MS, retry_backoff_ms=NEVER_MS, retry_backoff_max_ms=NEVER_MS)


@pytest.mark.parametrize("error", [Error.FENCED_LEADER_EPOCH, Error.UNKNOWN_LEADER_EPOCH, Error.NOT_LEADER_OR_FOLLOWER])
def test_a_rejected_leader_is_looked_up_at_once(error: Error) -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        def rejected(request: Any, version: int) -> Any:
            response = cluster.brokers[1].fetch(request)
            response.responses[0].partitions[0].error_code = error
            return response

        fill(cluster, T1, b"0")
        await client.topic("t1")
        cluster.brokers[1].scripts[ApiKey.FETCH] = rejected
        cluster.topics["t1"][0].leader, cluster.topics["t1"][0].leader_epoch = 2, 1
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        assert [row.value for row in await read(consumer, 1)] == [b"0"]
        await consumer.close()

    with_client(test)


def test_the_new_leader_in_an_error_is_used_without_new_metadata() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        def rejected(request: Any, version: int) -> Any:
            response = cluster.brokers[1].fetch(request)
            leader = FetchResponse.LeaderIdAndEpoch(leader_id=2, leader_epoch=1)
            response.responses[0].partitions[0].current_leader = leader
            return response

        fill(cluster, T1, b"0")
        await client.topic("t1")
        cluster.brokers[1].scripts[ApiKey.FETCH] = rejected
        cluster.topics["t1"][0].leader = 2
        for broker in cluster.brokers.values():
            stale(broker)
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        assert [row.value for row in await read(consumer, 1)] == [b"0"]
        await consumer.close()

    with_client(test, retry_backoff_ms=NEVER_MS, retry_backoff_max_ms=NEVER_MS)


def test_the_lookup_of_an_offset_out_of_range_does_not_delay_other_partitions() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("t9", 1)
        fill(cluster, T1, b"0")
        release = asyncio.Event()

        async def held(request: Any, version: int) -> Any:
            await release.wait()
            return cluster.brokers[1].list_offsets(request)

        cluster.brokers[1].scripts[ApiKey.LIST_OFFSETS] = held
        consumer = Consumer(client)
        await consumer.assign({TopicPartition("t9", 0): 77, T1: 0})
        assert [row.value for row in await read(consumer, 1)] == [b"0"]
        fill(cluster, T1, b"1")
        fill(cluster, TopicPartition("t9", 0), b"first")
        assert [row.value for row in await read(consumer, 1)] == [b"1"]
        release.set()
        assert [row.value for row in await read(consumer, 1)] == [b"first"]
        await consumer.close()

    with_client(test, request_timeout_ms=NEVER_MS, api_timeout_ms=NEVER_MS)


def test_a_corrupt_batch_does_not_delay_other_partitions() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("t9", 1)
        fill(cluster, T1, b"0")
        fill(cluster, TopicPartition("t9", 0), b"value")
        partition = cluster.topics["t9"][0]
        partition.batches[0] = partition.batches[0][:-3] + b"\0\0\0"
        consumer = Consumer(client)
        await consumer.assign({TopicPartition("t9", 0): 0, T1: 0})
        with pytest.raises(KafkaError, match="t9-0: the batch at 0 is corrupt"):
            await consumer.poll(timeout_ms=NEVER_MS)
        assert [row.value for row in await read(consumer, 1)] == [b"0"]
        await consumer.seek(TopicPartition("t9", 0), 1)
        assert await consumer.poll(timeout_ms=50) == []
        await consumer.close()

    with_client(test)


def test_a_defect_in_one_partition_does_not_delay_other_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = TopicPartition("t9", 0)

    def broken(row: Any, partition: TopicPartition, offset: int, check_crcs: bool) -> Any:
        if partition == bad:
            raise LookupError("of the decoder")
        return records_in(row, partition, offset, check_crcs)

    monkeypatch.setattr("signalbox.client.fetcher.records_in", broken)

    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("t9", 1)
        fill(cluster, T1, b"0")
        fill(cluster, bad, b"value")
        await client.topic("t9")
        await client.topic("t1")
        consumer = Consumer(client)
        await consumer.assign({bad: 0, T1: 0})
        with pytest.raises(LookupError, match="of the decoder"):
            await consumer.poll(timeout_ms=NEVER_MS)
        consumer.remove([bad])  # its failure is not one of the other partition
        assert [row.value for row in await read(consumer, 1)] == [b"0"]
        assert len(cluster.brokers[1].seen(ApiKey.FETCH)) == 1, "the other one was in the same response"
        await consumer.close()

    with_client(test, retry_backoff_ms=NEVER_MS, retry_backoff_max_ms=NEVER_MS)


def test_a_client_that_is_closed_before_its_consumer_ends_the_fetches() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        release = asyncio.Event()
        cluster.brokers[1].scripts[ApiKey.FETCH] = holding(cluster.brokers[1], release)
        await client.topic("t1")
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        polled = asyncio.create_task(consumer.poll(timeout_ms=NEVER_MS))
        await until_true(lambda: bool(cluster.brokers[1].seen(ApiKey.FETCH)))
        (task,) = consumer._fetcher._tasks
        await client.close()
        await asyncio.wait((task,), timeout=60)
        assert task.exception() is None
        async with asyncio.timeout(40):
            with pytest.raises(RuntimeError, match="the client is not started, or closed"):
                await polled
        release.set()
        await consumer.close()

    with_client(test, request_timeout_ms=NEVER_MS)


def test_what_ends_the_lookup_of_an_offset_unexpectedly_is_raised_by_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async def broken(partition: TopicPartition, offset: int) -> int:
            raise LookupError("of the lookup")

        consumer = Consumer(client)
        await consumer.assign({T1: 77})
        monkeypatch.setattr(consumer._fetcher, "offset_at", broken)
        async with asyncio.timeout(40):
            with pytest.raises(LookupError, match="of the lookup"):
                await consumer.poll(timeout_ms=NEVER_MS)
        await consumer.close()

    with_client(test)


def test_an_idle_partition_does_not_delay_a_busy_one_of_the_same_leader() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("t9", 1, 1)
        busy, idle = TopicPartition("t9", 0), TopicPartition("t9", 1)
        for batch in range(3):
            fill(cluster, busy, b"%d" % (2 * batch), b"%d" % (2 * batch + 1))
        broker, release = cluster.brokers[1], asyncio.Event()

        async def script(request: Any, version: int) -> Any:
            """A fetch without records waits for one, as that of a real broker does for `fetch.max.wait.ms`."""
            response = broker.fetch(request)
            if not any(row.records for topic in response.responses for row in topic.partitions):
                await release.wait()
            return broker.fetch(request)

        broker.scripts[ApiKey.FETCH] = script
        consumer = Consumer(client)
        await client.topic("t9")
        await consumer.assign({idle: 0, busy: 0})
        rows: list[ConsumedRecord] = []
        async with asyncio.timeout(40):
            while len(rows) < 6:
                rows += await consumer.poll(timeout_ms=NEVER_MS, max_records=1)
        assert [row.value for row in rows] == [b"%d" % index for index in range(6)]
        fill(cluster, idle, b"idle no more")
        release.set()
        assert [row.value for row in await read(consumer, 1)] == [b"idle no more"]
        await consumer.close()

    with_client(test, request_timeout_ms=NEVER_MS)


def test_what_every_bootstrap_server_rejects_is_raised_by_poll() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        for broker in cluster.brokers.values():
            broker.max_versions[ApiKey.METADATA] = -1
        fill(cluster, T1, b"0")
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        async with asyncio.timeout(40):
            with pytest.raises(VersionUnsupported, match="Metadata"):
                await consumer.poll(timeout_ms=NEVER_MS)
            cluster.brokers[1].max_versions.clear()
            while not await without_rejection(consumer):
                pass
        await consumer.close()

    with_client(test)


async def without_rejection(consumer: Consumer) -> list[ConsumedRecord]:
    """Records, or none when another round over the bootstrap servers has failed."""
    try:
        return await consumer.poll(timeout_ms=1_000)
    except VersionUnsupported:
        return []


@pytest.mark.spec("R6")
def test_a_route_that_is_right_again_is_used_at_once_and_not_after_the_retry_backoff() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        consumer = Consumer(client)
        await client.topic("t2")
        board.swap("2", "3")
        await consumer.assign({TopicPartition("t2", 0): 0})
        reading = asyncio.ensure_future(consumer.poll(timeout_ms=45_000))
        await until_true(lambda: client.metrics()["quarantined-node-count"] == 1)
        cluster.topics["t2"][0].append(encode_batch([Record(value=b"x")]))
        await board.restore()
        async with asyncio.timeout(40):
            assert [record.value for record in await reading] == [b"x"]
        await consumer.close()

    with_client(test, retry_backoff_ms=50_000, retry_backoff_max_ms=50_000)
