"""The pipeline's requests to a cluster, against a real one."""

from __future__ import annotations

import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Producer

from signalbox.common.ids import TopicPartition
from signalbox.pipeline.offsets import DataLossError, OffsetMap, OffsetRange, ranges_between, tasks_of
from signalbox.pipeline.topic_client import (
    ARROW_BATCH_BYTES,
    RECORD_SCHEMA,
    TopicClient,
    TopicError,
    new_reader,
    read_ranges,
)
from tests.pipeline.apache_kafka import apache_kafka
from tests.pipeline.topics import Topics, json_values
from tests.system.provision import command, jars

NEEDS = (partial(command, "java"), partial(jars, "kafka44"))


@pytest.fixture
def client(kafka_bootstrap: str) -> TopicClient:
    return TopicClient(kafka_bootstrap, {}, "test")


def test_an_unknown_topic_is_named(client: TopicClient) -> None:
    with pytest.raises(TopicError, match="topic nowhere cannot be read"):
        client.partitions(["nowhere"])


def test_every_record_of_a_range_comes_once_with_all_its_columns(topics: Topics, client: TopicClient) -> None:
    topic = topics.create("columns", partitions=1)
    topics.fill_records(topic, [(b"k", b"v", [("h", b"1"), ("empty", None)]), (None, None, None)])
    begin, end = client.offsets([topic], "earliest"), client.offsets([topic], "latest")
    reader = new_reader(topics.bootstrap, {}, "test")
    (batch,) = read_ranges(reader, ranges_between(begin, end))
    reader.close()
    assert batch.schema == RECORD_SCHEMA
    first, second = batch.to_pylist()
    assert first["headers"] == [{"key": "h", "value": b"1"}, {"key": "empty", "value": None}]
    assert (first["key"], first["value"], first["topic"], first["offset"]) == (b"k", b"v", topic, 0)
    assert (second["key"], second["value"], second["headers"], second["offset"]) == (None, None, None, 1)
    assert first["timestamp"].tzinfo is not None


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_tasks_that_begin_inside_a_batch_read_just_their_range(
    topics: Topics, client: TopicClient, compression: str
) -> None:
    topic = topics.create(compression, partitions=2)
    topics.fill(topic, json_values(0, 1000), **{"compression.type": compression})
    begin, end = client.offsets([topic], "earliest"), client.offsets([topic], "latest")
    reader = new_reader(topics.bootstrap, {}, "test")
    found: list[tuple[int, int]] = []
    for task in tasks_of(ranges_between(begin, end), 3, 1):
        for batch in read_ranges(reader, task, batch_records=100):
            found += zip(batch.column("partition").to_pylist(), batch.column("offset").to_pylist())
    reader.close()
    wanted = [(tp.partition, offset) for tp, last in sorted(end.next_offsets.items()) for offset in range(last)]
    assert sorted(found) == sorted(wanted)
    assert all(a < b for a, b in pairwise(found) if a[0] == b[0])


def test_a_batch_of_large_records_ends_by_its_bytes(topics: Topics, client: TopicClient) -> None:
    topic = topics.create("large", partitions=1)
    plain, with_header, no_bytes = (b"k", b"v" * 99, None), (None, b"v" * 50, [("h", b"h" * 149)]), (None, None, None)
    topics.fill_records(topic, [*[plain] * 7, with_header, with_header, no_bytes])
    ranges = ranges_between(client.offsets([topic], "earliest"), client.offsets([topic], "latest"))
    reader = new_reader(topics.bootstrap, {}, "test")
    batches = [batch.column("offset").to_pylist() for batch in read_ranges(reader, ranges, batch_bytes=250)]
    (complete,) = read_ranges(reader, ranges)
    reader.close()
    assert batches == [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]
    assert complete.column("offset").to_pylist() == [*range(10)]
    assert ARROW_BATCH_BYTES < 2**30  # with a record of up to 1 GiB the column stays below Arrow's 2 GiB


@pytest.mark.system
def test_holes_at_the_end_of_a_range_do_not_stop_it(tmp_path: Path) -> None:
    """Aborted records and control batches, which only Apache Kafka writes here: the pipeline must be able to read such
    a log."""
    with apache_kafka(tmp_path) as bootstrap:
        client = TopicClient(bootstrap, {}, "test")
        topic = Topics(bootstrap).create("transactions", partitions=1)
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
        producer.init_transactions(30)
        for commit in (True, False, True):
            producer.begin_transaction()
            for value in json_values(0, 5):
                producer.produce(topic, value=value)
            producer.flush(30)
            if commit:
                producer.commit_transaction(30)
            else:
                producer.abort_transaction(30)
        # The last marker is written after the response to the commit; until then the last stable offset is behind it.
        deadline = time.monotonic() + 30
        while (end := client.offsets([topic], "latest").next_offsets[TopicPartition(topic, 0)]) != 18:
            assert time.monotonic() < deadline, f"the last stable offset stays at {end}"
        reader = new_reader(bootstrap, {}, "test")
        offsets = [
            offset
            for task in ([OffsetRange(topic, 0, 0, 9)], [OffsetRange(topic, 0, 9, 18)])
            for batch in read_ranges(reader, task)
            for offset in batch.column("offset").to_pylist()
        ]
        reader.close()
    assert offsets == [*range(5), *range(12, 17)]


def test_deleted_records_are_an_error_and_are_not_skipped(topics: Topics) -> None:
    topic = topics.create("gone", partitions=1)
    topics.fill(topic, json_values(0, 3))
    reader = new_reader(topics.bootstrap, {}, "test")
    with pytest.raises(DataLossError, match=rf"{topic}-0 .* gone: .*partition 0, offsets 1000 to 1009\)"):
        list(read_ranges(reader, [OffsetRange(topic, 0, 1000, 1010)]))
    reader.close()


def test_a_range_that_never_fills_ends_with_a_timeout(topics: Topics) -> None:
    topic = topics.create("stall", partitions=1)
    topics.fill(topic, json_values(0, 3))
    reader = new_reader(topics.bootstrap, {"enable.partition.eof": "false"}, "test")
    with pytest.raises(TimeoutError, match="no record of"):
        list(read_ranges(reader, [OffsetRange(topic, 0, 0, 9)], stall_timeout_seconds=0.5))
    reader.close()


def test_topic_ids_tell_a_recreated_topic(topics: Topics, client: TopicClient) -> None:
    topic = topics.create("again", partitions=1)
    first: OffsetMap = client.offsets([topic], "latest")
    topics.delete(topic)
    topics.create_named(topic, partitions=1)
    assert client.offsets([topic], "latest").topic_ids[topic] != first.topic_ids[topic]
    assert client.topic_id(topic) != first.topic_ids[topic]


@pytest.mark.spec("P7")
def test_a_time_is_the_first_record_that_is_not_older_or_the_end(topics: Topics, client: TopicClient) -> None:
    topic = topics.create("times", partitions=2)
    topics.fill_records(topic, [(None, value, None) for value in json_values(0, 20)])
    ends = client.offsets([topic], "latest").next_offsets
    assert client.offsets([topic], 0).next_offsets == client.offsets([topic], "earliest").next_offsets
    assert client.offsets([topic], int(time.time() * 1000) + 60_000).next_offsets == ends
