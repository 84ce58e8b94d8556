"""Opening a run: lock, topic, engine, stored state, tables; in the order in which each step can reject the run.

Nothing is written before all checks: a rejected run leaves the warehouse unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from signalbox.pipeline.checkpoint_files import flat_offsets
from signalbox.pipeline.client.librdkafka_settings import librdkafka_settings
from signalbox.pipeline.engine import Engine, open_engine
from signalbox.pipeline.events import PipelineEvent, Reporting
from signalbox.pipeline.options import RunOptions, reject_faulty
from signalbox.pipeline.progress import ProgressLines
from signalbox.pipeline.table_run import TableJob, TableRun
from signalbox.pipeline.table_state import StateFolder, TableState
from signalbox.pipeline.tables.projection import RecordShape
from signalbox.pipeline.topic_client import TopicClient


@dataclass(frozen=True, slots=True)
class TablePlan:
    """A table to be: `schema` as requested, `decide_schema` for the first run, `shape_of` for the decided schema."""

    name: str
    topic: str
    schema: str | None
    decide_schema: Callable[[TopicClient], str | None]
    shape_of: Callable[[str | None], RecordShape]


@contextmanager
def open_run(options: RunOptions, plan: TablePlan, engine: Engine | None, reporting: Reporting) -> Iterator[TableRun]:
    """A run that is ready to start. Raises OptionError, StateError, TopicError, JarError, JavaNotFoundError,
    SchemaError, SchemaBreakError."""
    reject_faulty(options)
    lines = ProgressLines(reporting.say)

    def report(event: PipelineEvent) -> None:
        lines(event)
        if reporting.listener is not None:
            reporting.listener(event)

    folder = StateFolder(options.warehouse, plan.name)
    settings = librdkafka_settings(options.client_options)
    client = TopicClient(options.bootstrap_servers, settings, f"signalbox-pipeline-{plan.name}")
    topic_ids, _ = client.partitions([plan.topic])
    with folder.locked():
        state = folder.read()
        begun_with = state.profile if state else None
        with open_engine(options, engine=engine, begun_with=begun_with, say=reporting.say) as opened:
            requested_state = TableState(
                topic=plan.topic,
                topic_id=topic_ids[plan.topic],
                profile=opened.profile,
                begin=flat_offsets(client.offsets([plan.topic], options.starting).to_json()),
                schema=plan.schema,
            )
            if state is None:
                state = replace(requested_state, schema=plan.decide_schema(client))
            job = TableJob(folder, state, plan.shape_of(state.schema))
            run = TableRun(job, options, opened, client, report)
            folder.reject_mismatch(state, requested_state, run.last_batch())
            run.prepare()
            folder.write(state)
            yield run
