"""Replays rejected records: those that can be decoded now become rows of the table, each exactly once.

Needs Spark and the registry, if the table has one, but no Kafka: the records are in the warehouse. A table that a
pipeline writes at the moment is locked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.pipeline.audit.run import audit_shape
from signalbox.pipeline.engine import Engine, open_engine
from signalbox.pipeline.event_time.gate import EventTimeGate
from signalbox.pipeline.events import EventListener, PipelineEvent, Reporting, Step
from signalbox.pipeline.object_store.table_owner import reject_other_owner
from signalbox.pipeline.options import TablesOptions, reject_faulty
from signalbox.pipeline.rejected.listing import POSITION, RejectedRecords, dead_path, parts_of
from signalbox.pipeline.rejected.mended_values import MendedValueError, read_mended, unknown_positions, with_mended
from signalbox.pipeline.rejected.replay_plan import (
    Position,
    ReplayPlan,
    drop_plan,
    positions_of,
    read_plan,
    take_out,
    write_plan,
)
from signalbox.pipeline.sinks.delta_log import ensure_table
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableSink, TableTarget, transaction_app
from signalbox.pipeline.source_jars import RECORD_COLUMNS
from signalbox.pipeline.stream import spark_faults
from signalbox.pipeline.table_state import StateError, StateFolder, TableState
from signalbox.pipeline.tables.format_plan import FormatPlan
from signalbox.pipeline.tables.projection import RecordShape, good_rows, parsed
from signalbox.pipeline.tables.table_names import reject_taken_names

_PART_BYTES = 32 * 1024 * 1024  # of the records that Spark is given at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """Counts of a replay: records that became rows, and those that are still rejected. `completed`: records of an
    earlier replay that was killed, whose rows were in the table already. `duplicates`: records that repeat a row of the
    table, which are neither rows nor rejected any more."""

    replayed: int = 0
    rejected: int = 0
    completed: int = 0
    duplicates: int = 0

    def __add__(self, other: ReplayResult) -> ReplayResult:
        return ReplayResult(**{name: count + getattr(other, name) for name, count in self.as_json().items()})

    @property
    def records(self) -> int:
        """The rejected records that this replay has decoded."""
        return self.replayed + self.rejected + self.duplicates

    def as_json(self) -> dict[str, int]:
        """The same as plain JSON values."""
        return asdict(self)


class _Replay:
    """One replay of one table, under its lock."""

    def __init__(self, options: TablesOptions, folder: StateFolder, state: TableState, sink: TableSink) -> None:
        self._options = options
        self._folder = folder
        self._dead = dead_path(options.warehouse, folder.name)
        app = transaction_app(folder.name, state.generation, f"{folder.name}/replay")
        self._target = TableTarget((options.warehouse / folder.name).absolute(), app)
        self._sink = sink
        self._state = state
        self.completed = 0
        self._continues = False

    def complete_last(self) -> None:
        """Takes the records of a killed replay out, if their rows are in the table; `completed` counts them."""
        plan = read_plan(self._folder.path)
        self._continues = plan is not None
        if plan is None:
            return
        last = self._sink.last_batch(self._target)
        if last is not None and last >= plan.number:
            self.completed = take_out(self._dead, plan.positions)
        drop_plan(self._folder.path)

    def replay(
        self, engine: Engine, mended: Path | None, say: Callable[[str], None], listener: EventListener
    ) -> ReplayResult:
        """Replays all records, a part at a time. Late ones become rows too: to replay them is to ask for them."""
        rejected = RejectedRecords(self._options.warehouse, self._folder.name)
        values = read_mended(mended) if mended is not None else {}
        self._name_unknown(unknown_positions(values, rejected), len(values), say)
        total, done = rejected.count(), ReplayResult(completed=self.completed)
        shape: RecordShape | None = None
        for part in parts_of(rejected.records(), _PART_BYTES):
            records = engine.spark.createDataFrame(with_mended(part, values).select(list(RECORD_COLUMNS)))
            shape = shape or self._begin(records, Reporting(say, listener))
            done += self._replay_part(records, part.num_rows, shape, listener)
            if done.records < total:
                say(f"{self._folder.name}: {done.records:,} of {total:,} rejected records decoded")
        return done

    def _name_unknown(self, unknown: Sequence[Position], mended: int, say: Callable[[str], None]) -> None:
        """Mended values of no rejected record: an earlier replay with the same file has replayed some of them, unless
        there is no other value. Raises MendedValueError then."""
        if not unknown:
            return
        topic, partition, offset = unknown[0]
        first = f"topic {topic}, partition {partition}, offset {offset} is no rejected record"
        if len(unknown) == mended and not self._continues:
            raise MendedValueError(first)
        say(f"{self._folder.name}: {len(unknown):,} of {mended:,} mended values are left out: {first} (any more)")

    def _begin(self, records: DataFrame, reporting: Reporting) -> RecordShape:
        """The shape of the rows. Adds its columns to the table. `records`: none is read, only their columns matter."""
        formats = FormatPlan(self._options, reporting)
        is_audit = self._state.topic == AUDIT_TOPIC
        schema = self._state.schema if is_audit else formats.declared(self._state.schema)
        shape = audit_shape(schema) if is_audit else formats.shape(schema)
        shape = replace(shape, has_watermark=self._state.event_time is not None)
        ensure_table(self._target.path, good_rows(parsed(records, shape), shape).schema.jsonValue())
        if not is_audit:
            formats.store(self._folder, shape)
            self._folder.write(replace(self._state, schema=schema))
        return shape

    def _replay_part(self, records: DataFrame, count: int, shape: RecordShape, listener: EventListener) -> ReplayResult:
        gate = EventTimeGate(self._state.event_time, None)
        frame = gate.begin(parsed(records, shape), shape, 0).persist()
        try:
            gate.count(frame)
            rows = good_rows(frame, shape)
            good = frame.filter(F.col("_good")).select(*POSITION).toArrow()
            replayed = self._write(gate.unique(rows, self._target.path), good, listener) if good.num_rows else 0
        finally:
            frame.unpersist()
        return ReplayResult(
            replayed=replayed,
            rejected=count - good.num_rows,
            duplicates=good.num_rows - replayed,
        )

    def _write(self, rows: DataFrame, good: pa.Table, listener: EventListener) -> int:
        last = self._sink.last_batch(self._target)
        plan = ReplayPlan(0 if last is None else last + 1, positions_of(good))

        def report(table: str) -> None:
            event = PipelineEvent(
                step=Step.TABLE_COMMITTED,
                pipeline=self._folder.name,
                batch_id=plan.number,
                table=table,
                rows=good.num_rows,
            )
            listener(event)

        write_plan(self._folder.path, plan)
        appended = self._sink.append(rows, self._target, BatchStamp(plan.number, {"replayed": good.num_rows}))
        report(self._target.name)
        take_out(self._dead, plan.positions)
        report(self._dead.name)
        drop_plan(self._folder.path)
        return appended or 0


def replay_rejected(
    options: TablesOptions,
    mended: Path | None = None,
    *,
    engine: Engine | None = None,
    listener: EventListener | None = None,
    say: Callable[[str], None] = print,
) -> ReplayResult:
    """Replays the rejected records of the table `options.table_name`, with the formats of the options if they name any;
    the topic of the options is not read.

    `mended`: a file of values (`mended_values.py`). Raises StateError, OptionError, MendedValueError, RegistryError,
    SchemaError, PipelineError. A replay that was killed is completed by the next one.
    """
    reject_faulty(options)
    folder = StateFolder(options.state_folder, options.table_name)
    state = folder.read()
    if state is None:
        raise StateError(f"there is no table {options.table_name} in {options.warehouse}")
    reject_taken_names(options.state_folder, options.table_name, is_audit=state.topic == AUDIT_TOPIC)
    if state.mode == "upsert":
        raise StateError(
            f"table {options.table_name} has the newest row of each key: an old record cannot be replayed into it, "
            "because a newer tombstone may have deleted its key; produce the mended record to the topic"
        )
    options = replace(options, topic=state.topic, name=options.table_name)
    reject_other_owner(options.warehouse / folder.name, folder)
    with (
        folder.locked(),
        spark_faults(),
        open_engine(options, engine=engine, begun_with=state.profile, say=say) as opened,
    ):
        replay = _Replay(options, folder, state, opened.sink(options.commit, options.warehouse))
        replay.complete_last()
        result = replay.replay(opened, mended, say, listener or (lambda _: None))
    say(
        f"{options.table_name}: {result.replayed:,} rejected records replayed, {result.rejected:,} are still rejected"
        + (f"; {result.duplicates:,} duplicates dropped" if result.duplicates else "")
        + (f"; {result.completed:,} of an earlier replay completed" if result.completed else "")
    )
    return result
