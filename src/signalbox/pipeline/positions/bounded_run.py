"""Runs the batches between two positions, instead of Spark's streaming engine.

Spark's connector takes no end for a stream. A bounded run therefore plans its batches itself and reads each as a plain
range, in both profiles in the same way. It keeps the order of Spark's engine and the files of its checkpoint: the end
of a batch is written before the batch runs, the commit after it. A batch whose run died is repeated with the same end,
so that its tables recognize it; and a stream can go on behind a bounded run, and a bounded run behind a stream.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from signalbox.common.durable_file import replace_durably
from signalbox.pipeline import source_jars, source_python
from signalbox.pipeline.checkpoint_files import (
    batch_end,
    committed_batches,
    flat_offsets,
    nested_offsets,
    planned_batches,
)
from signalbox.pipeline.offsets import OffsetMap, limited
from signalbox.pipeline.options import Profile
from signalbox.pipeline.stream import stop_signals

if TYPE_CHECKING:
    from signalbox.pipeline.table_job import RunCounts
    from signalbox.pipeline.table_run import TableRun

Flat = dict[str, int]
WriteOffsets = Callable[[OffsetMap], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """The records [start, end) of each partition, as {"topic:partition": offset}."""

    batch_id: int
    start: Flat
    end: Flat


class BoundedPlan:
    """The batches of a checkpoint from its newest one up to `end`; the first batch of all begins at `begin`.

    `to_json`: the offsets in the form of the profile's source.
    """

    def __init__(
        self, checkpoint: Path, begin: Flat, end: OffsetMap, max_records: int, to_json: WriteOffsets = OffsetMap.to_json
    ) -> None:
        self._checkpoint = checkpoint
        self._begin = begin
        self._end = end
        self._max_records = max_records
        self._to_json = to_json

    def unfinished(self) -> PlannedBatch | None:
        """The batch that was planned and not committed; None = there is none."""
        planned, committed = planned_batches(self._checkpoint), committed_batches(self._checkpoint)
        if planned and (not committed or committed[-1] < planned[-1]):
            return PlannedBatch(planned[-1], self._start_of(planned[-1]), batch_end(self._checkpoint, planned[-1]))
        return None

    def next_batch(self) -> PlannedBatch | None:
        """The unfinished batch, else a new one, written before it is returned; None if there is nothing left."""
        unfinished = self.unfinished()
        if unfinished is not None:
            return unfinished
        start = self._start_of(self._last() + 1)
        batch_limit = limited(_offset_map(start), self._never_back(start), self._max_records)
        end = flat_offsets(batch_limit.to_json())
        return None if {**start, **end} == start else self.plan_to(end)

    def plan_to(self, end: Flat) -> PlannedBatch:
        """A new batch, written before it is returned, up to these offsets; no other partition moves."""
        last = self._last()
        start = self._start_of(last + 1)
        end = {**start, **end}
        self._write("offsets", last + 1, [self._header(last), json.dumps(self._to_json(_offset_map(end, self._end)))])
        return PlannedBatch(last + 1, start, end)

    def _last(self) -> int:
        return max(planned_batches(self._checkpoint), default=-1)

    def commit(self, batch: PlannedBatch) -> None:
        """Notes that the tables hold the batch."""
        self._write("commits", batch.batch_id, [json.dumps({"nextBatchWatermarkMs": 0})])

    def _start_of(self, batch_id: int) -> Flat:
        return batch_end(self._checkpoint, batch_id - 1) or dict(self._begin)

    def _never_back(self, start: Flat) -> OffsetMap:
        ends = flat_offsets(self._end.to_json())
        return _offset_map({where: max(offset, start.get(where, 0)) for where, offset in ends.items()}, self._end)

    def _header(self, last: int) -> str:
        """Spark's own line about the batch: as that of the batch before, or with its defaults."""
        path = self._checkpoint / "offsets" / str(last)
        lines = path.read_text().splitlines() if path.is_file() else []
        if len(lines) > 1:
            return lines[1]
        return json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": int(time.time() * 1000), "conf": {}})

    def _write(self, folder: str, batch_id: int, lines: list[str]) -> None:
        directory = self._checkpoint / folder
        directory.mkdir(parents=True, exist_ok=True)
        identity = self._checkpoint / "metadata"
        if not identity.exists():
            replace_durably(identity, json.dumps({"id": str(uuid.uuid4())}))
        # A power loss must not take back a batch that the table holds.
        replace_durably(directory / str(batch_id), "\n".join(["v1", *lines]))


def _offset_map(flat: Flat, like: OffsetMap | None = None) -> OffsetMap:
    return OffsetMap(like.topic_ids if like is not None else {}, OffsetMap.from_json(flat).next_offsets)


def run_to(run: TableRun, ending: OffsetMap) -> RunCounts:
    """Runs from where the table stopped to the ending offsets, or until it is stopped. Raises PipelineError."""
    end = OffsetMap({run.job.topic: run.job.state.topic_id}, ending.next_offsets)
    run.resume(end)
    plan = plan_of(run, end)
    started = time.monotonic()
    with stop_signals() if run.engine.stop is None else nullcontext(run.engine.stop) as stop:
        while not stop.is_set() and (batch := plan.next_batch()) is not None:
            run.write_batch(read_planned(run, batch.start, batch.end), batch.batch_id)
            plan.commit(batch)
    run.counts.seconds += time.monotonic() - started
    return run.counts


def plan_of(run: TableRun, end: OffsetMap) -> BoundedPlan:
    """The plan of a run up to `end`, in the files of its checkpoint."""
    to_json = _as_the_connector if run.engine.profile == Profile.JARS else OffsetMap.to_json
    return BoundedPlan(run.job.checkpoint, run.job.begin, end, run.options.max_records_per_batch, to_json)


def read_planned(run: TableRun, start: Flat, end: Flat) -> DataFrame:
    """The records of a batch."""
    read = source_jars.read_range if run.engine.profile == Profile.JARS else source_python.read_range
    return read(run.engine.spark, run.options, start, end, run.client_id)


def _as_the_connector(offsets: OffsetMap) -> dict[str, Any]:
    return nested_offsets(flat_offsets(offsets.to_json()))
