"""`run_backfill`: records from before the beginning of a table → the same table, none twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from signalbox.pipeline.checkpoint_files import batch_end, committed_batches, flat_offsets
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import EventListener, Reporting
from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.observe.progress import duration_text
from signalbox.pipeline.offsets import OffsetMap
from signalbox.pipeline.open_run import TablePlan, open_run
from signalbox.pipeline.options import TablesOptions, reject_faulty
from signalbox.pipeline.positions.backfill_log import Backfill, add_backfills, mark_done, read_backfills
from signalbox.pipeline.positions.bounded_run import run_to
from signalbox.pipeline.positions.coverage import Span, missing_spans
from signalbox.pipeline.positions.position import parse_position, resolve
from signalbox.pipeline.positions.read_on import read_on
from signalbox.pipeline.sinks.delta_log import count_rows
from signalbox.pipeline.stream import spark_faults
from signalbox.pipeline.table_run import TableRun
from signalbox.pipeline.table_state import StateError, StateFolder
from signalbox.pipeline.tables.format_plan import FormatPlan


@dataclass(slots=True)
class BackfillResult:
    """Counts of a backfill. `complete`: the table has all records that were asked for."""

    table: TableLocation
    rows: int = 0
    dead_rows: int = 0
    duplicate_rows: int = 0
    batches: int = 0
    table_rows: int = 0
    seconds: float = 0.0
    complete: bool = True
    schema_changes: list[str] = field(default_factory=list)
    type_changes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {**asdict(self), "table": str(self.table)}


def run_backfill(
    options: TablesOptions,
    *,
    engine: Engine | None = None,
    listener: EventListener | None = None,
    say: Callable[[str], None] = print,
) -> BackfillResult:
    """Adds the records from `options.starting` to `options.ending` (None: the beginning of the table) that the table
    does not have. A backfill that was interrupted is completed first.

    Raises StateError if there is no table, what `open_run` raises, and PipelineError.
    """
    reject_faulty(options)
    state = StateFolder(options.state_folder, options.table_name).read()
    if state is None:
        raise StateError(f"there is no table {options.table_name} to add records to: begin it with `pipeline tables`")
    if state.mode == "upsert":
        raise StateError(
            f"table {options.table_name} has the newest row of each key: older records would bring"
            " deleted keys back; begin a new table from the earlier position"
        )
    reporting = Reporting(say, listener)
    formats = FormatPlan(options, reporting)
    plan = TablePlan(
        name=options.table_name,
        topic=options.topic,
        schema=options.schema,
        decide_schema=lambda _: None,
        shape_of=formats.shape,
        follow=formats.follow,
        store=formats.store,
        has_value_format=options.formats.value_format is not None,
    )
    at_beginning = replace(options, starting="earliest", ending=None, trigger_seconds=None)
    with spark_faults(), open_run(at_beginning, plan, engine, reporting) as run:
        result = _add(run, options, say)
        result.schema_changes, result.type_changes = formats.changes.followed, formats.changes.unfitting
    say(
        f"{options.table_name}: {result.rows:,} earlier rows added in {result.batches} batches, "
        f"{duration_text(result.seconds)}; {result.table_rows:,} rows in {result.table}"
    )
    return result


def _asked(run: TableRun, options: TablesOptions) -> Span:
    topic, begin = run.job.topic, run.job.state.begin
    start = flat_offsets(resolve(parse_position(options.starting), topic, run.client).to_json())
    if options.ending is None:
        return Span(start, {where: begin.get(where, 0) for where in start})
    return Span(start, flat_offsets(resolve(parse_position(options.ending), topic, run.client).to_json()))


def _is_complete(run: TableRun, backfill: Backfill) -> bool:
    committed = committed_batches(run.job.checkpoint)
    return bool(committed) and batch_end(run.job.checkpoint, committed[-1]) == backfill.end


def _add(run: TableRun, options: TablesOptions, say: Callable[[str], None]) -> BackfillResult:
    folder = run.job.folder.path
    added = [backfill.span for backfill in read_backfills(folder)]
    spans = missing_spans(_asked(run, options), run.job.state.begin, added)
    result = BackfillResult(run.good_target.path)
    for backfill in add_backfills(folder, spans):
        say(f"{options.table_name}: backfill {backfill.number} of {backfill.span.count:,} offsets")
        part = TableRun(replace(run.job, backfill=backfill), run.options, run.engine, run.client, run.listener)
        part.reject_other_batches()
        counts = read_on(part, partial(run_to, part, OffsetMap.from_json(backfill.end)))
        result.rows += counts.rows
        result.dead_rows += counts.dead_rows
        result.duplicate_rows += counts.duplicate_rows
        result.batches += counts.batches
        result.seconds += counts.seconds
        result.complete = _is_complete(part, backfill)
        if not result.complete:
            say(f"{options.table_name}: backfill {backfill.number} was stopped, the next run of it completes it")
            break
        mark_done(folder, backfill.number)
    result.table_rows = count_rows(run.good_target.path)
    return result
