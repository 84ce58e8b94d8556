"""Topics whose entries in the metadata store another program has corrupted, on both stores: a controller is elected,
everything else works, nothing of these topics is lost, and they are available again when the entries are repaired."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kazoo.client import KazooClient
from tools.chaos.state_reader import StateReader, state_in_file, state_in_zookeeper

from signalbox.metadata.entries.json_text import decode_json, encode_json
from signalbox.metadata.layout import CONTROLLER, CONTROLLER_EPOCH, FEATURE, partition_state_path, topic_path
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tests.controller.test_corrupt_store import KINDS, Bad, write_corrupt_entry
from tests.system import provision
from tests.system.clusters import BROKERS, QUICK, controller_id, metric
from tests.system.controller.test_corrupt_entries import next_controller
from tests.system.wire import dial
from tests.waiting import until

pytestmark = [pytest.mark.timeout(300), pytest.mark.spec("M3")]

TOPICS = ("whole", "part", "well")
ON_EACH = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
RECORDS = 20  # in each partition
COMMITTED = 7
WHOLE, PART = topic_path("whole"), partition_state_path("part", 1)
GARBAGE = b'{"version":3,"partitions":'
KINDS_IN_QUARANTINE = ("/brokers/topics/", "/config/", "/delegation_token/", "/kafka-acl", "/latest_producer_id_block")


@dataclass
class Stored:
    """A cluster and its store. `write` changes an entry as an operator does it by hand, `corrupt` as any program
    might."""

    cluster: ProcessCluster
    state: StateReader
    write: Callable[[str, bytes], object]
    corrupt: Callable[[Bad], None]

    def data(self, path: str) -> bytes:
        entry = self.state.entry(path)
        assert entry is not None
        assert entry.data is not None
        return entry.data


@pytest.fixture(params=["sqlite", "zookeeper"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stored]:
    over = {**QUICK, "signalbox.audit.enable": "false"}
    if request.param == "sqlite":
        file = tmp_path / "metadata.db"
        with ProcessCluster(tmp_path, len(BROKERS), overrides=over) as cluster, state_in_file(file) as state:
            yield Stored(cluster, state, partial(update, file), partial(corrupt_in_file, file))
        return
    provision.zookeeper()
    with ensemble(tmp_path / "zookeeper") as (server,):
        connect = f"{server.address}/corrupt"
        over["signalbox.metadata.store"] = f"zookeeper:{connect}"
        with ProcessCluster(tmp_path, len(BROKERS), overrides=over) as cluster, state_in_zookeeper(connect) as state:
            zookeeper = KazooClient(connect)
            zookeeper.start()
            yield Stored(cluster, state, zookeeper.set, partial(corrupt_in_zookeeper, zookeeper))
            zookeeper.stop()
            zookeeper.close()


def update(file: Path, path: str, data: bytes) -> None:
    """The statement of docs/metadata-store.md."""
    with closing(sqlite3.connect(file, isolation_level=None, timeout=30)) as database:
        changed = database.execute(
            "UPDATE entry SET data = ?, version = version + 1 WHERE path = ?", (data.decode(), path)
        )
        assert changed.rowcount == 1


def corrupt_in_file(file: Path, bad: Bad) -> None:
    async def write() -> None:
        store = SqliteMetadataStore(file)
        await write_corrupt_entry(store, bad)
        await store.close()

    asyncio.run(write())


def corrupt_in_zookeeper(zookeeper: KazooClient, bad: Bad) -> None:
    zookeeper.ensure_path(bad.path)
    zookeeper.set(bad.path, bad.data or b"")


def test_after_a_controller_failover_other_topics_work_beside_corrupt_ones(stored: Stored) -> None:
    """The running brokers know the leaders: they keep serving."""
    cluster = stored.cluster
    fill(stored)
    topic_entry, state_entry = stored.data(WHOLE), stored.data(PART)
    logs = sizes(cluster)
    for path in (WHOLE, PART, CONTROLLER_EPOCH):
        stored.write(path, GARBAGE)
    killed = next_controller(cluster)
    expect_the_rest_to_work(stored)
    for index, (leader, *_) in enumerate(ON_EACH):
        if leader != killed:
            produce(cluster, "whole", index, 1, acks="1")
    cluster.start_broker(killed)
    until(partial(is_only_named, cluster, killed), "a name at least")
    until(partial(lacks_one_leader, cluster, killed), "leaders of the others")
    expect_nothing_lost(stored, logs)

    stored.write(WHOLE, topic_entry)
    stored.write(PART, with_next_epoch(state_entry))
    expect_all_to_be_back(stored, more=sum(leader != killed for leader, *_ in ON_EACH))


def test_a_cluster_that_starts_with_corrupt_topics_has_a_controller(stored: Stored) -> None:
    """No broker knows anything about these topics except what is in its log directory."""
    cluster = stored.cluster
    fill(stored)
    topic_entry, state_entry = stored.data(WHOLE), stored.data(PART)
    cluster.stop(graceful=False)
    logs = sizes(cluster)
    for path in (WHOLE, PART):
        stored.write(path, GARBAGE)
    cluster.start()
    expect_the_rest_to_work(stored)
    for node_id in BROKERS:
        until(partial(is_only_named, cluster, node_id), "a name at least")
        until(partial(lacks_one_leader, cluster, node_id), "leaders of the others")
    expect_nothing_lost(stored, logs)

    stored.write(PART, with_next_epoch(state_entry))
    stored.write(WHOLE, GARBAGE + b"{")  # still corrupt
    until(lambda: unreadable(cluster) == 1, "one to be mended")
    stored.write(WHOLE, topic_entry)
    expect_all_to_be_back(stored)


def test_a_cluster_starts_on_a_store_with_every_kind_of_corrupt_entry(stored: Stored) -> None:
    """Every kind of entry except /feature, which no release could support: the broker rejects it at start and names
    it."""
    cluster = stored.cluster
    asking = admin(cluster)
    assert made(asking, "hurt")
    assert made(asking, "well")
    cluster.stop(graceful=False)
    kinds = [bad for bad in KINDS if bad.path != FEATURE]
    for bad in kinds:
        stored.corrupt(bad)
    cluster.start()
    quarantined = {bad.path for bad in kinds if bad.logged and bad.path.startswith(KINDS_IN_QUARANTINE)}
    until(lambda: unreadable(cluster) == len(quarantined), "a controller that knows what it cannot read")
    asking = admin(cluster)
    until(partial(made, asking, "more"), "a new topic")
    produce(cluster, "well", 0, 1)
    logs = "".join(broker.log_file.read_text() for broker in cluster.brokers.values())
    assert [bad.path for bad in kinds if bad.logged and bad.path != CONTROLLER and bad.path not in logs] == []
    assert "Traceback" not in logs
    assert all(broker.running for broker in cluster.brokers.values())


def is_only_named(cluster: ProcessCluster, node_id: int) -> bool:
    return metadata_errors(cluster, node_id, "whole") == [Error.LEADER_NOT_AVAILABLE]


def lacks_one_leader(cluster: ProcessCluster, node_id: int) -> bool:
    return metadata_errors(cluster, node_id, "part") == [Error.NONE, Error.LEADER_NOT_AVAILABLE, Error.NONE]


def fill(stored: Stored) -> None:
    """Records in every partition, and committed offsets of a group."""
    asking = admin(stored.cluster)
    for future in asking.create_topics(
        [NewTopic(name, len(ON_EACH), replica_assignment=ON_EACH) for name in TOPICS]
    ).values():
        future.result(30)
    for name in TOPICS:
        for index in range(len(ON_EACH)):
            produce(stored.cluster, name, index, RECORDS)
    with closing(consumer(stored.cluster)) as reading:
        places = [TopicPartition(name, index, COMMITTED) for name in TOPICS for index in range(len(ON_EACH))]
        reading.commit(offsets=places, asynchronous=False)
    until(lambda: not stored.state.what_is_missing(len(BROKERS)), "a healthy cluster")


def expect_the_rest_to_work(stored: Stored) -> None:
    """A controller is elected, logs the corrupt entries, works, and rejects changes of the quarantined topics."""
    cluster = stored.cluster
    until(lambda: unreadable(cluster) == 2, "a controller that knows what it cannot read")
    log = cluster.brokers[controller_id(cluster)].log_file.read_text()
    assert re.search(f"topic whole is quarantined, .*: {WHOLE} holds no JSON", log)
    assert re.search(rf"partitions \[1\] of topic part are quarantined .*: {PART} holds no JSON", log)
    assert "Traceback" not in log
    asking = admin(cluster)
    until(partial(made, asking, "made-meanwhile"), "a new topic")
    produce(cluster, "well", 0, 1)
    error = rejection(asking.create_topics([NewTopic("whole", 1, 1)])["whole"].result)
    assert error.code() == KafkaError.TOPIC_ALREADY_EXISTS
    assert WHOLE in error.str()
    for name in ("whole", "part"):
        error = rejection(asking.delete_topics([name])[name].result)
        assert error.code() == KafkaError.UNKNOWN


def expect_nothing_lost(stored: Stored, logs: dict[str, int]) -> None:
    """The corrupt entries are unchanged; logs and committed offsets are as they were before."""
    assert stored.data(WHOLE) == stored.data(PART) == GARBAGE
    now = sizes(stored.cluster)
    assert {name: size for name, size in logs.items() if now.get(name, -1) < size} == {}
    with closing(consumer(stored.cluster)) as reading:
        places = [TopicPartition(name, index) for name in TOPICS for index in range(len(ON_EACH))]
        until(partial(all_committed, reading, places), "what the group had read")


def all_committed(reading: Consumer, places: list[TopicPartition]) -> bool:
    """False while the coordinator is not available yet."""
    try:
        found = reading.committed(places, timeout=10)
    except KafkaException:
        return False
    assert [each.offset for each in found] == [COMMITTED] * len(places)
    return True


def expect_all_to_be_back(stored: Stored, more: int = 0) -> None:
    """Without a restart: each partition has a leader, is in sync, is readable from the first record on, and can be
    deleted."""
    cluster = stored.cluster
    until(lambda: controller_id(cluster) != -1 and unreadable(cluster) == 0, "everything to be mended")
    until(lambda: not stored.state.what_is_missing(len(BROKERS)), "a healthy cluster")
    for index in range(len(ON_EACH)):
        produce(cluster, "whole", index, 1)
    produce(cluster, "part", 1, 1)
    assert count(cluster, "whole") == len(ON_EACH) * (RECORDS + 1) + more
    assert count(cluster, "part") == len(ON_EACH) * RECORDS + 1
    asking = admin(cluster)
    asking.delete_topics(["whole"])["whole"].result(30)
    until(lambda: not any("/whole-" in name and "delete" not in name for name in sizes(cluster)), "logs to go")


def with_next_epoch(state: bytes) -> bytes:
    """The repaired state has a leader epoch that no broker has seen: brokers would ignore a state that they already
    know."""
    held = decode_json(state, PART)
    return encode_json({**held, "leader": -1, "leader_epoch": held["leader_epoch"] + 1})


def unreadable(cluster: ProcessCluster) -> float:
    controller = controller_id(cluster)
    name = "signalbox_controller_metadatastore_corruptentrycount"
    return -1 if controller == -1 else metric(cluster, controller, name)


def sizes(cluster: ProcessCluster) -> dict[str, int]:
    """Size in bytes of each segment of the test's topics, by node, partition and file. Brokers rename and remove
    folders meanwhile."""
    found: dict[str, int] = {}
    for node_id, broker in cluster.brokers.items():
        for folder, _, names in os.walk(broker.folder / "data"):  # skips a folder that was just removed
            partition = os.path.basename(folder)
            if partition.rpartition("-")[0] not in TOPICS:
                continue
            for name in (name for name in names if name.endswith(".log")):
                with suppress(FileNotFoundError):
                    found[f"{node_id}/{partition}/{name}"] = os.stat(os.path.join(folder, name)).st_size
    return found


def admin(cluster: ProcessCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})


def consumer(cluster: ProcessCluster) -> Consumer:
    settings = {"bootstrap.servers": cluster.bootstrap(), "group.id": "g", "log_level": 2}
    return Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})


def produce(cluster: ProcessCluster, topic: str, index: int, records: int, acks: str = "all") -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap(), "acks": acks, "log_level": 2})
    failed: list[KafkaError] = []
    for number in range(records):
        producer.produce(
            topic, f"{number}", partition=index, on_delivery=lambda error, _: failed.append(error) if error else None
        )
    assert producer.flush(60) == 0
    assert failed == []


def count(cluster: ProcessCluster, topic: str) -> int:
    """The number of records from the first to the last of every partition, read one by one."""
    with closing(consumer(cluster)) as reading:
        places = [TopicPartition(topic, index, 0) for index in range(len(ON_EACH))]
        ends = sum(reading.get_watermark_offsets(each, timeout=30)[1] for each in places)
        reading.assign(places)
        found = 0
        while found < ends:
            message = reading.poll(30)
            assert message is not None
            assert message.error() is None
            found += 1
        return found


def metadata_errors(cluster: ProcessCluster, node_id: int, topic: str) -> list[Error]:
    """The errors of a topic in one broker's Metadata response: the topic's error alone, or that of each partition."""
    asked = MetadataRequest.MetadataRequestTopic(name=topic)
    with dial(cluster, node_id) as wire:
        answer = wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[asked], allow_auto_topic_creation=False))
    [response] = answer.topics
    if response.error_code:
        return [Error.of(response.error_code)]
    return [Error.of(each.error_code) for each in sorted(response.partitions, key=lambda each: each.partition_index)]


def made(asking: AdminClient, topic: str) -> bool:
    try:
        asking.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    except KafkaException as error:
        return bool(error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS)
    return True


def rejection(result: Callable[[float], object]) -> KafkaError:
    with pytest.raises(KafkaException) as caught:
        result(30)
    error: KafkaError = caught.value.args[0]
    return error
