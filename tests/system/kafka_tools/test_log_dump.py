"""Apache Kafka's log dump tool reads our segments, indexes, snapshots and group records; its output is parsed."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from tests.system.clients.test_confluent_kafka import consume, produce, reader
from tests.system.clusters import RoutedCluster
from tests.system.conftest import MakeTopic
from tests.system.console_tools import tool
from tests.system.provision import command, java_class
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = pytest.mark.timeout(240)

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_FIELD = re.compile(r"(\w+): (\S+)")


@dataclass
class Dump:
    """The tool's output for some files: a row per batch, a row per record, and error messages."""

    batches: list[dict[str, str]]
    records: list[dict[str, str]]
    complaints: list[str]
    text: str


def dump(files: list[Path], *arguments: str) -> Dump:
    text = tool("kafka-dump-log", "--files", ",".join(map(str, files)), *arguments)
    lines = text.splitlines()
    return Dump(
        batches=[dict(_FIELD.findall(line)) for line in lines if line.startswith("baseOffset:")],
        records=[dict(_FIELD.findall(line)) for line in lines if line.startswith("| offset:")],
        complaints=[line for line in lines if re.search(r"mismatch|corrupt|[Ee]xception|invalid|Non-cons", line)],
        text=text,
    )


def partition_folder(cluster: RoutedCluster, node_id: int, topic: str, partition: int = 0) -> Path:
    return cluster.brokers[node_id].folder / "data" / f"{topic}-{partition}"


def files_of(folder: Path, suffix: str) -> list[Path]:
    return sorted(folder.glob(f"*{suffix}"))


@pytest.mark.slow
@pytest.mark.spec("D2")
def test_rolled_segments_of_every_codec_are_read(
    cluster: RoutedCluster, kafka_bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(segment_bytes="30000", index_interval_bytes="1000")
    values = [f"{number:06d} " + "abcdefgh" * 12 for number in range(3_000)]
    for index, codec in enumerate(_CODECS):
        settings: dict[str, Any] = {"compression.type": codec, "enable.idempotence": True, "batch.num.messages": 40}
        produce(kafka_bootstrap, topic, values[index::5], **settings)
    produce(kafka_bootstrap, topic, ["no producer id"])
    folders = [partition_folder(cluster, node_id, topic) for node_id in cluster.brokers]

    def replicated() -> bool:
        sizes = [[(file.name, file.stat().st_size) for file in files_of(folder, ".log")] for folder in folders]
        return sizes[0] == sizes[1] == sizes[2]

    until(replicated, "the same segments on every replica")
    logs = files_of(folders[0], ".log")
    assert len(logs) >= 4, "several segments"
    found = dump(logs, "--deep-iteration", "--print-data-log")
    assert found.complaints == []
    assert {batch["compresscodec"] for batch in found.batches} == set(_CODECS)
    assert {batch["isvalid"] for batch in found.batches} == {"true"}
    assert {batch["magic"] for batch in found.batches} == {"2"}
    assert [int(record["offset"]) for record in found.records] == list(range(3_001))
    assert sorted(record["payload"] for record in found.records[:-1]) == [value.split()[0] for value in values]
    assert int(found.batches[-1]["producerId"]) == -1
    producers = {int(batch["producerId"]) for batch in found.batches[:-1]}
    assert len(producers) == 5
    assert min(producers) >= 0
    for producer in producers:
        own = [batch for batch in found.batches if int(batch["producerId"]) == producer]
        following = [0] + [int(batch["lastSequence"]) + 1 for batch in own[:-1]]
        assert [int(batch["baseSequence"]) for batch in own] == following


@pytest.mark.spec("D2")
@pytest.mark.slow
def test_indexes_and_producer_snapshots_are_sane(
    cluster: RoutedCluster, kafka_bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(segment_bytes="30000", index_interval_bytes="1000")
    start = int(time.time() * 1000) - 10_000
    producer = Producer({"bootstrap.servers": kafka_bootstrap, "enable.idempotence": True, "batch.num.messages": 10})
    for number in range(2_000):
        producer.produce(topic, b"x" * 100, timestamp=start + number)
    assert producer.flush(30) == 0
    folder = partition_folder(cluster, 1, topic)
    until(lambda: len(files_of(folder, ".log")) >= 4, "several segments")
    offset_indexes = dump(files_of(folder, ".index")[:-1])
    assert offset_indexes.complaints == []
    entries = re.findall(r"^offset: (\d+) position: (\d+)$", offset_indexes.text, re.MULTILINE)
    assert len(entries) > 50
    time_indexes = dump(files_of(folder, ".timeindex")[:-1])
    assert time_indexes.complaints == []
    assert len(re.findall(r"^timestamp: \d+ offset: \d+$", time_indexes.text, re.MULTILINE)) > 10
    sane = dump([*files_of(folder, ".index")[:-1], *files_of(folder, ".timeindex")[:-1]], "--index-sanity-check")
    assert sane.complaints == []
    assert sane.text.count("passed sanity check") == 2 * (len(files_of(folder, ".index")) - 1)
    snapshots = files_of(folder, ".snapshot")
    assert snapshots
    assert re.search(r"producerId: \d+ producerEpoch: 0 .*lastSequence: \d+", dump(snapshots).text)


@pytest.mark.spec("D2")
@pytest.mark.slow
def test_group_records_are_decoded(cluster: RoutedCluster, kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    group = f"dumped-{topic}"
    produce(kafka_bootstrap, topic, [str(number) for number in range(10)])
    member: Consumer = reader(kafka_bootstrap, group, **{"client.id": "dumped-member"})
    member.subscribe([topic])
    consume(member, 10)
    member.commit(asynchronous=False)
    member.close()
    logs = [
        file
        for partition in range(6)
        for file in files_of(partition_folder(cluster, 1, "__consumer_offsets", partition), ".log")
        if file.stat().st_size
    ]
    found = dump(logs, "--offsets-decoder")
    assert found.complaints == []
    lines = [line for line in found.text.splitlines() if group in line]
    committed = re.compile(rf'"topic":"{re.escape(topic)}","partition":0.*"offset":10')
    assert any(committed.search(line) for line in lines), lines
    assert any('"protocolType":"consumer"' in line and "dumped-member" in line for line in lines), lines
