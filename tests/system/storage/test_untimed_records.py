"""Records without a timestamp (-1) in a real broker: retention takes the age of their segment's file, searches by time
pass them over (SPEC D7)."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.wire import Wire, dial
from tests.waiting import until

pytestmark = [pytest.mark.timeout(300), pytest.mark.spec("D7")]

DAY_MS = 24 * 60 * 60 * 1_000
EARLIEST, LATEST, LARGEST = -2, -1, -3
SETTINGS = {
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "100",
    "log.segment.delete.delay.ms": "0",
}


def produce(wire: Wire, topic: str, timestamp: int) -> None:
    """One record, acknowledged by all replicas."""
    data = ProduceRequest.PartitionProduceData(
        index=0, records=encode_batch([Record(value=b"v")], timestamp_ms=timestamp)
    )
    rows = [ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
    response = wire.ask(ApiKey.PRODUCE, 9, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=rows))
    assert response.responses[0].partition_responses[0].error_code == Error.NONE


def offset(wire: Wire, topic: str, timestamp: int) -> tuple[int, int]:
    """Offset and timestamp of ListOffsets."""
    row = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topics = [ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[row])]
    response = wire.ask(ApiKey.LIST_OFFSETS, 7, ListOffsetsRequest(replica_id=-1, topics=topics))
    partition = response.topics[0].partitions[0]
    return partition.offset, partition.timestamp


def await_retention(wire: Wire) -> None:
    """Two checks that begin from now on: each deletes records of another topic that are too old."""
    for _ in range(2):
        end, _ = offset(wire, "expired", LATEST)
        produce(wire, "expired", time.time_ns() // 1_000_000 - 8 * DAY_MS)
        until(lambda end=end: offset(wire, "expired", EARLIEST)[0] > end, "a retention check")  # type: ignore[misc]


def test_acknowledged_records_without_a_timestamp_stay_for_the_retention_time(tmp_path: Path) -> None:
    with ProcessCluster(tmp_path, 1, overrides=SETTINGS) as cluster, dial(cluster) as wire:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
        topics = [NewTopic(name, 1, 1) for name in ("untimed", "expired")]
        for created in admin.create_topics(topics, operation_timeout=60).values():
            created.result(60)
        until(lambda: offset(wire, "expired", LATEST)[0] >= 0 and offset(wire, "untimed", LATEST)[0] >= 0, "leaders")
        for _ in range(2):
            produce(wire, "untimed", -1)
        await_retention(wire)
        assert offset(wire, "untimed", EARLIEST)[0] == 0
        assert (offset(wire, "untimed", 0), offset(wire, "untimed", LARGEST)) == ((-1, -1), (0, -1))
        cluster.kill(1)
        cluster.start_broker(1)
        with dial(cluster) as again:
            until(lambda: offset(again, "untimed", LATEST)[0] == 2, "a leader")
            await_retention(again)
            assert offset(again, "untimed", EARLIEST)[0] == 0
            [log] = (cluster.brokers[1].folder / "data" / "untimed-0").glob("*.log")
            past_s = time.time() - 8 * DAY_MS / 1_000
            os.utime(log, (past_s, past_s))
            until(lambda: offset(again, "untimed", EARLIEST)[0] == 2, "the end of the retention time")
