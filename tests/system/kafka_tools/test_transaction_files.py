"""Transaction indexes and producer snapshots: ours are Apache Kafka's to the byte, and its dump tool reads ours."""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from signalbox.storage.last_run import LastRun
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_loader import load_body
from tests.pipeline.apache_kafka import apache_kafka
from tests.storage.workbench import TOPIC_ID, TP, append_marker, append_transactional, new_log, open_directory
from tests.system.console_tools import tool
from tests.system.provision import command, java_class

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = [pytest.mark.timeout(240), pytest.mark.slow, pytest.mark.spec("D2"), pytest.mark.spec("D5")]

_SNAPSHOT_HEAD_BYTES, _SNAPSHOT_ENTRY_BYTES = 10, 46


def entries_of_snapshot(data: bytes) -> list[bytes]:
    """The entries, sorted: Kafka writes them in the order of a hash table."""
    body = data[_SNAPSHOT_HEAD_BYTES:]
    return sorted(body[at : at + _SNAPSHOT_ENTRY_BYTES] for at in range(0, len(body), _SNAPSHOT_ENTRY_BYTES))


def write_transactions(bootstrap: str) -> None:
    """Eight producers whose transactions overlap; every third one aborts, two stay open. Several segments."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topic = NewTopic(TP.topic, 1, 1, config={"segment.bytes": "1048576"})
    admin.create_topics([topic])[TP.topic].result(30)
    producers = []
    for number in range(8):
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"writer-{number}", "linger.ms": 0})
        producer.init_transactions(30)
        producers.append(producer)
    for index in range(6):
        for number, producer in enumerate(producers):
            producer.begin_transaction()
            for _ in range(3):
                producer.produce(TP.topic, bytes([number]) * 40_000)
            producer.flush(30)
        for number, producer in enumerate(producers):
            if index == 5 and number >= 6:
                continue
            end = producer.abort_transaction if (index + number) % 3 == 0 else producer.commit_transaction
            end(30)


def test_recovery_writes_what_apache_kafka_has_written(tmp_path: Path) -> None:
    with apache_kafka(tmp_path / "kafka") as bootstrap:
        write_transactions(bootstrap)
    kafka = tmp_path / "kafka" / "logs" / str(TP)
    ours = tmp_path / "ours" / str(TP)
    shutil.copytree(kafka, ours)
    for file in (*ours.glob("*.txnindex"), *ours.glob("*.snapshot")):
        file.unlink()
    directory = open_directory(tmp_path / "ours")
    body, end_offset = load_body(str(ours), directory, LogConfig(segment_bytes=1_048_576), LastRun())
    log = Log(TP, TOPIC_ID, body, end_offset)
    log.high_watermark = end_offset
    assert log.last_stable_offset < end_offset
    log.close()
    indexes = sorted(file.name for file in kafka.glob("*.txnindex") if file.stat().st_size)
    assert len(indexes) >= 3
    assert sorted(file.name for file in ours.glob("*.txnindex")) == indexes
    for name in indexes:
        assert (ours / name).read_bytes() == (kafka / name).read_bytes()
    snapshots = sorted(ours.glob("*.snapshot"))
    for snapshot in snapshots:  # of the segment from which the log was read on, and of the clean shutdown
        theirs = (kafka / snapshot.name).read_bytes()
        assert entries_of_snapshot(snapshot.read_bytes()) == entries_of_snapshot(theirs)
    assert snapshots
    assert len(entries_of_snapshot(theirs)) == 8
    assert sum(entry[-8:] != b"\xff" * 8 for entry in entries_of_snapshot(theirs)) == 2, "open transactions"


def test_kafkas_dump_tool_reads_our_files(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append_transactional(log, 5, epoch=2)
    append_transactional(log, 6)
    append_marker(log, 5, is_commit=False, epoch=2, coordinator_epoch=3)
    append_transactional(log, 7)
    append_marker(log, 6, is_commit=True, coordinator_epoch=4)
    log.close()
    folder = Path(log.body.folder)
    files = [*folder.glob("*.txnindex"), *folder.glob("*.snapshot"), *folder.glob("*.log")]
    text = tool("kafka-dump-log", "--files", ",".join(map(str, files)), "--deep-iteration")
    assert re.search(r"version: 0 producerId: 5 firstOffset: 0 lastOffset: 2 lastStableOffset: 1", text), text
    ended, is_open = (r"OptionalLong.empty", r"OptionalLong\[3\]")
    assert re.search(rf"producerId: 5 producerEpoch: 2 coordinatorEpoch: 3 currentTxnFirstOffset: {ended}", text), text
    assert re.search(rf"producerId: 7 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: {is_open}", text)
    assert re.search(r"endTxnMarker: ABORT coordinatorEpoch: 3", text), text
    assert re.search(r"endTxnMarker: COMMIT coordinatorEpoch: 4", text)
