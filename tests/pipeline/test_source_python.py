"""The pipeline's own data source: planning against a real cluster, without Spark."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from signalbox.pipeline.offsets import DataLossError
from signalbox.pipeline.options import RunOptions
from signalbox.pipeline.source_python import RangesPartition, TopicDataSource, TopicStreamReader, source_options
from tests.pipeline.topics import Topics, json_values


def reader(topics: Topics, topic: str, begin: dict[str, int]) -> TopicStreamReader:
    asked = RunOptions(bootstrap_servers=topics.bootstrap, warehouse=Path("w"), max_records_per_batch=4)
    return TopicStreamReader(source_options(asked, begin or {f"{topic}:0": 0}, "test", parallelism=2))


@pytest.mark.spec("P9")
def test_batches_are_limited_frozen_and_read_once(topics: Topics) -> None:
    topic = topics.create("planned", partitions=1)
    topics.fill(topic, json_values(0, 10))
    source = reader(topics, topic, {f"{topic}:0": 2})
    start = source.initialOffset()
    assert start[f"{topic}:0"] == 2
    assert isinstance(start[topic], str)
    source.prepareForTriggerAvailableNow()
    topics.fill(topic, json_values(10, 15))
    limit = source.getDefaultReadLimit()
    assert limit == ReadMaxRows(4)
    seen: list[int] = []
    ends: list[int] = []
    while (end := source.latestOffset(start, limit)) != start:
        for partition in source.partitions(start, end):
            again = pickle.loads(pickle.dumps(source))
            for batch in again.read(pickle.loads(pickle.dumps(partition))):
                seen += batch.column("offset").to_pylist()
        start = end
        ends.append(end[f"{topic}:0"])
    assert ends == [6, 10]
    assert seen == list(range(2, 10))
    assert source.partitions(start, start) == []
    assert source.latestOffset(start, ReadAllAvailable()) == start
    assert source.reportLatestOffset() == {**start, f"{topic}:0": 15}


def test_without_a_freeze_the_end_is_the_logs(topics: Topics) -> None:
    topic = topics.create("live", partitions=1)
    topics.fill(topic, json_values(0, 10))
    source = reader(topics, topic, {})
    start = source.initialOffset()
    end = source.latestOffset(start, ReadAllAvailable())
    (partition,) = source.partitions(start, end)
    assert isinstance(partition, RangesPartition)
    assert end[f"{topic}:0"] == sum(part.count for part in partition.ranges) == 10


@pytest.mark.spec("P9")
def test_a_log_that_went_back_is_data_loss(topics: Topics) -> None:
    topic = topics.create("back", partitions=1)
    source = reader(topics, topic, {})
    start = {**source.initialOffset(), f"{topic}:0": 5}
    with pytest.raises(DataLossError, match="ends at offset 0 but was read up to 5"):
        source.latestOffset(start, ReadMaxRows(4))


def test_spark_knows_it_by_name_and_columns() -> None:
    source = TopicDataSource({})
    assert source.name() == "signalbox_kafka"
    assert source.schema().startswith("key BINARY, value BINARY, topic STRING")
