"""The client package against Signalbox brokers: three in one process, CLIENT addresses behind a switchboard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.config_admin import ConfigResource
from signalbox.client.admin_apis.offset_admin import EARLIEST
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import parse_bootstrap_servers
from signalbox.client.consumer import Consumer
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.producer import Producer
from signalbox.client.sender.producer_batch import RecordMetadata
from signalbox.common.ids import TopicPartition
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest
from signalbox.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from signalbox.testing.cluster import Cluster
from signalbox.testing.switchboard_thread import SwitchboardThread
from tests.waiting import settle


class CrossedCluster(Cluster):
    """Brokers that advertise the switchboard's lines on the listener CLIENT."""

    def __init__(self, board: SwitchboardThread) -> None:
        super().__init__(brokers=3)
        self.board = board
        self._lines = {node_id: board.add_line(str(node_id)) for node_id in (1, 2, 3)}

    def start(self) -> None:
        super().start()
        for node_id, node in self.nodes.items():
            (bound,) = parse_bootstrap_servers(node.describe()["bound"]["CLIENT"])
            self.board.set_home(str(node_id), bound)

    def _properties(self, node_id: int, folder: Path) -> dict[str, str]:
        host, port = self._lines[node_id]
        advertised = f"CLIENT://{host}:{port},REPLICATION://127.0.0.1:0,CONTROL://127.0.0.1:0"
        return {**super()._properties(node_id, folder), "advertised.listeners": advertised}


@pytest.fixture(scope="module")
def cluster() -> Iterator[CrossedCluster]:
    with SwitchboardThread() as board:
        crossed = CrossedCluster(board)
        with crossed:
            yield crossed


def with_client(cluster: Cluster, test: Callable[[ClusterClient], Awaitable[None]]) -> None:
    async def run() -> None:
        async with ClusterClient(ClientSettings.of(cluster.bootstrap_servers)) as client:
            await test(client)

    asyncio.run(run())


async def read_all(client: ClusterClient, topic: str, partitions: int, count: int) -> list[ConsumedRecord]:
    consumer = Consumer(client)
    await consumer.assign({TopicPartition(topic, index): EARLIEST for index in range(partitions)})
    found: list[ConsumedRecord] = []
    async with asyncio.timeout(60):
        while len(found) < count:
            found += await consumer.poll()
    found += await consumer.poll(timeout_ms=200)
    await consumer.close()
    return found


@pytest.mark.spec("F2")
@pytest.mark.parametrize("node_id", [1, 2, 3])
def test_replicas_move_and_leaders_are_elected_through_any_broker(cluster: CrossedCluster, node_id: int) -> None:
    """Only one broker gets the requests; a broker that is not the controller forwards them."""
    name = f"moved-{node_id}"
    made = AlterPartitionReassignmentsRequest
    moved = made.ReassignableTopic(
        name=name, partitions=[made.ReassignablePartition(partition_index=0, replicas=[3, 1])]
    )
    election = ElectLeadersRequest.TopicPartitions(topic=name, partitions=[0])

    async def test(client: ClusterClient) -> None:
        results = await AdminClient(client).create_topics([NewTopic(name=name, assignments={0: [1, 2]})])
        results[name].raise_for_error()
        begun = await client.request(node_id, made(topics=[moved]))
        assert (begun.error_code, begun.responses[0].partitions[0].error_code) == (Error.NONE, Error.NONE)
        async with asyncio.timeout(60):
            while (await client.request(node_id, ListPartitionReassignmentsRequest(topics=None))).topics:
                pass
        elected = await client.request(node_id, ElectLeadersRequest(topic_partitions=[election], timeout_ms=10_000))
        assert elected.error_code == Error.NONE
        # The move did not change the leader: it stays until a request elects the preferred replica.
        assert elected.replica_election_results[0].partition_result[0].error_code == Error.NONE

    with_client(cluster, test)


def test_a_topic_is_deleted_while_it_moves() -> None:
    async def fetch_no_more() -> None:
        own.nodes[3].components.data.replicas.fetchers.close()

    def held_by() -> list[int]:
        moved = TopicPartition("doomed", 0)
        return [each for each, node in own.nodes.items() if node.components.data.replicas.logs.get(moved) is not None]

    async def test(client: ClusterClient) -> None:
        admin = AdminClient(client)
        results = await admin.create_topics([NewTopic(name="doomed", assignments={0: [1, 2]})])
        results["doomed"].raise_for_error()
        moves = {TopicPartition("doomed", 0): [3, 1]}
        (await admin.reassign_partitions(moves))["doomed-0"].raise_for_error()
        assert [*(await admin.list_reassignments())] == [*moves]
        (await admin.delete_topics(["doomed"]))["doomed"].raise_for_error()
        assert await admin.list_reassignments() == {}
        async with asyncio.timeout(60):
            while held_by():
                await admin.list_topics()
            while (await admin.create_topics([NewTopic(name="doomed", num_partitions=1)]))["doomed"].error:
                pass

    with Cluster(brokers=3) as own:
        own.run(fetch_no_more())
        with_client(own, test)


def test_topics_configs_and_offsets_are_administered_through_any_broker(cluster: CrossedCluster) -> None:
    async def test(client: ClusterClient) -> None:
        admin = AdminClient(client)
        created = await admin.create_topic("plain", 2, 3, {"retention.ms": "123456"})
        assert created.error == Error.NONE
        with pytest.raises(KafkaError, match="already exists"):
            await admin.create_topic("plain", 2, 3)
        await client.topic("plain")
        assert (await admin.create_partitions({"plain": 3}))["plain"].error == Error.NONE
        resource = ConfigResource(ConfigResourceType.TOPIC, "plain")
        async with asyncio.timeout(60):  # the broker may receive the new topic's metadata a moment later
            while True:
                configs = await admin.describe_configs(resource, ["retention.ms"])
                if configs["retention.ms"].value == "123456":
                    break
                await asyncio.sleep(0.02)
        async with Producer(client) as producer:
            for number in range(20):
                await producer.send("plain", b"%d" % number, partition=0)
        partition = TopicPartition("plain", 0)
        assert await admin.list_offsets([partition]) == {partition: 20}
        assert await admin.delete_records({partition: 5}, timeout_ms=5_000) == {partition: 5}
        assert await admin.list_offsets([partition], EARLIEST) == {partition: 5}
        await admin.alter_committed_offsets("group-1", {partition: 7})
        assert (await admin.committed_offsets("group-1"))[partition].offset == 7
        assert [row.group_id for row in await admin.list_groups()] == ["group-1"]
        assert (await admin.delete_groups(["group-1"]))["group-1"].error == Error.NONE
        assert (await admin.delete_topics(["plain"]))["plain"].error == Error.NONE

    with_client(cluster, test)


@pytest.mark.spec("R5", "R6")
def test_two_swapped_brokers_cause_no_loss_no_duplicates_and_do_not_affect_the_third(
    cluster: CrossedCluster,
) -> None:
    async def test(client: ClusterClient) -> None:
        await AdminClient(client).create_topic("crossed", 6, 3)
        topic = await client.topic("crossed")
        untouched = [index for index, row in topic.partitions.items() if row.leader_id == 1]
        acknowledged = dict.fromkeys(topic.partitions, 0)
        sent = 0

        def count(done: asyncio.Future[RecordMetadata]) -> None:
            acknowledged[done.result().topic_partition.partition] += 1

        async def send_until(holds: Callable[[], bool]) -> None:
            nonlocal sent
            async with asyncio.timeout(60):
                while not holds():
                    record = await producer.send("crossed", b"%d" % sent, partition=sent % 6)
                    record.add_done_callback(count)
                    sent += 1
                    await settle()

        def all_have(more: int, partitions: Iterable[int]) -> Callable[[], bool]:
            before = dict(acknowledged)
            return lambda: all(acknowledged[index] >= before[index] + more for index in partitions)

        async with Producer(client) as producer:
            await send_until(all_have(10, range(6)))
            cluster.board.swap("2", "3")
            await send_until(lambda: client.rebootstraps > 0)
            await send_until(all_have(50, untouched))  # the third is not affected
            cluster.board.restore()
            await send_until(all_have(10, range(6)))
        found = await read_all(client, "crossed", 6, sent)
        for index in range(6):
            numbers = [int(row.value or b"") for row in found if row.partition == index]
            assert numbers == list(range(index, sent, 6))
        assert 1 <= client.rebootstraps <= 2

    with_client(cluster, test)
