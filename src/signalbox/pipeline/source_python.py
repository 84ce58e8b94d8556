"""Profile `pypi`: the stream of a topic through our own Python data source, without jars.

The planner (one long-lived Python process beside the driver) returns the stream's position and the end of the next
batch; tasks read ranges as Arrow batches. Offsets go into the checkpoint as the JSON of `offsets.py`. Semantics
are those of Spark's connector with `failOnDataLoss=true`, plus the topic id: a recreated topic is detected.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from signalbox.pipeline.checkpoint_files import nested_offsets
from signalbox.pipeline.client.librdkafka_settings import librdkafka_settings
from signalbox.pipeline.offsets import (
    OffsetMap,
    OffsetRange,
    capped,
    limited,
    ranges_between,
    reject_loss,
    tasks_of,
)
from signalbox.pipeline.options import RunOptions
from signalbox.pipeline.source_jars import RECORD_COLUMNS
from signalbox.pipeline.topic_client import TopicClient, new_reader, read_ranges

SOURCE_NAME = "signalbox_kafka"
MIN_TASK_RECORDS = 20_000  # in a smaller task the fixed cost is larger than the work

RECORD_DDL = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)

# A worker process runs one task after another: it keeps its connections between the tasks of one stream.
_readers: dict[tuple[int, str], Consumer] = {}


def _kept_reader(options: Mapping[str, str]) -> Consumer:
    key = (os.getpid(), json.dumps(dict(options), sort_keys=True))
    if key not in _readers:
        while _readers:
            _readers.popitem()[1].close()
        client = json.loads(options["client_options"])
        _readers[key] = new_reader(options["bootstrap_servers"], client, options["client_id"])
    return _readers[key]


@dataclass
class RangesPartition(InputPartition):
    """One task: ranges that a worker reads with one client."""

    ranges: list[OffsetRange]

    def __init__(self, ranges: list[OffsetRange]) -> None:
        super().__init__(None)
        self.ranges = ranges


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches of a topic and reads them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)
        self._begin: dict[str, int] = json.loads(self._options["begin"])
        self._topics = sorted(nested_offsets(self._begin))
        self._target: OffsetMap | None = None
        self._client: TopicClient | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None}

    def _ask(self) -> TopicClient:
        if self._client is None:
            client = json.loads(self._options["client_options"])
            self._client = TopicClient(self._options["bootstrap_servers"], client, self._options["client_id"])
        return self._client

    def _latest(self) -> OffsetMap:
        return self._ask().offsets(self._topics, "latest")

    def initialOffset(self) -> dict[str, Any]:
        """The offsets at which a stream without a checkpoint begins."""
        topic_ids, _ = self._ask().partitions(self._topics)
        return {**topic_ids, **self._begin}

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit of records per batch."""
        return ReadMaxRows(int(self._options["max_records_per_batch"]))

    def prepareForTriggerAvailableNow(self) -> None:
        """Fixes the end of the run at the current end of the topic."""
        self._target = self._latest()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The end of the batch after `start`. Raises DataLossError if the log's end went back."""
        start_offsets = OffsetMap.from_json(start)
        latest = self._latest()
        reject_loss(start_offsets, latest)
        if self._target is not None:
            latest = capped(latest, self._target)
        # `limit` may differ from ours: with availableNow Spark asks for all records.
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return limited(start_offsets, latest, rows).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """The end of the log, for the query's progress."""
        return self._latest().to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of a batch."""
        ranges = ranges_between(OffsetMap.from_json(start), OffsetMap.from_json(end))
        parallelism = int(self._options["parallelism"])
        return [RangesPartition(task) for task in tasks_of(ranges, parallelism, MIN_TASK_RECORDS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one task, as Arrow."""
        assert isinstance(partition, RangesPartition)
        return read_ranges(_kept_reader(self._options), partition.ranges)


class TopicRangeReader(DataSourceReader):
    """Reads from `begin` to `end`."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks."""
        start, end = (OffsetMap.from_json(json.loads(self._options[name])) for name in ("begin", "end"))
        tasks = tasks_of(ranges_between(start, end), int(self._options["parallelism"]), MIN_TASK_RECORDS)
        return [RangesPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one task, as Arrow."""
        assert isinstance(partition, RangesPartition)
        return read_ranges(_kept_reader(self._options), partition.ranges)


class TopicDataSource(DataSource):
    """The data source that Spark registers: `format("signalbox_kafka")`."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return SOURCE_NAME

    def schema(self) -> str:
        """The columns of a Kafka record, as Spark's own connector has them."""
        return RECORD_DDL

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of a range."""
        return TopicRangeReader(self.options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """The reader of a stream."""
        return TopicStreamReader(self.options)


def source_options(options: RunOptions, begin: Mapping[str, int], client_id: str, parallelism: int) -> dict[str, str]:
    """The data source's options for a run, all strings."""
    return {
        "bootstrap_servers": options.bootstrap_servers,
        "begin": json.dumps(dict(begin)),
        "max_records_per_batch": str(options.max_records_per_batch),
        "parallelism": str(parallelism),
        "client_id": client_id,
        "client_options": json.dumps(librdkafka_settings(options.client_options)),
    }


def read_range(
    spark: SparkSession, options: RunOptions, start: Mapping[str, int], end: Mapping[str, int], client_id: str
) -> DataFrame:
    """The records [start, end) of each partition, with RECORD_COLUMNS."""
    spark.dataSource.register(TopicDataSource)
    parallelism = max(1, spark.sparkContext.defaultParallelism)
    reader = spark.read.format(SOURCE_NAME).options(**source_options(options, start, client_id, parallelism))
    return reader.option("end", json.dumps(dict(end))).load().select(*RECORD_COLUMNS)


def read_stream(spark: SparkSession, options: RunOptions, begin: Mapping[str, int], client_id: str) -> DataFrame:
    """The topic of `begin` as an endless frame with RECORD_COLUMNS."""
    spark.dataSource.register(TopicDataSource)
    parallelism = max(1, spark.sparkContext.defaultParallelism)
    reader = spark.readStream.format(SOURCE_NAME).options(**source_options(options, begin, client_id, parallelism))
    return reader.load().select(*RECORD_COLUMNS)
