"""Spark's own Kafka connector against Signalbox brokers: batch, stream, timestamps, split partitions, sink.

It uses more of a broker than the pipeline does: offsets by timestamp, fetches that begin inside a batch, topic
patterns, an idempotent producer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from signalbox.pipeline.spark.jars import fetch_jars
from signalbox.pipeline.spark.session import SessionSettings, build_session, end_session
from tests.pipeline.topics import Topics, json_values

pytestmark = pytest.mark.timeout(300)
RECORDS = 1_000


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    scratch = tmp_path_factory.mktemp("spark")
    settings = SessionSettings(
        app_name="connector", master="local[2]", memory="512m", quick=True, jars=fetch_jars(), scratch_directory=scratch
    )
    session = build_session(settings)
    yield session
    end_session(session)


@pytest.fixture(scope="module")
def topic(topics: Topics) -> str:
    name = topics.create("connector", partitions=3)
    topics.fill(name, json_values(0, RECORDS), **{"compression.type": "zstd"})
    return name


def read(spark: SparkSession, topics: Topics, **options: Any) -> DataFrame:
    asked = {"kafka.bootstrap.servers": topics.bootstrap, "startingOffsets": "earliest", **options}
    return spark.read.format("kafka").options(**asked).load()


def numbers(frame: DataFrame) -> list[int]:
    rows = frame.select(F.get_json_object(F.col("value").cast("string"), "$.n").cast("int").alias("n")).collect()
    return sorted(row.n for row in rows)


@pytest.mark.spec("P9")
def test_a_batch_read_has_every_record_once(spark: SparkSession, topics: Topics, topic: str) -> None:
    frame = read(spark, topics, subscribe=topic)
    assert numbers(frame) == list(range(RECORDS))
    assert {row.timestampType for row in frame.select("timestampType").distinct().collect()} == {0}


def test_split_partitions_begin_inside_batches(spark: SparkSession, topics: Topics, topic: str) -> None:
    frame = read(spark, topics, subscribe=topic, minPartitions="11")
    assert frame.rdd.getNumPartitions() >= 11
    assert numbers(frame) == list(range(RECORDS))


@pytest.mark.spec("P9")
def test_times_are_looked_up(spark: SparkSession, topics: Topics) -> None:
    topic = topics.create("times", partitions=1)
    topics.fill(topic, json_values(0, 10))
    time.sleep(0.01)
    middle_ms = int(time.time() * 1000)
    topics.fill(topic, json_values(10, 20))
    later = read(spark, topics, subscribe=topic, startingTimestamp=str(middle_ms))
    earlier = read(spark, topics, subscribe=topic, endingTimestamp=str(middle_ms))
    assert numbers(later) == list(range(10, 20))
    assert numbers(earlier) == list(range(10))


@pytest.mark.spec("P9")
def test_headers_and_nulls_arrive(spark: SparkSession, topics: Topics) -> None:
    topic = topics.create("headers", partitions=1)
    topics.fill_records(topic, [(b"k", b"v", [("h", b"\x01"), ("n", None)]), (None, None, None)])
    rows = read(spark, topics, subscribe=topic, includeHeaders="true").orderBy("offset").collect()
    assert [(header.key, header.value) for header in rows[0].headers] == [("h", b"\x01"), ("n", None)]
    assert (rows[1].key, rows[1].value, rows[1].headers) == (None, None, None)


@pytest.mark.spec("P9")
def test_a_pattern_finds_topics_and_the_sink_fills_one(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create("sink-in", partitions=2), topics.create("sink-out", partitions=2)
    topics.fill(source, json_values(0, 100))
    stream = spark.readStream.format("kafka").options(
        **{
            "kafka.bootstrap.servers": topics.bootstrap,
            "subscribePattern": "sink-in-.*",
            "startingOffsets": "earliest",
        },
        maxOffsetsPerTrigger="30",
    )
    query = (
        stream.load()
        .select("key", "value", F.lit(target).alias("topic"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", topics.bootstrap)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert len(query.recentProgress) >= 4
    assert numbers(read(spark, topics, subscribe=target)) == list(range(100))
