from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.client.admin_apis.offset_admin import EARLIEST, LATEST
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import Consumer, ConsumerSettings
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.rejections import AuthorizationFailed
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.testing.switchboard import Switchboard
from tests.client.cluster.test_view_wait import reject_topics
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import until_true

T1, T2 = TopicPartition("t1", 0), TopicPartition("t2", 0)
ROUNDS = 1_000_000  # of polls: some minutes, if each of them yields


def fill(cluster: LoopbackCluster, topic: str, *values: bytes, control: bool = False) -> None:
    records = [Record(value=value, key=b"k", headers=[("h", b"1")]) for value in values]
    cluster.topics[topic][0].append(encode_batch(records, timestamp_ms=1_000, control=control))


async def read(consumer: Consumer, count: int) -> list[ConsumedRecord]:
    found: list[ConsumedRecord] = []
    async with asyncio.timeout(60):
        while len(found) < count:
            found += await consumer.poll()
    return found


def test_several_leaders_are_read_in_order_per_partition() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        for i in range(10):
            fill(cluster, "t1", b"a%d" % i, b"b%d" % i)
            fill(cluster, "t2", b"c%d" % i)
        consumer = Consumer(client)
        await consumer.assign({T1: EARLIEST, T2: 0})
        found = await read(consumer, 30)
        mine = [row for row in found if row.topic == "t1"]
        assert [row.offset for row in mine] == list(range(20))
        assert [row.value for row in found if row.topic == "t2"] == [b"c%d" % i for i in range(10)]
        assert mine[0] == ConsumedRecord("t1", 0, 0, 1_000, b"k", b"a0", (("h", b"1"),))
        await consumer.close()

    with_client(test)


def test_reading_begins_in_the_middle_of_a_batch_and_goes_back_on_demand() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"0", b"1", b"2", b"3")
        consumer = Consumer(client)
        await consumer.assign({T1: 2})
        assert [row.value for row in await consumer.poll(max_records=1)] == [b"2"]
        assert consumer.position(T1) == 3
        await consumer.seek(T1, 1)
        assert [row.value for row in await read(consumer, 3)] == [b"1", b"2", b"3"]
        await consumer.seek(T1, LATEST)
        assert await consumer.poll(timeout_ms=50) == []
        fill(cluster, "t1", b"4")
        assert [row.value for row in await read(consumer, 1)] == [b"4"]
        await consumer.close()

    with_client(test)


def test_a_leader_that_moves_is_followed() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"0")
        consumer = Consumer(client)
        await consumer.assign({T1: EARLIEST})
        await read(consumer, 1)
        cluster.topics["t1"][0].leader, cluster.topics["t1"][0].leader_epoch = 2, 1
        fill(cluster, "t1", b"1")
        assert [row.value for row in await read(consumer, 1)] == [b"1"]
        await consumer.close()

    with_client(test)


def test_control_batches_are_passed_over() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"marker", control=True)
        fill(cluster, "t1", b"data")
        consumer = Consumer(client)
        await consumer.assign({T1: EARLIEST})
        assert [(row.offset, row.value) for row in await read(consumer, 1)] == [(1, b"data")]
        await consumer.close()

    with_client(test)


@pytest.mark.parametrize(("reset", "expected"), [("earliest", b"0"), ("latest", b"new")])
def test_an_offset_out_of_range_is_reset_by_auto_offset_reset(reset: str, expected: bytes) -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"0")
        consumer = Consumer(client, ConsumerSettings(auto_offset_reset=reset))
        await consumer.assign({T1: 77})
        if reset == "latest":
            assert await consumer.poll(timeout_ms=100) == []
            fill(cluster, "t1", b"new")
        assert [row.value for row in await read(consumer, 1)] == [expected]
        await consumer.close()

    with_client(test)


def test_without_auto_offset_reset_an_offset_out_of_range_is_an_error() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        consumer = Consumer(client, ConsumerSettings(auto_offset_reset="none"))
        await consumer.assign({T1: 77})
        with pytest.raises(KafkaError) as rejection:
            await consumer.poll(timeout_ms=2_000)
        assert rejection.value.error == Error.OFFSET_OUT_OF_RANGE
        await consumer.close()

    with_client(test)


@pytest.mark.spec("R10")
def test_a_final_error_of_the_topic_ends_poll_at_once() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        reject_topics(cluster, Error.TOPIC_AUTHORIZATION_FAILED)
        client.metadata_updater.refresh_soon(["t1", "t9"])
        async with asyncio.timeout(40):
            with pytest.raises(AuthorizationFailed, match="partition t1-0 is not available"):
                await consumer.poll(timeout_ms=50_000)
        await consumer.close()

    with_client(test)


def test_records_that_are_given_back_are_returned_again_in_order() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"0", b"1", b"2")
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        records = await consumer.poll(max_records=2)
        assert consumer.position(T1) == 2
        consumer.give_back(records)
        assert consumer.position(T1) == 0
        assert [row.value for row in await read(consumer, 3)] == [b"0", b"1", b"2"]
        consumer.remove([T1])
        consumer.give_back(records)
        assert consumer.take(10) == []
        await consumer.close()

    with_client(test)


def test_a_leader_that_does_not_answer_in_time_is_asked_again() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"0")
        await client.topic("t1")
        leader, resumed = cluster.brokers[1], asyncio.Event()

        async def slow(request: Any, version: int) -> Any:
            due = asyncio.Event()
            asyncio.get_running_loop().call_later(0.15, due.set)  # the connect takes part of the time of the fetch
            await due.wait()
            return leader.api_versions(request)

        async def paused(request: Any, version: int) -> Any:
            await resumed.wait()
            return leader.fetch(request)

        leader.scripts.update({ApiKey.API_VERSIONS: slow, ApiKey.FETCH: paused})
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        assert await consumer.poll(timeout_ms=1_000) == []
        resumed.set()
        assert [row.value for row in await read(consumer, 1)] == [b"0"]
        await consumer.close()

    with_client(test, request_timeout_ms=300)


def test_the_error_of_a_partition_that_was_removed_is_not_raised() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        consumer = Consumer(client, ConsumerSettings(auto_offset_reset="none"))
        await client.topic("t1")
        await client.topic("t2")
        await consumer.assign({T1: 77, T2: 0})
        consumer.take(0)
        await until_true(lambda: consumer._fetcher.failure is not None)
        consumer.remove([T1])
        assert await consumer.poll(timeout_ms=50) == []
        await consumer.close()

    with_client(test)


def test_a_corrupt_batch_is_not_returned() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"value")
        corrupt = bytearray(cluster.topics["t1"][0].batches[0])
        corrupt[-3] ^= 1
        cluster.topics["t1"][0].batches[0] = bytes(corrupt)
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        with pytest.raises(KafkaError, match="t1-0: the batch at 0 is corrupt"):
            await consumer.poll(timeout_ms=2_000)
        await consumer.close()

    with_client(test)


@pytest.mark.spec("R5")
def test_a_swap_costs_time_and_no_record() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t2", b"0")
        consumer = Consumer(client)
        await consumer.assign({T2: EARLIEST})
        await read(consumer, 1)
        board.swap("2", "3")
        fill(cluster, "t2", b"1")
        assert await consumer.poll(timeout_ms=200) == []
        await board.restore()
        assert [row.value for row in await read(consumer, 1)] == [b"1"]
        assert all(row.topics[0].partitions[0].fetch_offset <= 1 for row in cluster.brokers[2].seen(ApiKey.FETCH))
        await consumer.close()

    with_client(test)


def test_partitions_are_paused_resumed_added_and_removed() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"0", b"1", b"2")
        fill(cluster, "t2", b"a")
        consumer = Consumer(client)
        await consumer.assign({T1: EARLIEST})
        assert [row.value for row in await consumer.poll(max_records=1)] == [b"0"]
        consumer.pause([T1])
        await consumer.add({T2: EARLIEST})
        assert (consumer.assignment, consumer.paused) == (frozenset({T1, T2}), frozenset({T1}))
        assert [row.value for row in await read(consumer, 1)] == [b"a"]
        assert consumer.positions() == {T1: 1, T2: 1}
        consumer.resume([T1])
        assert [row.value for row in await read(consumer, 2)] == [b"1", b"2"]
        consumer.remove([T1])
        fill(cluster, "t1", b"3")
        assert await consumer.poll(timeout_ms=50) == []
        with pytest.raises(ValueError, match="partition t1-0 is not assigned"):
            consumer.pause([T1])
        with pytest.raises(KeyError):
            consumer.position(T1)
        await consumer.close()

    with_client(test)


def test_a_second_poll_while_another_task_polls_is_an_error() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        consumer = Consumer(client)
        await consumer.assign({T1: EARLIEST})
        first = asyncio.create_task(consumer.poll(timeout_ms=30_000))
        await until_true(lambda: bool(cluster.brokers[1].seen(ApiKey.FETCH)))
        with pytest.raises(RuntimeError, match="a consumer is for one task"):
            await consumer.poll()
        fill(cluster, "t1", b"0")
        assert [row.value for row in await first] == [b"0"]
        assert await consumer.poll(timeout_ms=0) == []
        await consumer.close()

    with_client(test)


def test_a_closed_consumer_reads_no_more() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        waiting = asyncio.create_task(consumer.poll(timeout_ms=50_000))
        await until_true(lambda: bool(cluster.brokers[1].seen(ApiKey.FETCH)))
        await consumer.close()
        await consumer.close()
        fill(cluster, "t1", b"0")
        async with asyncio.timeout(40):
            for call in (
                waiting,
                consumer.poll(),
                consumer.assign({T1: 0}),
                consumer.add({T1: 0}),
                consumer.seek(T1, 0),
            ):
                with pytest.raises(RuntimeError, match="the consumer is closed"):
                    await call
        assert (consumer.take(10), consumer.assignment) == ([], frozenset())

    with_client(test)


def test_a_poll_that_waits_with_no_fetch_in_flight_ends_with_the_consumer() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        consumer = Consumer(client)
        waiting = asyncio.create_task(consumer.poll(timeout_ms=50_000))
        await until_true(lambda: consumer._fetcher._waiting is not None)
        await consumer.close()
        async with asyncio.timeout(40):
            with pytest.raises(RuntimeError, match="the consumer is closed"):
                await waiting

    with_client(test)


def test_a_partition_that_is_added_again_is_read_from_its_new_offset_only() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"0", b"1", b"2")
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        assert [row.value for row in await consumer.poll(max_records=1)] == [b"0"]
        await consumer.add({T1: 2})  # the records 1 and 2 have arrived
        assert consumer.position(T1) == 2
        assert [row.value for row in await read(consumer, 1)] == [b"2"]
        await consumer.close()

    with_client(test)


def test_a_fetch_in_flight_does_not_count_for_a_partition_that_is_added_again() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"0", b"1")
        leader, release = cluster.brokers[1], asyncio.Event()

        async def held(request: Any, version: int) -> Any:
            await release.wait()
            return leader.fetch(request)

        leader.scripts[ApiKey.FETCH] = held
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        polled = asyncio.create_task(consumer.poll(timeout_ms=50_000))
        await until_true(lambda: bool(leader.seen(ApiKey.FETCH)))
        await consumer.add({T1: 1})
        release.set()
        assert [row.value for row in await polled] == [b"1"]
        await consumer.close()

    with_client(test, request_timeout_ms=50_000)


def test_a_partition_that_is_not_assigned_cannot_be_sought() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        consumer = Consumer(client)
        await consumer.assign({T1: 0})
        with pytest.raises(ValueError, match="partition t2-0 is not assigned"):
            await consumer.seek(T2, 0)
        assert consumer.assignment == {T1}
        await consumer.close()

    with_client(test)


def test_a_seek_after_an_offset_out_of_range_is_not_answered_with_the_old_error() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"0")
        consumer = Consumer(client, ConsumerSettings(auto_offset_reset="none"))
        await client.topic("t1")
        await consumer.assign({T1: 77})
        consumer.take(0)
        await until_true(lambda: consumer._fetcher.failure is not None)
        await consumer.seek(T1, 0)
        assert [row.value for row in await read(consumer, 1)] == [b"0"]
        await consumer.close()

    with_client(test)


async def poll_without_time(consumer: Consumer) -> list[ConsumedRecord]:
    """The next records, in a loop without another await. It has a number of rounds instead of a time: a poll that does
    not yield would block the time-out too."""
    for _ in range(ROUNDS):
        found = await consumer.poll(timeout_ms=0)
        if found:
            return found
    return []


def test_poll_without_time_returns_records_and_raises_errors_when_they_have_arrived() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"0", b"1")
        consumer = Consumer(client, ConsumerSettings(auto_offset_reset="none"))
        await consumer.assign({T1: 0})
        assert [row.value for row in await poll_without_time(consumer)] == [b"0", b"1"]
        await consumer.seek(T1, 77)
        with pytest.raises(KafkaError, match="t1-0 at offset 77"):
            await poll_without_time(consumer)
        await consumer.close()

    with_client(test)
