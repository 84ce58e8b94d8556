"""`signalbox.client` on Apache Kafka 4.4, 4.0 and 3.9: what each release has, as the table of docs/client.md says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.config_admin import ConfigResource
from signalbox.client.admin_apis.feature_admin import FeatureUpdate
from signalbox.client.admin_apis.offset_admin import EARLIEST
from signalbox.client.admin_apis.quota_admin import quota_entity
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import Purpose
from signalbox.client.consumer import Consumer, ConsumerSettings
from signalbox.client.failures import VersionUnsupported
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.rejections import ProducerFenced
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.error_table import Error
from tests.client.group_consumer.members import Group, with_group
from tests.system.doctor.apache_cluster import NODES, PROTOCOLS, ApacheCluster
from tests.system.provision import command, jars
from tests.waiting import settle, until_true

RELEASES = {"kafka44": "4.4", "kafka40": "4.0", "kafka39": "3.9"}
NEEDS = (partial(command, "mvn"), *(partial(jars, project) for project in RELEASES))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.spec("R10")]

PAGE = Path(__file__).parents[3] / "docs" / "client.md"
FETCH = ConsumerSettings(auto_offset_reset="earliest", fetch_max_wait_ms=100)


class PeerCluster(ApacheCluster):
    """With a small `__transaction_state`, which is created by the first transactional id."""

    def _configure(self, node_id: int, controller_port: int, keystore: str) -> Path:
        properties = super()._configure(node_id, controller_port, keystore)
        settings = {"replication.factor": 1, "min.isr": 1, "num.partitions": 2}
        with properties.open("a") as file:
            file.writelines(f"transaction.state.log.{key}={value}\n" for key, value in settings.items())
        return properties


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheCluster]:
    with PeerCluster(request.param, tmp_path_factory.mktemp(request.param)) as cluster:
        yield cluster


@pytest.fixture
def release(request: pytest.FixtureRequest, kafka: ApacheCluster) -> str:
    """4.4, 4.0 or 3.9."""
    return next(number for project, number in RELEASES.items() if project in request.node.name)


@pytest.fixture(autouse=True)
def _restored(kafka: ApacheCluster) -> Iterator[None]:
    yield
    kafka.board.restore(*map(str, NODES))


def with_client(
    kafka: ApacheCluster, test: Callable[[ClusterClient], Awaitable[None]], listener: str = "CLIENT"
) -> None:
    async def run() -> None:
        properties = {"bootstrap.servers": kafka.entry(listener), **kafka.properties(listener)}
        async with ClusterClient(ClientSettings.from_properties(properties)) as client:
            while len((await AdminClient(client).describe_cluster()).nodes) < len(NODES):
                pass
            await test(client)

    asyncio.run(run())


def row_of(name: str, release: str) -> str:
    """The cell of the releases' table in docs/client.md."""
    header = re.search(r"^\| What \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    row = re.search(rf"^\| {re.escape(name)} \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    assert header is not None
    assert row is not None, name
    cells: list[str] = row[1].split(" | ")
    return cells[header[1].split(" | ").index(release)]


def test_identity_and_versions_are_those_of_the_table(kafka: ApacheCluster, release: str) -> None:
    async def test(client: ClusterClient) -> None:
        for node_id in NODES:
            node = client.view.nodes[node_id]
            connection = await client.metadata_updater.pool.get(node, Purpose.REQUESTS)
            assert connection.verified == (row_of("ApiVersions 5: identity (KIP-1242)", release) == "yes")
            has_metadata_13 = (connection.api_ranges.range_of(ApiKey.METADATA) or (0, 0))[1] >= 13
            row = "Metadata 13: REBOOTSTRAP_REQUIRED at the top (KIP-1102)"
            assert has_metadata_13 == (row_of(row, release) == "yes")
        assert all(report.verified == (release == "4.4") for report in client.routes())

    with_client(kafka, test)


@pytest.mark.parametrize("listener", PROTOCOLS)
def test_every_record_arrives_over_every_listener(kafka: ApacheCluster, listener: str, release: str) -> None:
    topic = f"over-{listener.lower()}"

    async def test(client: ClusterClient) -> None:
        await AdminClient(client).create_topic(topic, 3, 1)
        for compression in ("none", "gzip", "snappy", "lz4", "zstd"):
            async with Producer(client, ProducerSettings(compression_type=compression)) as producer:
                for number in range(30):
                    await producer.send(topic, f"{compression} {number}".encode(), partition=number % 3)
        consumer = Consumer(client, FETCH)
        await consumer.assign({TopicPartition(topic, index): EARLIEST for index in range(3)})
        read: list[Any] = []
        while len(read) < 150:
            read += await consumer.poll()
        assert len({row.value for row in read}) == 150
        await consumer.close()

    with_client(kafka, test, listener)


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_group_rebalances_and_goes_on_where_it_committed(kafka: ApacheCluster, strategy: str, release: str) -> None:
    topic = f"group-{strategy}"

    async def test(group: Group) -> None:
        await AdminClient(group.client).create_topic(topic, 4, 1)
        first = await group.member(partition_assignment_strategy=(strategy,))
        first.start(topic)
        await group.settled("0 1 2 3")
        await group.produce(topic, [b"%d" % number for number in range(40)], 4)
        await until_true(lambda: len(first.values) == 40)
        second = await group.member(partition_assignment_strategy=(strategy,))
        second.start(topic)
        await until_true(lambda: len(first.has) == len(second.has) == len("0 1"))
        await first.leave()
        await until_true(lambda: second.has == "0 1 2 3")
        await group.produce(topic, [b"new"], 4)
        await until_true(lambda: second.values == [b"new"])

    with_group(kafka.entry("CLIENT"), topic, test)


def test_transactions_are_committed_aborted_and_fenced(kafka: ApacheCluster, release: str) -> None:
    version = 2 if row_of("transaction version 2 of a new cluster (KIP-890)", release) == "yes" else 1
    settings = ProducerSettings(transactional_id="copies", linger_ms=1)
    group, source = ConsumerGroupMetadata("copying"), TopicPartition("copied-from", 0)

    async def test(client: ClusterClient) -> None:
        admin = AdminClient(client)
        await admin.create_topic("copied", 2, 1)
        await admin.create_topic("copied-from", 1, 1)
        async with Producer(client, settings) as first, Producer(client, settings) as second:
            await first.init_transactions()
            assert first._transactions is not None
            assert first._transactions.manager.version == version
            for number in range(6):
                first.begin_transaction()
                for index in range(4):
                    await first.send("copied", b"%d.%d" % (number, index), partition=index % 2)
                await first.send_offsets_to_transaction({source: number}, group)
                await first.flush()
                await (first.abort_transaction() if number % 2 else first.commit_transaction())
            first.begin_transaction()
            await (await first.send("copied", b"of the first", partition=0))
            await second.init_transactions()
            async with second.transaction():
                await second.send("copied", b"of the second", partition=1)
            with pytest.raises(ProducerFenced):
                await first.commit_transaction()
        assert (await admin.committed_offsets("copying", partitions=[source], require_stable=True))[source].offset == 4
        consumer = Consumer(client, replace(FETCH, isolation_level="read_committed"))
        await consumer.assign({TopicPartition("copied", index): EARLIEST for index in (0, 1)})
        read: list[Any] = []
        while len(read) < 13:
            read += await consumer.poll()
        expected = {b"%d.%d" % (number, index) for number in (0, 2, 4) for index in range(4)}
        assert sorted(row.value for row in read) == sorted({*expected, b"of the second"})
        await consumer.close()

    with_client(kafka, test)


def test_what_the_admin_client_can_ask(kafka: ApacheCluster, release: str) -> None:
    async def test(client: ClusterClient) -> None:
        admin = AdminClient(client)
        await admin.create_topic("asked", 2, 1)
        zero, alice = TopicPartition("asked", 0), quota_entity({"user": "alice"})
        await client.topic("asked")
        async with Producer(client) as producer:
            await producer.send("asked", b"x", partition=0)
        assert await admin.list_offsets([zero]) == {zero: 1}
        assert await admin.delete_records({zero: 1}) == {zero: 1}
        assert (await admin.create_partitions({"asked": 3}))["asked"].error == Error.NONE
        assert (await admin.alter_quotas({alice: {"producer_byte_rate": 1e9}}))[alice].error == Error.NONE
        while alice not in await admin.describe_quotas({"user": "alice"}):
            pass
        assert {*(await admin.describe_log_dirs())} == {*NODES}
        features = await admin.describe_features()
        level = FeatureUpdate(features.finalized["metadata.version"])
        with_level = await admin.update_features({"metadata.version": level}, validate_only=True)
        assert with_level["metadata.version"].error == Error.NONE
        await admin.set_topic_configs("asked", {"retention.ms": "3600000"})
        assert (await admin.describe_configs(ConfigResource(ConfigResourceType.BROKER, "2")))["log.dirs"].read_only
        assert len(await admin.describe_producers([zero])) == 1
        await admin.alter_committed_offsets("asking", {zero: 1, TopicPartition("asked", 1): 1})
        assert (await admin.committed_offsets("asking", require_stable=True))[zero].offset == 1
        assert "asking" in [row.group_id for row in await admin.list_groups(states=["Empty"])]
        assert (await admin.delete_committed_offsets("asking", [zero]))[zero].error == Error.NONE
        assert (await admin.delete_groups(["asking"]))["asking"].error == Error.NONE
        producer_id, epoch = (await admin.fence_producers(["till"]))["till"]
        assert (await admin.fence_producers(["till"]))["till"] == (producer_id, epoch + 1)
        described = (await admin.describe_transactions(["till"]))["till"]
        assert (described.state, described.producer_id) == ("Empty", producer_id)
        assert [row.transactional_id for row in await admin.list_transactions(producer_ids=[producer_id])] == ["till"]
        await admin.set_user("alice", "a-secret")
        assert "alice" in await admin.describe_users()
        assert await admin.list_reassignments() == {}
        assert (await admin.delete_topics(["asked"]))["asked"].error == Error.NONE

    with_client(kafka, test)


@pytest.mark.parametrize(
    ("row", "call"),
    [
        ("`list_config_resources` of topics and brokers (KIP-1142)", "resources"),
        ("`list_transactions(duration_ms=…)` (KIP-994)", "duration"),
        ("`list_transactions(pattern=…)` (KIP-1152)", "pattern"),
        ("`list_groups(types=…)` (KIP-848)", "types"),
    ],
)
def test_a_request_that_a_release_does_not_have_is_an_error_at_once(
    kafka: ApacheCluster, release: str, row: str, call: str
) -> None:
    async def test(client: ClusterClient) -> None:
        admin = AdminClient(client)
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "resources": lambda: admin.list_config_resources([ConfigResourceType.BROKER]),
            "duration": lambda: admin.list_transactions(duration_ms=1),
            "pattern": lambda: admin.list_transactions(pattern="t.*"),
            "types": lambda: admin.list_groups(types=["classic"]),
        }
        if row_of(row, release) == "yes":
            await calls[call]()
        else:
            with pytest.raises(VersionUnsupported):
                await calls[call]()

    with_client(kafka, test)


@pytest.mark.spec("R4", "R5", "R6")
def test_two_swapped_brokers_cost_no_record(kafka: ApacheCluster, release: str) -> None:
    """With identity the client notices by error 129; without it by NOT_LEADER_OR_FOLLOWER. Nothing is lost or stored
    twice, and what node 1 leads goes on."""

    async def test(client: ClusterClient) -> None:
        admin = AdminClient(client)
        topic = NewTopic(name="crossed", assignments={0: [1], 1: [2], 2: [3]})
        (await admin.create_topics([topic]))["crossed"].raise_for_error()
        await client.topic("crossed")
        sent, failed = 0, []
        async with Producer(client) as producer:

            async def send(count: int) -> None:
                nonlocal sent
                for _ in range(count):
                    record = await producer.send("crossed", b"%d" % sent, partition=sent % 3)
                    record.add_done_callback(lambda done: failed.append(done) if done.exception() else None)
                    sent += 1
                    await settle()

            await send(60)
            await producer.flush()
            kafka.board.swap("2", "3")
            during = await producer.send("crossed", b"%d" % sent, partition=0)
            sent += 1
            await send(60)
            await during
            if release == "4.4":
                await until_true(lambda: client.rebootstraps > 0)  # the wrong routes were tried before they end
            kafka.board.restore("2", "3")
            kafka.board.sever("2", "3")  # a broker ends no connection only because the route has changed
            await send(60)
        assert failed == []
        consumer = Consumer(client, FETCH)
        await consumer.assign({TopicPartition("crossed", index): EARLIEST for index in range(3)})
        read: list[int] = []
        while len(read) < sent:
            read += [int(row.value or b"") for row in await consumer.poll()]
        assert sorted(read) == list(range(sent))
        await consumer.close()
        assert (client.rebootstraps > 0) == (release == "4.4")

    with_client(kafka, test)
