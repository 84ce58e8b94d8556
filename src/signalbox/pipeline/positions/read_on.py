"""Around every run: what it does when its topic has lost records, or is another one than the table's.

The two sources notice both in their own words, at different moments, or not at all (Spark's connector knows no topic
ids). So a run compares offsets and ids itself: before it begins, before each commit, and when it has failed. Lost
records end it with one sentence in both profiles. With `fail_on_data_loss` off, which Spark's connector calls
failOnDataLoss, it notes the gap, moves to the earliest offsets by batches that are planned and committed as all others,
and begins again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from signalbox.pipeline import source_python
from signalbox.pipeline.checkpoint_files import (
    CheckpointError,
    batch_end,
    committed_batches,
    flat_offsets,
    planned_batches,
)
from signalbox.pipeline.events import Step
from signalbox.pipeline.offsets import DataLossError, OffsetMap
from signalbox.pipeline.positions.bounded_run import PlannedBatch, plan_of, read_planned
from signalbox.pipeline.positions.lost_records import Ranges, loss_text, lost_ranges, note_gap, ranges_text
from signalbox.pipeline.stream import PipelineError, spark_faults
from signalbox.pipeline.topic_client import TopicError

if TYPE_CHECKING:
    from signalbox.pipeline.table_job import RunCounts
    from signalbox.pipeline.table_run import TableRun


def read_on(run: TableRun, attempt: Callable[[], RunCounts]) -> RunCounts:
    """Makes the attempt, again and again while records are lost that may be passed over. Raises PipelineError."""
    while True:
        _pass_lost(run)
        try:
            with spark_faults():
                return attempt()
        except PipelineError as failure:
            _explain(run, failure)


def _explain(run: TableRun, failure: PipelineError) -> None:
    """Raises the cause of a failure as the topic shows it, or the failure itself; returns if records were lost."""
    try:
        run.reject_recreated()
        lost = _lost(run)
    except DataLossError as cause:
        raise PipelineError(str(cause)) from failure
    except (TopicError, CheckpointError):
        raise failure from None
    if not lost:
        raise failure


def _lost(run: TableRun) -> Ranges:
    """What retention has deleted of the records that the run still needs."""
    checkpoint = run.job.checkpoint
    last = max(planned_batches(checkpoint), default=-1)
    if last not in committed_batches(checkpoint) and not run.holds(run.good_target, last):
        last -= 1
    position = batch_end(checkpoint, last) or run.job.begin
    earliest = flat_offsets(run.client.offsets([run.job.topic], "earliest").to_json())
    return lost_ranges(position, earliest, run.job.backfill.end if run.job.backfill else None)


def _pass_lost(run: TableRun) -> None:
    """Moves behind the lost records; they are noted first. Raises PipelineError if there are some and none may be
    passed over."""
    while lost := _lost(run):
        if run.options.fail_on_data_loss:
            raise PipelineError(loss_text(run.job.topic, lost))
        plan = plan_of(run, OffsetMap({run.job.topic: run.job.state.topic_id}))
        batch = plan.unfinished()
        if batch is None:
            batch = plan.plan_to({where: end for where, (_, end) in lost.items()})
        _commit_beyond(run, batch, lost)
        plan.commit(batch)


def _commit_beyond(run: TableRun, batch: PlannedBatch, lost: Ranges) -> None:
    """Commits what is left of a batch, which may be nothing."""
    start = {
        where: min(lost[where][1], end) if where in lost else batch.start.get(where, 0)
        for where, end in batch.end.items()
    }
    if not run.holds(run.good_target, batch.batch_id):
        passed = lost_ranges(batch.start, start, None)
        note_gap(run.job.folder.path, f"{run.job.checkpoint.name}/{batch.batch_id}", passed)
        run.report(Step.RECORDS_LOST, batch_id=batch.batch_id, detail=ranges_text(passed))
    left = any(end > start[where] for where, end in batch.end.items())
    spark = run.engine.spark
    records = read_planned(run, start, batch.end) if left else spark.createDataFrame([], source_python.RECORD_DDL)
    with spark_faults():
        run.write_batch(records, batch.batch_id)
