"""Elections and reassignments by unmodified clients: Apache Kafka's console tools, librdkafka and kafka-python."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, KafkaError
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient, PartitionMetadata
from confluent_kafka.cimpl import NewTopic
from kafka import TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import (
    ElectionNotNeededError,
    InvalidReplicationAssignmentError,
    NoReassignmentInProgressError,
    UnknownTopicOrPartitionError,
)
from tools.chaos.state_reader import state_in_file

from signalbox.client.admin import AdminClient as SignalboxAdmin
from signalbox.common.ids import TopicPartition as SignalboxPartition
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.conftest import MakeTopic
from tests.system.console_tools import tool
from tests.system.provision import command, java_class
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def slow_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    """Three brokers whose sessions are so long that a paused broker is not considered dead. A new controller elects
    preferred leaders after 5 s, which is what some tests ask for themselves."""
    overrides = {"broker.session.timeout.ms": "120000", "auto.leader.rebalance.enable": "false"}
    with ProcessCluster(tmp_path_factory.mktemp("slow"), 3, overrides=overrides) as cluster:
        yield cluster


def idle_last(cluster: ProcessCluster) -> list[int]:
    """The brokers' ids, the controller first and a broker that is not the controller last."""
    with state_in_file(cluster.folder / "metadata.db") as state:
        controller = until(lambda: max(state.controller_id(), 0), "a controller")
    return [controller, *(each for each in cluster.brokers if each != controller)]


def addresses(cluster: ProcessCluster, *node_ids: int) -> str:
    return ",".join(cluster.brokers[each].address("CLIENT") for each in node_ids)


def confluent(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})


def create(bootstrap: str, topic: str, *replicas: list[int]) -> None:
    new = NewTopic(topic, len(replicas), replica_assignment=list(replicas))
    admin = confluent(bootstrap)  # without a reference the client would be closed before the response arrives
    admin.create_topics([new], operation_timeout=20)[topic].result(30)


def begin_without_end(cluster: ProcessCluster, topic: str, replicas: list[int]) -> None:
    """Starts a reassignment of partition 0 to a broker that is paused, and kills that broker before it can fetch."""
    cluster.pause(replicas[0])
    awake = addresses(cluster, *(each for each in cluster.brokers if each != replicas[0]))

    async def begin() -> None:
        partition = SignalboxPartition(topic, 0)
        async with SignalboxAdmin.of(awake) as admin:
            (await admin.reassign_partitions({partition: replicas}))[str(partition)].raise_for_error()

    asyncio.run(begin())
    cluster.kill(replicas[0])
    for address in awake.split(","):
        until(partial(_knows_two, address), f"the death at {address}")


def _knows_two(bootstrap: str) -> bool:
    return len(brokers_known_to(bootstrap)) == 2


def brokers_known_to(bootstrap: str) -> dict[int, object]:
    return dict(confluent(bootstrap).list_topics(timeout=20).brokers)


def reassignment_file(folder: Path, topic: str, wanted: Mapping[int, Sequence[int]]) -> str:
    rows = [{"topic": topic, "partition": number, "replicas": brokers} for number, brokers in wanted.items()]
    file = folder / "reassignment.json"
    file.write_text(json.dumps({"version": 1, "partitions": rows}))
    return str(file)


def partition_of(bootstrap: str, topic: str) -> PartitionMetadata:
    """Partition 0 in the Metadata response of a broker in `bootstrap`."""
    found = confluent(bootstrap).list_topics(topic, timeout=20).topics[topic]
    return found.partitions[0]


def led_by(bootstrap: str, topic: str) -> dict[int, int]:
    found = confluent(bootstrap).list_topics(topic, timeout=20).topics[topic]
    return {number: partition.leader for number, partition in found.partitions.items()}


@pytest.mark.slow
@pytest.mark.spec("D3", "F2")
def test_the_tool_moves_replicas_and_verifies_it(kafka_bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(2, replicas=1)
    file = reassignment_file(tmp_path, topic, {0: [1, 2], 1: [3, 1, 2]})
    at = ["--bootstrap-server", kafka_bootstrap]
    executed = tool("kafka-reassign-partitions", *at, "--execute", "--reassignment-json-file", file)
    assert "Successfully started partition reassignments" in executed

    def verified() -> str:
        return tool("kafka-reassign-partitions", *at, "--verify", "--reassignment-json-file", file)

    until(lambda: verified().count("is completed.") == 2, "both moves")
    assert "No partition reassignments found." in tool("kafka-reassign-partitions", *at, "--list")
    described = tool("kafka-topics", *at, "--describe", "--topic", topic)
    assert sorted(re.findall(r"Partition: (\d)\s.*Replicas: ([\d,]+)", described)) == [("0", "1,2"), ("1", "3,1,2")]


@pytest.mark.slow
@pytest.mark.spec("D3")
def test_the_tool_lists_a_move_and_takes_it_back(slow_cluster: ProcessCluster, tmp_path: Path) -> None:
    a, b, idle = idle_last(slow_cluster)
    bootstrap = addresses(slow_cluster, a, b)
    at = ["--bootstrap-server", bootstrap]
    create(bootstrap, "slow", [a, b])
    file = reassignment_file(tmp_path, "slow", {0: [idle, a]})
    begin_without_end(slow_cluster, "slow", [idle, a])
    listed = tool("kafka-reassign-partitions", *at, "--list")
    assert f"slow-0: replicas: {idle},{a},{b}. adding: {idle}. removing: {b}." in listed
    verified = tool("kafka-reassign-partitions", *at, "--verify", "--reassignment-json-file", file)
    assert "Reassignment of partition slow-0 is still in progress." in verified
    # Without it the tool would clear the throttles of all three brokers, at each broker itself.
    cancel = ["--cancel", "--reassignment-json-file", file, "--preserve-throttles"]
    assert "Successfully cancelled" in tool("kafka-reassign-partitions", *at, *cancel)
    assert "No partition reassignments found." in tool("kafka-reassign-partitions", *at, "--list")
    slow_cluster.start_broker(idle)


@pytest.mark.slow
@pytest.mark.spec("D3", "F2")
def test_the_tool_elects_preferred_leaders(slow_cluster: ProcessCluster, tmp_path: Path) -> None:
    # Not on the cluster of the other system tests: its controller elects preferred leaders by itself at times.
    bootstrap, topic = addresses(slow_cluster, 1, 2, 3), "preferred"
    create(bootstrap, topic, [2, 1, 3], [3, 1, 2])
    at = ["--bootstrap-server", bootstrap]
    before = {0: 2, 1: 3}
    until(lambda: led_by(bootstrap, topic) == before, "the first leaders")
    # The same replicas in another order: the leader stays, but is no longer the preferred one.
    wanted = {0: [1, 3, 2], 1: [1, 2, 3]}
    file = reassignment_file(tmp_path, topic, wanted)
    tool("kafka-reassign-partitions", *at, "--execute", "--reassignment-json-file", file)
    assert led_by(bootstrap, topic) == before
    one = ["--election-type", "preferred", "--topic", topic, "--partition", "0"]
    assert f"Successfully completed leader election (PREFERRED) for partitions {topic}-0" in tool(
        "kafka-leader-election", *at, *one
    )
    assert "Valid replica already elected" in tool("kafka-leader-election", *at, *one)
    everything = tool("kafka-leader-election", *at, "--election-type", "preferred", "--all-topic-partitions")
    assert f"{topic}-1" in everything
    until(lambda: led_by(bootstrap, topic) == {0: 1, 1: 1}, "the preferred leaders")


@pytest.mark.slow
@pytest.mark.spec("D3")
def test_an_unclean_election_brings_a_partition_back(slow_cluster: ProcessCluster) -> None:
    stays, out_of_sync, last = slow_cluster.brokers
    here = addresses(slow_cluster, stays)
    create(here, "lost", [out_of_sync, last])
    slow_cluster.kill(out_of_sync)
    until(lambda: partition_of(here, "lost").isrs == [last], "an ISR of one")
    slow_cluster.kill(last)
    until(lambda: partition_of(here, "lost").leader == -1, "no leader")
    slow_cluster.start_broker(out_of_sync)
    named = ["--election-type", "unclean", "--topic", "lost", "--partition", "0"]
    until(lambda: len(brokers_known_to(here)) == 2, "the broker that lags")
    assert partition_of(here, "lost").leader == -1
    assert "Successfully completed leader election (UNCLEAN)" in tool(
        "kafka-leader-election", "--bootstrap-server", here, *named
    )
    until(lambda: partition_of(here, "lost").leader == out_of_sync, "the last replica as leader")
    slow_cluster.start_broker(last)


@pytest.mark.slow
@pytest.mark.spec("D3", "F2")
def test_librdkafka_elects_leaders(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    admin = confluent(kafka_bootstrap)
    known, unknown = ConfluentPartition(topic, 0), ConfluentPartition(topic, 7)
    results = admin.elect_leaders(ElectionType.PREFERRED, [known, unknown]).result(30)
    codes = {each.partition: error.code() for each, error in results.items()}
    assert codes == {0: KafkaError.ELECTION_NOT_NEEDED, 7: KafkaError.UNKNOWN_TOPIC_OR_PART}
    assert ConfluentPartition(topic, 0) not in admin.elect_leaders(ElectionType.UNCLEAN).result(30)


@pytest.mark.slow
@pytest.mark.spec("D3", "F2")
def test_kafka_python_moves_lists_and_elects(slow_cluster: ProcessCluster) -> None:
    a, b, idle = idle_last(slow_cluster)
    bootstrap = addresses(slow_cluster, a, b)
    create(bootstrap, "python", [a, b], [b, a])
    first, second, third = (TopicPartition("python", number) for number in range(3))
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    assert admin.alter_partition_reassignments({first: [b, a], second: [a, a], third: [a]}) == {
        first: None,
        second: InvalidReplicationAssignmentError,
        third: UnknownTopicOrPartitionError,
    }
    elected = admin.elect_leaders(0, {"python": [0, 1]})
    codes = {each.partition_id: each.error_code for each in elected.replica_election_results[0].partition_result}
    assert codes == {0: 0, 1: ElectionNotNeededError.errno}
    admin.close()  # it fails at once when the broker it has chosen dies
    begin_without_end(slow_cluster, "python", [idle, a])
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    move = {"replicas": [idle, a, b], "adding_replicas": [idle], "removing_replicas": [b]}
    assert admin.list_partition_reassignments() == {first: move}
    assert admin.alter_partition_reassignments({first: None, second: None}) == {
        first: None,
        second: NoReassignmentInProgressError,
    }
    assert admin.list_partition_reassignments([first]) == {}
    admin.close()
    slow_cluster.start_broker(idle)
