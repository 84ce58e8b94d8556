"""Opening a run: lock, topic, engine, stored state, tables; in the order in which each step can reject the run.

Nothing is written before all checks: a rejected run leaves the warehouse unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from deltalake.exceptions import DeltaError

from signalbox.pipeline.checkpoint_files import batch_end, committed_batches, flat_offsets, planned_batches
from signalbox.pipeline.client.librdkafka_settings import librdkafka_settings
from signalbox.pipeline.engine import Engine, open_engine
from signalbox.pipeline.event_time.rule import EventTimeRule
from signalbox.pipeline.event_time.watermark import times_of_batch
from signalbox.pipeline.events import PipelineEvent, Reporting
from signalbox.pipeline.object_store.conditional_writes import reject_unconditional_store
from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.object_store.table_owner import reject_other_owner
from signalbox.pipeline.observe.progress import ProgressLines
from signalbox.pipeline.options import AuditOptions, Profile, RunOptions, reject_faulty
from signalbox.pipeline.positions.position import parse_position, resolve
from signalbox.pipeline.sinks.delta_log import last_transaction, partition_columns
from signalbox.pipeline.sinks.table_sink import transaction_app
from signalbox.pipeline.table_job import TableJob
from signalbox.pipeline.table_run import TableRun
from signalbox.pipeline.table_state import StateError, StateFolder, TableState
from signalbox.pipeline.tables.projection import RecordShape
from signalbox.pipeline.tables.table_names import reject_taken_names
from signalbox.pipeline.topic_client import TopicClient


@dataclass(frozen=True, slots=True)
class TablePlan:
    """A table to be: `schema` as requested, `decide_schema` for the first run, `declared` from the schema of a table
    that exists to that of this run, `shape_of` for the decided schema, `follow` and `store` as in TableJob."""

    name: str
    topic: str
    schema: str | None
    decide_schema: Callable[[TopicClient], str | None]
    shape_of: Callable[[str | None], RecordShape]
    follow: Callable[[RecordShape], RecordShape] | None = None
    store: Callable[[StateFolder, RecordShape], None] | None = None
    declared: Callable[[str | None], str | None] = lambda schema: schema
    mode: str = "append"
    partition_by: tuple[str, ...] = ()
    event_time: EventTimeRule | None = None
    has_value_format: bool = False  # named by the options: `shape_of` rejects another one than the table's


@contextmanager
def open_run(options: RunOptions, plan: TablePlan, engine: Engine | None, reporting: Reporting) -> Iterator[TableRun]:
    """A run that is ready to start. Raises OptionError, StateError, CheckpointError, TopicError, JarError,
    JavaNotFoundError, SchemaError, SchemaBreakError."""
    reject_faulty(options)
    lines = ProgressLines(reporting.say)

    def report(event: PipelineEvent) -> None:
        lines(event)
        if reporting.listener is not None:
            reporting.listener(event)

    folder = StateFolder(options.state_folder, plan.name)
    settings = librdkafka_settings(options.client_options)
    client = TopicClient(options.bootstrap_servers, settings, f"signalbox-pipeline-{plan.name}")
    topic_ids, _ = client.partitions([plan.topic])
    with folder.locked():
        stored = folder.read()
        reject_taken_names(options.state_folder, plan.name, is_audit=isinstance(options, AuditOptions))
        begun_with = stored.profile if stored else None
        requested_state = TableState(
            topic=plan.topic,
            topic_id=topic_ids[plan.topic],
            profile=begun_with or Profile.JARS,
            begin=flat_offsets(resolve(parse_position(begin_of(options, stored)), plan.topic, client).to_json()),
            schema=None if stored and stored.schema is None and plan.has_value_format else plan.schema,
            mode=plan.mode,
            event_time=plan.event_time,
        )
        # Everything that needs no Spark comes before its start, which takes a minute on a busy machine.
        last_batch = _last_batch(options, plan.name, stored)
        reject_other_owner(options.warehouse / plan.name, folder)
        folder.reject_mismatch(stored or requested_state, requested_state, last_batch)
        for batch in planned_batches(folder.checkpoint)[-2:]:  # those that the run goes on from
            batch_end(folder.checkpoint, batch)
        if stored is not None and stored.event_time is not None:
            committed = committed_batches(folder.checkpoint)
            times_of_batch(folder.path, committed[-1] + 1 if committed else 0, stored.event_time.delay_us)
        reject_other_partitions(options.warehouse / plan.name, plan.partition_by)
        if stored is None:
            reject_unconditional_store(options.warehouse)
        state = stored or replace(requested_state, schema=plan.decide_schema(client))
        if stored is not None and options.starting != "earliest":
            reporting.say(f"{plan.name}: the table exists, it goes on where it stopped (earlier records: backfill)")
        with open_engine(options, engine=engine, begun_with=begun_with, say=reporting.say) as opened:
            if stored is None:
                state = replace(state, profile=opened.profile)
            else:
                state = replace(state, schema=plan.declared(state.schema))
            shape = plan.shape_of(state.schema)
            shape = replace(shape, needs_key=state.mode == "upsert", has_watermark=state.event_time is not None)
            job = TableJob(folder, state, shape, plan.follow, plan.store, partition_by=plan.partition_by)
            run = TableRun(job, options, opened, client, report)
            run.prepare()
            folder.write(state)
            yield run


def begin_of(options: RunOptions, stored: TableState | None) -> str:
    """The position at which a new table begins; that of the options is for no other table."""
    return options.starting if stored is None else "earliest"


def reject_other_partitions(path: TableLocation, requested: tuple[str, ...]) -> None:
    """Raises StateError if the table exists with other partition columns than requested; none requested fits all."""
    columns = partition_columns(path)
    if requested and columns is not None and columns != requested:
        raise StateError(
            f"table {path.name} is partitioned by {', '.join(columns) or 'no column'}, not by {', '.join(requested)}: "
            "leave out the partition columns, or choose another name"
        )


def _last_batch(options: RunOptions, name: str, stored: TableState | None) -> int | None:
    """The newest batch of the pipeline in the table's log; None = none, or no table."""
    generation = stored.generation if stored is not None else 1
    path = options.warehouse / name
    try:
        return last_transaction(path, transaction_app(name, generation, name))
    except (DeltaError, OSError) as error:
        state = StateFolder(options.state_folder, name).path
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__  # a stack trace follows
        raise StateError(
            f"table {path} cannot be read: {reason}. Restore it and {state} from a backup, or remove both to read the "
            "topic from its beginning again"
        ) from error
