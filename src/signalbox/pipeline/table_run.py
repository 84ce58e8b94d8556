"""One run of one pipeline: topic → table (and dead table), batch by batch, exactly once.

Order within a batch: dead records first, then the good rows, each committed under the batch's id. A run that dies in
between repeats the batch: a table that holds it says so and is skipped, the other completes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import StructType

from signalbox.pipeline import source_jars, source_python
from signalbox.pipeline.checkpoint_files import batch_end, flat_offsets, planned_batches
from signalbox.pipeline.events import EventListener, PipelineEvent, Step
from signalbox.pipeline.options import RunOptions
from signalbox.pipeline.profile import Profile
from signalbox.pipeline.stream import run_query
from signalbox.pipeline.table_sink import BatchStamp, TableSink, TableTarget, transaction_app
from signalbox.pipeline.table_state import StateFolder, TableState
from signalbox.pipeline.tables.projection import RecordShape, dead_rows, good_rows, parsed
from signalbox.pipeline.topic_client import TopicClient

WAITING_EVENT_SECONDS = 2.0


@dataclass(slots=True)
class RunCounts:
    """What a run did."""

    batches: int = 0
    repeated_batches: int = 0
    rows: int = 0
    dead_rows: int = 0
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class TableRun:
    """Everything that one run of a pipeline needs, and its counts."""

    spark: SparkSession
    options: RunOptions
    topic: str
    folder: StateFolder
    state: TableState
    shape: RecordShape
    sink: TableSink
    listener: EventListener
    client: TopicClient
    counts: RunCounts = field(default_factory=RunCounts)
    _begin: dict[str, int] = field(default_factory=dict)
    _known: dict[str, int] = field(default_factory=dict)
    _batch_id: int = -1
    _batch_begun: float = 0.0
    _told_at: float = 0.0

    def target(self, table: str) -> TableTarget:
        """The table `<warehouse>/<table>` with this pipeline's transaction name."""
        app = transaction_app(self.folder.name, self.state.generation, table)
        return TableTarget((self.options.warehouse / table).absolute(), app)

    @property
    def good_target(self) -> TableTarget:
        return self.target(self.folder.name)

    @property
    def dead_target(self) -> TableTarget:
        return self.target(f"{self.folder.name}_dead")

    def _source(self) -> DataFrame:
        client_id = f"signalbox-pipeline-{self.folder.name}"
        read = source_jars.read_stream if self.state.profile == Profile.JARS else source_python.read_stream
        return read(self.spark, self.options, self.topic, client_id)

    def _tell(self, step: Step, **facts: Any) -> None:
        self._told_at = time.monotonic()
        end = batch_end(self.folder.checkpoint, self._batch_id)
        consumed = sum(offset - self._begin.get(where, 0) for where, offset in end.items()) if end else 0
        known = sum(max(offset, end.get(where, 0)) - self._begin.get(where, 0) for where, offset in self._known.items())
        self.listener(
            PipelineEvent(
                step=step,
                pipeline=self.folder.name,
                batch_id=self._batch_id,
                seconds=time.monotonic() - self._batch_begun if self._batch_begun else 0.0,
                consumed_records=consumed,
                known_records=known,
                **facts,
            )
        )

    def _look_at_topic(self) -> None:
        self._begin = flat_offsets(self.client.offsets([self.topic], "earliest").to_json())
        self._known = flat_offsets(self.client.offsets([self.topic], "latest").to_json())

    def _commit(self, frame: DataFrame, target: TableTarget, stamp: BatchStamp) -> int | None:
        rows = self.sink.append(frame, target, stamp)
        self._tell(Step.TABLE_COMMITTED, table=target.name, rows=rows or 0, skipped=rows is None)
        return rows

    def write_batch(self, records: DataFrame, batch_id: int) -> None:
        """What Spark calls for each batch."""
        self._batch_id = batch_id
        self._batch_begun = time.monotonic()
        self._tell(Step.BATCH_STARTED)
        start = batch_end(self.folder.checkpoint, batch_id - 1) or self._begin
        stamp = BatchStamp(batch_id, {"from": start, "to": batch_end(self.folder.checkpoint, batch_id)})
        if self.shape.fields is None:
            rows, dead = self._commit(good_rows(records, self.shape), self.good_target, stamp), 0
        else:
            rows, dead = self._write_parsed(records, stamp)
        self.counts.batches += 1
        self.counts.repeated_batches += rows is None
        self.counts.rows += rows or 0
        self.counts.dead_rows += dead
        self._tell(Step.BATCH_DONE, rows=rows or 0, dead_rows=dead, skipped=rows is None)

    def _write_parsed(self, records: DataFrame, stamp: BatchStamp) -> tuple[int | None, int]:
        frame = parsed(records, self.shape).persist()
        try:
            counted = frame.agg(F.count("*"), F.count_if(~F.col("_good"))).collect()[0]
            total, dead = int(counted[0]), int(counted[1])
            self._tell(Step.BATCH_READ, rows=total - dead, dead_rows=dead)
            kept_aside = self._commit(dead_rows(frame, self.shape), self.dead_target, stamp) if dead else 0
            return self._commit(good_rows(frame, self.shape), self.good_target, stamp), kept_aside or 0
        finally:
            frame.unpersist()

    def prepare(self) -> None:
        """Creates the tables, or refuses what does not fit them."""
        self._look_at_topic()
        empty = self.spark.createDataFrame([], _record_schema())
        if self.shape.fields is None:
            self.sink.ensure_table(self.good_target.path, good_rows(empty, self.shape).schema)
            return
        frame = parsed(empty, self.shape)
        self.sink.ensure_table(self.good_target.path, good_rows(frame, self.shape).schema)
        self.sink.ensure_table(self.dead_target.path, dead_rows(frame, self.shape).schema)

    def while_waiting(self, query: StreamingQuery) -> None:
        """Called about twice a second while the query runs."""
        if time.monotonic() - self._told_at > WAITING_EVENT_SECONDS:
            if self.options.trigger_seconds is not None:
                self._known = flat_offsets(self.client.offsets([self.topic], "latest").to_json())
            self._tell(Step.WAITING)

    def run(self) -> RunCounts:
        """Runs until what was there is read, or until it is told to stop. Raises PipelineError."""
        begun = time.monotonic()
        done = planned_batches(self.folder.checkpoint)
        self._batch_id = done[-1] if done else -1
        run_query(
            self._source(),
            self.write_batch,
            name=self.folder.name,
            checkpoint=self.folder.checkpoint.absolute(),
            trigger_seconds=self.options.trigger_seconds,
            stop_after_seconds=self.options.stop_after_seconds,
            while_waiting=self.while_waiting,
        )
        self.counts.seconds = time.monotonic() - begun
        return self.counts


def _record_schema() -> StructType:
    return StructType.fromDDL(source_python.RECORD_DDL)
