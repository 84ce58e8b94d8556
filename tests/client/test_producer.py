from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ChannelClosed, DeadlinePassed
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.sender.partitioner import partition_for_key
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.produce import ProduceResponse
from signalbox.protocol.records.batch_header import iter_batch_headers
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import until_true

EAGER = ProducerSettings(linger_ms=1)


def values(cluster: LoopbackCluster, topic: str, index: int = 0) -> list[bytes | None]:
    return [record.value for record in cluster.topics[topic][index].records()]


def arrived(cluster: LoopbackCluster, topic: str) -> int:
    return cluster.topics[topic][0].end_offset


def reject_once(cluster: LoopbackCluster, node_id: int, error: Error, *, append: bool = False) -> list[Any]:
    """The next Produce to a node returns `error`, appended or not. Returns the list of the rejected requests."""
    broker, rejected = cluster.brokers[node_id], []

    def script(request: Any, version: int) -> Any:
        del broker.scripts[ApiKey.PRODUCE]
        rejected.append(request)
        response = broker.produce(request) if append else None
        rows = [
            ProduceResponse.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    ProduceResponse.PartitionProduceResponse(index=row.index, error_code=error, base_offset=-1)
                    for row in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
        assert response is None or response.responses
        return ProduceResponse(responses=rows)

    broker.scripts[ApiKey.PRODUCE] = script
    return rejected


def test_records_arrive_in_order_with_their_keys_headers_and_offsets() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("many", 1, 2, 3)
        async with Producer(client, EAGER) as producer:
            sent = [
                await producer.send("many", b"v%d" % i, key=b"k%d" % (i % 7), headers=[("n", b"%d" % i)])
                for i in range(200)
            ]
            placed = await asyncio.gather(*sent)
        for i, where in enumerate(placed):
            key = b"k%d" % (i % 7)
            assert where.topic_partition == ("many", partition_for_key(key, 3))
            record = cluster.topics["many"][where.topic_partition.partition].records()[where.offset]
            assert (record.key, record.value, list(record.headers)) == (key, b"v%d" % i, [("n", b"%d" % i)])

    with_client(test)


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_readable(compression: str) -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async with Producer(client, ProducerSettings(compression_type=compression)) as producer:
            for i in range(50):
                await producer.send("t1", b"%d" % i)
        assert values(cluster, "t1") == [b"%d" % i for i in range(50)]

    with_client(test)


def test_records_without_a_key_fill_one_batch_before_the_next_partition() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("many", 1, 2, 3)
        async with Producer(client, ProducerSettings(batch_size_bytes=1_000, linger_ms=1_000)) as producer:
            for _ in range(12):
                await producer.send("many", bytes(300))
        assert [len(row.records()) for row in cluster.topics["many"].values()] == [4, 4, 4]

    with_client(test)


def test_a_lost_answer_is_no_duplicate() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        broker = cluster.brokers[1]

        def append_and_hang_up(request: Any, version: int) -> Any:
            del broker.scripts[ApiKey.PRODUCE]
            broker.produce(request)

        broker.scripts[ApiKey.PRODUCE] = append_and_hang_up
        async with Producer(client, EAGER) as producer:
            first = await (await producer.send("t1", b"one"))
            second = await (await producer.send("t1", b"two"))
        assert (first.offset, second.offset) == (0, 1)
        assert values(cluster, "t1") == [b"one", b"two"]

    with_client(test)


@pytest.mark.parametrize(
    ("error", "append"),
    [
        (Error.NOT_LEADER_OR_FOLLOWER, False),
        (Error.NOT_ENOUGH_REPLICAS, False),
        (Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, True),
        (Error.REQUEST_TIMED_OUT, True),
        (Error.DUPLICATE_SEQUENCE_NUMBER, True),
    ],
)
def test_errors_that_waiting_heals_cost_neither_order_nor_a_duplicate(error: Error, append: bool) -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        rejected = reject_once(cluster, 1, error, append=append)
        async with Producer(client, EAGER) as producer:
            for i in range(5):
                await producer.send("t1", b"%d" % i)
        assert len(rejected) == 1
        assert values(cluster, "t1") == [b"%d" % i for i in range(5)]

    with_client(test)


def test_a_new_leader_gets_the_batch_with_the_same_sequence() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async with Producer(client, EAGER) as producer:
            await (await producer.send("t1", b"before"))
            cluster.topics["t1"][0].leader = 2
            cluster.topics["t1"][0].leader_epoch = 1
            after = await (await producer.send("t1", b"after"))
        assert after.offset == 1
        sequences = [next(iter_batch_headers(batch)).base_sequence for batch in cluster.topics["t1"][0].batches]
        assert sequences == [0, 1]

    with_client(test)


def test_a_leader_hint_in_the_answer_is_followed_at_once() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.topic("t1")
        partition = cluster.topics["t1"][0]
        partition.leader, partition.leader_epoch = 2, 5

        def hint(request: Any, version: int) -> Any:
            response = cluster.brokers[1].produce(request)
            row = response.responses[0].partition_responses[0]
            row.current_leader = ProduceResponse.LeaderIdAndEpoch(leader_id=2, leader_epoch=5)
            return response

        cluster.brokers[1].scripts[ApiKey.PRODUCE] = hint
        for broker in cluster.brokers.values():
            broker.requests.clear()
        async with Producer(client, EAGER) as producer:
            assert (await (await producer.send("t1", b"x"))).offset == 0
        assert not any(broker.seen(ApiKey.METADATA) for broker in cluster.brokers.values())

    with_client(test)


@pytest.mark.spec("R5")
def test_a_swap_under_load_loses_nothing_repeats_nothing_and_keeps_the_order() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        sent: dict[str, list[bytes]] = {"t1": [], "t2": [], "t3": []}
        stop = asyncio.Event()

        async def produce(producer: Producer, topic: str) -> None:
            number = 0
            while not stop.is_set():
                value = b"%s-%d" % (topic.encode(), number)
                await producer.send(topic, value)
                sent[topic].append(value)
                number += 1
                await asyncio.sleep(0.001)

        async with Producer(client, EAGER) as producer:
            load = [asyncio.ensure_future(produce(producer, topic)) for topic in sent]
            await until_true(lambda: all(arrived(cluster, topic) > 20 for topic in sent))
            board.swap("2", "3")
            await until_true(
                lambda: client.rebootstraps >= 1 and cluster.brokers[2].rejected + cluster.brokers[3].rejected >= 2
            )
            during = arrived(cluster, "t1")
            await until_true(lambda: arrived(cluster, "t1") > during + 20)  # broker 1's partition still gets records
            await board.restore()
            after = {topic: arrived(cluster, topic) for topic in sent}
            await until_true(lambda: all(arrived(cluster, topic) > after[topic] + 20 for topic in sent))
            stop.set()
            await asyncio.gather(*load)
        for topic, expected in sent.items():
            assert values(cluster, topic) == expected

    with_client(test)


def test_the_delivery_timeout_speaks_of_the_misroute() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.topic("t2")
        board.swap("2", "3")
        async with Producer(client, ProducerSettings(linger_ms=0, delivery_timeout_ms=400)) as producer:
            acknowledged = await producer.send("t2", b"x")
            with pytest.raises(DeadlinePassed, match=r"t2-0 were not acknowledged .*wanted node 2 of cluster"):
                await acknowledged

    with_client(test)


def test_after_a_batch_that_may_have_been_appended_a_new_producer_id_is_used() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        broker = cluster.brokers[1]

        def append_and_hang_up(request: Any, version: int) -> Any:
            broker.produce(request)

        async with Producer(client, ProducerSettings(linger_ms=0, delivery_timeout_ms=200)) as producer:
            await (await producer.send("t1", b"a"))
            broker.scripts[ApiKey.PRODUCE] = append_and_hang_up
            with pytest.raises(DeadlinePassed):
                await (await producer.send("t1", b"b"))
            del broker.scripts[ApiKey.PRODUCE]
            await (await producer.send("t1", b"c"))
        assert values(cluster, "t1") == [b"a", b"b", b"c"]
        ids = [next(iter_batch_headers(batch)).producer_id for batch in cluster.topics["t1"][0].batches]
        assert ids[0] == ids[1] != ids[2]

    with_client(test)


def test_a_rejected_batch_leaves_no_gap_in_the_sequence() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async with Producer(client, EAGER) as producer:
            await (await producer.send("t1", b"a"))
            reject_once(cluster, 1, Error.INVALID_RECORD)
            with pytest.raises(KafkaError, match="t1-0"):
                await (await producer.send("t1", b"bad"))
            await (await producer.send("t1", b"c"))
        headers = [next(iter_batch_headers(batch)) for batch in cluster.topics["t1"][0].batches]
        assert [row.base_sequence for row in headers] == [0, 1]
        assert len({row.producer_id for row in headers}) == 1

    with_client(test)


def test_after_unknown_producer_id_a_new_producer_id_is_used() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async with Producer(client, EAGER) as producer:
            await (await producer.send("t1", b"a"))
            cluster.topics["t1"][0].sequences.clear()
            await (await producer.send("t1", b"b"))
        assert values(cluster, "t1") == [b"a", b"b"]

    with_client(test)


def test_a_batch_that_is_too_large_for_the_broker_is_split() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        broker = cluster.brokers[1]

        def at_most_two(request: Any, version: int) -> Any:
            (header,) = iter_batch_headers(request.topic_data[0].partition_data[0].records)
            response = broker.produce(request) if header.record_count <= 2 else ProduceResponse()
            if not response.responses:
                row = ProduceResponse.PartitionProduceResponse(index=0, error_code=Error.MESSAGE_TOO_LARGE)
                topic = request.topic_data[0]
                response.responses = [
                    ProduceResponse.TopicProduceResponse(
                        name=topic.name, topic_id=topic.topic_id, partition_responses=[row]
                    )
                ]
            return response

        broker.scripts[ApiKey.PRODUCE] = at_most_two
        async with Producer(client, ProducerSettings(linger_ms=100)) as producer:
            for i in range(9):
                await producer.send("t1", b"%d" % i)
        assert values(cluster, "t1") == [b"%d" % i for i in range(9)]

    with_client(test)


def test_a_record_that_no_broker_would_take_is_rejected_at_once() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async with Producer(client, ProducerSettings(max_request_size_bytes=1_000)) as producer:
            with pytest.raises(KafkaError) as rejection:
                await producer.send("t1", bytes(2_000))
        assert rejection.value.error == Error.MESSAGE_TOO_LARGE

    with_client(test)


def test_send_waits_for_free_buffer_memory() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async with Producer(client, ProducerSettings(buffer_memory_bytes=2_000, linger_ms=1)) as producer:
            for i in range(50):
                await producer.send("t1", b"%04d" % i + bytes(500))
                assert producer._buffered_bytes <= 2_000
        assert len(values(cluster, "t1")) == 50

    with_client(test)


def test_closing_fails_what_is_not_acknowledged() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        producer = Producer(client, ProducerSettings(linger_ms=60_000))
        async with producer:
            acknowledged = await producer.send("t1", b"x")
            await producer.close()
            with pytest.raises(ChannelClosed, match="before the broker acknowledged"):
                await acknowledged
            with pytest.raises(ChannelClosed):
                await producer.send("t1", b"y")

    with_client(test)


@pytest.mark.spec("R5")
def test_a_move_to_another_cluster_goes_on_under_an_id_of_that_cluster() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async with LoopbackCluster("cluster-B") as other, Producer(client, EAGER) as producer:
            other.next_producer_id = 7_000
            other.add_topic("t1", 1)
            home = await other.add_broker(1)
            await (await producer.send("t1", b"a"))
            for broker in cluster.brokers.values():
                await broker.stop()
            for name in board.names():
                board.rewire(name, home.address)
            home.cluster.advertised[1] = home.address
            board.sever()
            await (await producer.send("t1", b"b"))
            (batch,) = other.topics["t1"][0].batches
            header = next(iter_batch_headers(batch))
            assert (header.producer_id, header.base_sequence) == (7_001, 0)

    with_client(test, seeds_through_board=True)
