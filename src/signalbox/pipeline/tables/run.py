"""`run_tables`: one topic → one Delta table (and its dead table)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.types import StructType

from signalbox.pipeline.delta_log import count_rows
from signalbox.pipeline.engine import Engine, open_engine
from signalbox.pipeline.events import EventListener, PipelineEvent
from signalbox.pipeline.offsets import limited, ranges_between
from signalbox.pipeline.options import TablesOptions, refuse_faulty
from signalbox.pipeline.progress import ProgressLines, duration_text
from signalbox.pipeline.table_run import RunCounts, TableRun
from signalbox.pipeline.table_state import StateFolder, TableState
from signalbox.pipeline.tables.infer_schema import infer_ddl
from signalbox.pipeline.tables.projection import RecordShape
from signalbox.pipeline.topic_client import TopicClient, new_reader, read_ranges

SAMPLE_RECORDS = 5_000


class SchemaError(ValueError):
    """A declared schema that cannot be read, or a topic from which none can be inferred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesResult:
    """What a run did and what the tables hold now. Paths are absolute."""

    table: Path
    dead_table: Path | None
    profile: str
    rows: int
    dead_rows: int
    batches: int
    repeated_batches: int
    table_rows: int
    dead_table_rows: int
    seconds: float
    schema: str | None

    def as_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {key: str(value) if isinstance(value, Path) else value for key, value in asdict(self).items()}


def sample_values(client: TopicClient, options: TablesOptions) -> list[bytes | None]:
    """Up to SAMPLE_RECORDS values from the beginning of every partition, shared out by size."""
    begin = client.offsets([options.topic], "earliest")
    latest = client.offsets([options.topic], "latest")
    ranges = ranges_between(begin, limited(begin, latest, SAMPLE_RECORDS))
    reader = new_reader(options.bootstrap_servers, options.client_options, "signalbox-pipeline-sample")
    try:
        return [value for batch in read_ranges(reader, ranges) for value in batch.column("value").to_pylist()]
    finally:
        reader.close()


def _ddl(options: TablesOptions, client: TopicClient, say: Callable[[str], None]) -> str | None:
    if options.schema != "infer":
        return options.schema
    values = sample_values(client, options)
    ddl = infer_ddl(values)
    if ddl is None:
        raise SchemaError(
            f"no schema can be inferred from topic {options.topic}: none of its first {len(values)} values is a "
            "JSON object; declare one, or run without a schema"
        )
    say(f"{options.table_name}: schema from {len(values):,} records: {ddl.replace('`', '')}")
    return ddl


def fields_of(ddl: str | None) -> StructType | None:
    """The declared fields. Raises SchemaError with what Spark's parser says. Needs a session."""
    if ddl is None:
        return None
    try:
        return StructType.fromDDL(ddl)
    except Exception as fault:
        raise SchemaError(f"the schema [{ddl}] cannot be read: {str(fault).strip().splitlines()[0]}") from fault


def _result(run: TableRun, counts: RunCounts) -> TablesResult:
    raw = run.shape.fields is None
    return TablesResult(
        table=run.good_target.path,
        dead_table=None if raw else run.dead_target.path,
        profile=run.state.profile,
        rows=counts.rows,
        dead_rows=counts.dead_rows,
        batches=counts.batches,
        repeated_batches=counts.repeated_batches,
        table_rows=count_rows(run.good_target.path),
        dead_table_rows=0 if raw else count_rows(run.dead_target.path),
        seconds=counts.seconds,
        schema=run.state.schema,
    )


def run_tables(
    options: TablesOptions,
    *,
    engine: Engine | None = None,
    listener: EventListener | None = None,
    say: Callable[[str], None] = print,
) -> TablesResult:
    """Brings `options.topic` into its table. See TablesOptions.

    `engine`: one that is open already. `listener`: told every step. `say`: where lines for people go.
    Raises OptionError, StateError, SchemaError, SchemaBreakError, TopicError, JarError, JavaNotFoundError,
    PipelineError; a run that raised can be started again and goes on where it was.
    """
    refuse_faulty(options)
    folder = StateFolder(options.warehouse, options.table_name)
    lines = ProgressLines(say)

    def tell(event: PipelineEvent) -> None:
        lines(event)
        if listener is not None:
            listener(event)

    with folder.locked():
        known = folder.read()
        client_id = f"signalbox-pipeline-{options.table_name}"
        client = TopicClient(options.bootstrap_servers, options.client_options, client_id)
        client.partitions([options.topic])
        begun_with = known.profile if known else None
        with open_engine(options, engine=engine, begun_with=begun_with, say=say) as opened:
            state = known
            if state is None:
                state = TableState(
                    topic=options.topic, profile=opened.profile, schema=_ddl(options, client, say)
                )
            run = TableRun(
                spark=opened.spark,
                options=options,
                topic=options.topic,
                folder=folder,
                state=state,
                shape=RecordShape(fields=fields_of(state.schema)),
                sink=opened.sink(options.commit),
                listener=tell,
                client=client,
            )
            last_batch = run.sink.last_batch(run.good_target)
            folder.refuse_mismatch(state, options.topic, options.schema, last_batch)
            run.prepare()
            folder.write(state)
            result = _result(run, run.run())
    say(
        f"{options.table_name}: {result.rows:,} rows added in {result.batches} batches, "
        f"{duration_text(result.seconds)}; {result.table_rows:,} rows in {result.table}"
        + (f", {result.dead_table_rows:,} bad records in {result.dead_table}" if result.dead_table_rows else "")
    )
    return result
