"""One run of one pipeline: topic → table (and dead table), batch by batch, exactly once.

Order within a batch: first the dead records, then the good rows, each committed under the batch's id. The good rows'
mark therefore means that the batch is complete, and a repeat of it is skipped unread. With the dead records' mark alone
the records that the tables hold are left out of the repeat (`positions/held_records.py`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from signalbox.pipeline import source_jars, source_python
from signalbox.pipeline.checkpoint_files import (
    batch_end,
    flat_offsets,
    planned_batches,
)
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.event_time.gate import EventTimeGate
from signalbox.pipeline.events import EventListener, PipelineEvent, Step
from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.object_store.stored_rows import stored_rows
from signalbox.pipeline.object_store.table_owner import owner_properties, reject_other_owner
from signalbox.pipeline.offsets import OffsetMap, recreated
from signalbox.pipeline.options import Profile, RunOptions
from signalbox.pipeline.positions.bounded_run import run_to
from signalbox.pipeline.positions.held_records import without_held
from signalbox.pipeline.positions.position import parse_position, resolve
from signalbox.pipeline.positions.read_on import read_on
from signalbox.pipeline.sinks.delta_log import ensure_table, partition_columns
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget
from signalbox.pipeline.sinks.upsert_sink import UpsertSink
from signalbox.pipeline.stream import run_query
from signalbox.pipeline.table_job import RunCounts, TableJob, WrittenRows
from signalbox.pipeline.tables.declared_columns import reject_event_time_columns, reject_partition_columns
from signalbox.pipeline.tables.projection import dead_rows, good_rows, parsed
from signalbox.pipeline.topic_client import TopicClient

WAITING_EVENT_SECONDS = 5.0


class TableRun:
    """A run in progress, and its counts. `on_rows` receives the good rows of each batch of a table with a schema, and
    its number, before they are committed, since a commit may take seconds: once more if a batch is repeated whose rows
    are not committed."""

    def __init__(
        self, job: TableJob, options: RunOptions, engine: Engine, client: TopicClient, listener: EventListener
    ) -> None:
        self.job = job
        self.shape = job.shape
        self.options = options
        self.engine = engine
        self.client = client
        self.counts = RunCounts()
        self.listener = listener
        self.on_rows: Callable[[DataFrame, int], None] | None = None
        self._sink = engine.sink(options.commit, options.warehouse)
        self._good_sink = UpsertSink(job.folder.path) if job.state.mode == "upsert" else self._sink
        # The rows of a backfill are late by nature, and were asked for.
        self._gate = EventTimeGate(job.state.event_time, None if job.backfill else job.folder.path)
        self._ending: OffsetMap | None = None
        self._known: dict[str, int] = {}
        self._end_at_begin: dict[str, int] = {}
        self._batch_id = -1
        self._batch_begun = 0.0
        self._reported_at = 0.0

    @property
    def good_target(self) -> TableTarget:
        """The table itself."""
        return self.job.target(self.options.warehouse, self.job.name)

    @property
    def dead_target(self) -> TableTarget:
        """The table for bad records."""
        return self.job.target(self.options.warehouse, f"{self.job.name}_dead")

    @property
    def has_dead_table(self) -> bool:
        """False if every value stays raw and no row can be late: then no record can be bad."""
        return self.shape.can_reject

    def consumed(self, batch_id: int | None = None) -> int:
        """Offsets from the table's beginning to the end of a batch, by default the newest planned one."""
        end = batch_end(self.job.checkpoint, self._batch_id if batch_id is None else batch_id)
        return sum(offset - self.job.begin.get(where, 0) for where, offset in end.items())

    def unread(self, batch_id: int | None = None) -> int:
        """Number of records that the topic had when the run began and that no batch has read, up to a batch, by default
        the newest planned one."""
        end = batch_end(self.job.checkpoint, self._batch_id if batch_id is None else batch_id)
        read = {where: end.get(where, self.job.begin.get(where, 0)) for where in self._end_at_begin}
        return sum(max(0, offset - read[where]) for where, offset in self._end_at_begin.items())

    def resume(self, ending: OffsetMap | None = None) -> None:
        """Goes on behind the newest planned batch; `ending` is the known end of the run."""
        planned = planned_batches(self.job.checkpoint)
        self._batch_id = planned[-1] if planned else -1
        if ending is not None:
            self._ending = ending
            self._look_at_end()

    def _look_at_end(self) -> None:
        ending = self._ending or self.client.offsets([self.job.topic], "latest")
        self._known = flat_offsets(ending.to_json())

    def reject_recreated(self) -> None:
        """Raises DataLossError if the topic has another id than when the table was begun. Before a commit: Spark's
        connector knows no ids, and would go on with the records of the other topic."""
        topic, topic_id = self.job.topic, self.client.topic_id(self.job.topic)
        if topic_id != self.job.state.topic_id:
            raise recreated(topic, self.job.state.topic_id, topic_id)

    def report(self, step: Step, **facts: Any) -> None:
        """Reports a step of the batch in progress."""
        self._reported_at = time.monotonic()
        consumed = self.consumed()
        known_records = sum(offset - self.job.begin.get(where, 0) for where, offset in self._known.items())
        self.listener(
            PipelineEvent(
                step=step,
                pipeline=self.job.name,
                seconds=time.monotonic() - self._batch_begun if self._batch_begun else 0.0,
                consumed_records=consumed,
                known_records=max(known_records, consumed),
                **{"batch_id": self._batch_id, **facts},
            )
        )

    def prepare(self) -> None:
        """Creates the tables, or rejects a schema that does not fit them. Raises SchemaBreakError, SchemaError."""
        self._look_at_end()
        self._end_at_begin = self._known
        self._ensure_tables()

    def _ensure_tables(self) -> None:
        columns = good_rows(self._no_records(), self.shape).schema
        good = self.good_target.path
        reject_partition_columns(columns, partition_columns(good) or self.job.partition_by)
        if self.job.state.event_time is not None:
            reject_event_time_columns(columns, self.job.state.event_time)
        ensure_table(good, json.loads(columns.json()), self.job.partition_by, owner_properties(self.job.folder))
        reject_other_owner(good, self.job.folder)  # of two processes that began it, one goes on
        if self.has_dead_table:
            dead = dead_rows(self._no_records(), self.shape)
            ensure_table(self.dead_target.path, json.loads(dead.schema.json()))
        if self.job.store is not None:
            self.job.store(self.job.folder, self.shape)

    def _no_records(self) -> DataFrame:
        empty = self.engine.spark.createDataFrame([], source_python.RECORD_DDL)
        return parsed(empty, self.shape) if self.has_dead_table else empty

    def rows_of(self, files: Sequence[str]) -> DataFrame:
        """The rows of some of the table's files, which are named by their paths below the table, in either profile.
        Without columns of partitions."""
        none = good_rows(self._no_records(), self.shape)
        table = self.good_target.path
        if not files:
            return none
        if isinstance(table, S3Location):
            return stored_rows(self.engine.spark, table, files, none.schema)
        paths = [str(table / name) for name in files]
        return self.engine.spark.read.schema(none.schema).parquet(*paths)

    def _follow_schemas(self) -> None:
        """Before a batch: its records were written with schemas that the registry has by now."""
        shape = self.job.follow(self.shape) if self.job.follow is not None else self.shape
        if shape != self.shape:
            self.shape = shape
            self._ensure_tables()

    def reject_other_batches(self) -> None:
        """Raises StateError if the table and the checkpoint of the job are from different times."""
        self.job.folder.reject_other_batches(self.job.checkpoint, self._sink.last_batch(self.good_target))

    def holds(self, target: TableTarget, batch_id: int) -> bool:
        """Whether a table has the batch's mark."""
        last = self._sink.last_batch(target)
        return last is not None and last >= batch_id

    def _report_held(self, target: TableTarget) -> None:
        self.report(Step.TABLE_COMMITTED, table=target.name, rows=0, skipped=True)

    def _commit(self, frame: DataFrame, target: TableTarget, stamp: BatchStamp) -> int | None:
        sink = self._good_sink if target == self.good_target else self._sink
        rows = sink.append(frame, target, stamp)
        self.report(Step.TABLE_COMMITTED, table=target.name, rows=rows or 0, skipped=rows is None)
        return rows

    def write_batch(self, records: DataFrame, batch_id: int) -> None:
        """Spark calls this for each batch."""
        self._batch_id = batch_id
        self._batch_begun = time.monotonic()
        self.report(Step.BATCH_STARTED)
        if self.holds(self.good_target, batch_id):
            self._report_held(self.good_target)
            written = WrittenRows(None)
        else:
            written = self._write_records(records, batch_id)
        self.counts.add(written)
        self.report(
            Step.BATCH_DONE,
            rows=written.rows or 0,
            dead_rows=written.dead,
            late_rows=written.late,
            duplicate_rows=written.duplicates,
            skipped=written.rows is None,
        )
        self._batch_begun = 0.0

    def _write_records(self, records: DataFrame, batch_id: int) -> WrittenRows:
        self._follow_schemas()
        checkpoint = self.job.checkpoint
        start, end = batch_end(checkpoint, batch_id - 1) or self.job.begin, batch_end(checkpoint, batch_id)
        stamp = dead_stamp = BatchStamp(batch_id, {"from": start, "to": end})
        if not self.has_dead_table:
            self.reject_recreated()
            return WrittenRows(self._commit(good_rows(records, self.shape), self.good_target, stamp))
        dead_target = self.dead_target
        if self.holds(dead_target, batch_id):
            self._report_held(dead_target)
            held_in = [dead_target] if self.job.state.mode == "upsert" else [dead_target, self.good_target]
            paths = [target.path for target in held_in]
            records = without_held(self.engine.spark, records, paths, start, end)
            # Records may be rejected now that were good when the batch was begun. Its mark is taken; they need none,
            # since the next repeat would find them in the table.
            dead_target = TableTarget(dead_target.path, f"{dead_target.transaction_app}/repeated")
            last = self._sink.last_batch(dead_target)
            dead_stamp = BatchStamp(0 if last is None else last + 1, {**stamp.lineage, "batch_id": batch_id})
        return self._write_parsed(records, stamp, dead_target, dead_stamp)

    def _write_parsed(
        self, records: DataFrame, stamp: BatchStamp, dead_target: TableTarget, dead_stamp: BatchStamp
    ) -> WrittenRows:
        shape, gate = self.shape, self._gate
        frame = gate.begin(parsed(records, shape), shape, stamp.batch_id).persist()
        try:
            counts = gate.count(frame)
            self.reject_recreated()  # the records are read, and kept
            stamp, dead_stamp = (
                replace(each, lineage={**each.lineage, **gate.commit_metadata()}) for each in (stamp, dead_stamp)
            )
            good = counts.records - counts.dead
            self.report(Step.BATCH_READ, rows=good, dead_rows=counts.dead)
            if self.on_rows is not None:
                self.on_rows(good_rows(frame, shape), stamp.batch_id)
            dead = self._commit(dead_rows(frame, shape), dead_target, dead_stamp) if counts.dead else 0
            rows = self._commit(gate.unique(good_rows(frame, shape), self.good_target.path), self.good_target, stamp)
            duplicates = good - rows if rows is not None and self.job.state.event_time is not None else 0
            return WrittenRows(rows, dead or 0, counts.late if dead else 0, duplicates)
        finally:
            frame.unpersist()

    def _source(self) -> DataFrame:
        read = source_jars.read_stream if self.engine.profile == Profile.JARS else source_python.read_stream
        return read(self.engine.spark, self.options, self.job.begin, self.client_id)

    @property
    def client_id(self) -> str:
        """The client id of its requests."""
        return f"signalbox-pipeline-{self.job.name}"

    def run(self, meanwhile: Callable[[], None] | None = None) -> RunCounts:
        """Runs until the available records are read, or until the run is stopped. Raises PipelineError.

        `meanwhile`: called about once a second, on the caller's thread.
        """

        def while_waiting() -> None:
            if time.monotonic() - self._reported_at > WAITING_EVENT_SECONDS:
                if self.options.trigger_seconds is not None:
                    self._look_at_end()
                self.report(Step.WAITING)
            if meanwhile is not None:
                meanwhile()

        if self.options.ending is not None:
            ending = resolve(parse_position(self.options.ending), self.job.topic, self.client)
            return read_on(self, partial(run_to, self, ending))
        return read_on(self, partial(self._stream, while_waiting))

    def _stream(self, while_waiting: Callable[[], None]) -> RunCounts:
        started = time.monotonic()
        self.resume()
        run_query(
            self._source(),
            self.write_batch,
            name=self.job.name,
            checkpoint=self.job.checkpoint.absolute(),
            trigger_seconds=self.options.trigger_seconds,
            stop_after_seconds=self.options.stop_after_seconds,
            while_waiting=while_waiting,
            stop=self.engine.stop,
        )
        self.counts.seconds += time.monotonic() - started
        return self.counts
