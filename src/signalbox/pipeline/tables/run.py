"""`run_tables`: one topic → one Delta table (and its dead table)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from signalbox.pipeline.client.librdkafka_settings import librdkafka_settings
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import EventListener, Reporting
from signalbox.pipeline.formats.evolution import SchemaChanges
from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.observe.progress import duration_text
from signalbox.pipeline.offsets import limited, ranges_between
from signalbox.pipeline.open_run import TablePlan, open_run
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.sinks.delta_log import count_rows
from signalbox.pipeline.stream import spark_faults
from signalbox.pipeline.table_job import RunCounts
from signalbox.pipeline.table_run import TableRun
from signalbox.pipeline.tables.declared_columns import SchemaError
from signalbox.pipeline.tables.format_plan import FormatPlan
from signalbox.pipeline.tables.infer_schema import TooManyFieldsError, infer_ddl
from signalbox.pipeline.topic_client import TopicClient, new_reader, read_ranges

SAMPLE_RECORDS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesResult:
    """Counts of a run and of the tables after it; `late_rows` are among `dead_rows`. Paths are absolute.
    `schema_changes`: what the run changed in columns; `type_changes`: types that changed and that the table does not
    follow; both in words."""

    table: TableLocation
    dead_table: TableLocation | None
    profile: str
    rows: int
    dead_rows: int
    batches: int
    repeated_batches: int
    table_rows: int
    dead_table_rows: int
    seconds: float
    schema: str | None
    schema_changes: tuple[str, ...] = ()
    type_changes: tuple[str, ...] = ()
    late_rows: int = 0
    duplicate_rows: int = 0

    def as_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {
            **asdict(self),
            "table": str(self.table),
            "dead_table": str(self.dead_table) if self.dead_table else None,
        }


def sample_values(client: TopicClient, options: TablesOptions) -> list[bytes | None]:
    """Up to SAMPLE_RECORDS values from the beginning of every partition, divided by partition size."""
    begin = client.offsets([options.topic], "earliest")
    latest = client.offsets([options.topic], "latest")
    ranges = ranges_between(begin, limited(begin, latest, SAMPLE_RECORDS))
    settings = librdkafka_settings(options.client_options)
    reader = new_reader(options.bootstrap_servers, settings, "signalbox-pipeline-sample")
    try:
        return [value for batch in read_ranges(reader, ranges) for value in batch.column("value").to_pylist()]
    finally:
        reader.close()


def decide_schema(options: TablesOptions, client: TopicClient, say: Callable[[str], None]) -> str | None:
    """The schema of a new table: as declared, or from a sample. Raises SchemaError."""
    if options.schema != "infer":
        return options.schema
    values = sample_values(client, options)
    try:
        ddl = infer_ddl(values)
    except TooManyFieldsError as error:
        raise SchemaError(f"no schema can be inferred from topic {options.topic}: {error}") from error
    if ddl is None:
        raise SchemaError(
            f"no schema can be inferred from topic {options.topic}: none of its first {len(values)} values is a "
            "JSON object; declare one, or run without a schema"
        )
    say(f"{options.table_name}: schema from {len(values):,} records: {ddl.replace('`', '')}")
    return ddl


def _result(run: TableRun, counts: RunCounts, changes: SchemaChanges) -> TablesResult:
    dead_table = run.dead_target.path if run.has_dead_table else None
    return TablesResult(
        table=run.good_target.path,
        dead_table=dead_table,
        profile=run.job.state.profile.value,
        rows=counts.rows,
        dead_rows=counts.dead_rows,
        batches=counts.batches,
        repeated_batches=counts.repeated_batches,
        table_rows=count_rows(run.good_target.path),
        dead_table_rows=count_rows(dead_table) if dead_table else 0,
        seconds=counts.seconds,
        schema=run.job.state.schema,
        schema_changes=tuple(changes.followed),
        type_changes=tuple(changes.unfitting),
        late_rows=counts.late_rows,
        duplicate_rows=counts.duplicate_rows,
    )


def run_tables(
    options: TablesOptions,
    *,
    engine: Engine | None = None,
    listener: EventListener | None = None,
    say: Callable[[str], None] = print,
) -> TablesResult:
    """Writes `options.topic` into its table. See TablesOptions.

    `engine`: an open engine. `listener`: receives every step. `say`: receives lines for people.
    Raises what `open_run` raises, and PipelineError; a failed run can be started again and continues where it stopped.
    """
    reporting = Reporting(say, listener)
    formats = FormatPlan(options, reporting)
    plan = TablePlan(
        name=options.table_name,
        topic=options.topic,
        schema=options.schema,
        decide_schema=lambda client: decide_schema(options, client, say),
        declared=formats.declared,
        shape_of=formats.shape,
        follow=formats.follow,
        store=formats.store,
        has_value_format=options.formats.value_format is not None,
        mode="upsert" if options.upsert else "append",
        partition_by=options.partition_by,
        event_time=options.event_time,
    )
    with spark_faults(), open_run(options, plan, engine, reporting) as run:
        result = _result(run, run.run(), formats.changes)
    say(
        f"{options.table_name}: {result.rows:,} rows added in {result.batches} batches, "
        f"{duration_text(result.seconds)}; {result.table_rows:,} rows in {result.table}"
        + (f", {result.dead_table_rows:,} bad records in {result.dead_table}" if result.dead_table_rows else "")
        + (f"; {result.late_rows:,} of this run were late" if result.late_rows else "")
        + (f"; {result.duplicate_rows:,} duplicates dropped" if result.duplicate_rows else "")
    )
    return result
