"""`run_audit`: the audit topic → the events table, the roll-up tables and the figures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from signalbox.pipeline.alerts.alert_topic import AlertTopic
from signalbox.pipeline.alerts.rules import AlertRules, RuleSettings
from signalbox.pipeline.alerts.watch import alert_writer, recall
from signalbox.pipeline.audit.completeness import completeness_line
from signalbox.pipeline.audit.event_table import KEPT_COLUMNS, NEWER_SCHEMA, event_ddl
from signalbox.pipeline.audit.figures import read_figures
from signalbox.pipeline.audit.renewal import renew
from signalbox.pipeline.client.librdkafka_settings import librdkafka_settings
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import EventListener, Reporting
from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.object_store.open_table import store_faults
from signalbox.pipeline.observe.progress import duration_text
from signalbox.pipeline.open_run import TablePlan, open_run
from signalbox.pipeline.options import AuditOptions
from signalbox.pipeline.sinks.delta_log import TableFiles
from signalbox.pipeline.stream import spark_faults
from signalbox.pipeline.table_job import RunCounts
from signalbox.pipeline.table_run import TableRun
from signalbox.pipeline.tables.declared_columns import fields_of
from signalbox.pipeline.tables.projection import RecordShape


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """Counts of a run, the path of the events table, and the figures (see `audit/figures.py`)."""

    events_table: TableLocation
    dead_table: TableLocation
    profile: str
    rows: int
    dead_rows: int
    batches: int
    seconds: float
    figures: dict[str, Any]

    @property
    def complete(self) -> bool:
        """Whether no event is missing or repeated, from seq 0, for every writer."""
        return bool(self.figures["completeness"]["complete"])


def audit_shape(ddl: str | None) -> RecordShape:
    """Events as rows; needs a session."""
    return RecordShape(fields_of(ddl), kept=KEPT_COLUMNS, rejected=NEWER_SCHEMA, takes_tombstones=False)


def _meanwhile(run: TableRun, options: AuditOptions) -> Callable[[], None]:
    renewed = [time.monotonic()]

    def renew_when_due() -> None:
        if options.trigger_seconds is not None and time.monotonic() - renewed[0] > options.roll_up_every_seconds:
            renew(run)
            renewed[0] = time.monotonic()

    return renew_when_due


def _alerts(
    run: TableRun, options: AuditOptions, name: str, say: Callable[[str], None]
) -> Callable[[DataFrame, int], None]:
    topic = AlertTopic(options.bootstrap_servers, librdkafka_settings(options.client_options), name)
    topic.create()
    settings = RuleSettings(
        broker_principals=frozenset(options.broker_principals), public_listeners=frozenset(options.public_listeners)
    )
    rules = AlertRules(settings)
    earlier = _earlier_rows(run)
    if earlier is not None:
        with store_faults(run.good_target.path, PySparkException):
            recall(rules, earlier)
    return alert_writer(rules, topic, say)


def _earlier_rows(run: TableRun) -> DataFrame | None:
    """The rows of the batches that the table holds; their alerts were written before them. None: there is none."""
    files = TableFiles(run.good_target.path).all()
    return run.rows_of(files) if files else None


def _result(run: TableRun, counts: RunCounts, options: AuditOptions) -> AuditResult:
    return AuditResult(
        events_table=run.good_target.path,
        dead_table=run.dead_target.path,
        profile=run.job.state.profile.value,
        rows=counts.rows,
        dead_rows=counts.dead_rows,
        batches=counts.batches,
        seconds=counts.seconds,
        figures=read_figures(options.warehouse, options.name, options.state_folder),
    )


def run_audit(
    options: AuditOptions,
    *,
    engine: Engine | None = None,
    listener: EventListener | None = None,
    say: Callable[[str], None] = print,
) -> AuditResult:
    """Writes the audit trail into tables and returns the figures. See AuditOptions.

    Raises what `open_run` raises, and PipelineError; a failed run can be started again and continues where it stopped.
    """
    ddl = event_ddl()
    plan = TablePlan(options.name, options.topic, None, lambda _: ddl, audit_shape)
    with spark_faults(), open_run(options, plan, engine, Reporting(say, listener)) as run:
        if options.alerts_topic is not None:
            run.on_rows = _alerts(run, options, options.alerts_topic, say)
        counts = run.run(_meanwhile(run, options))
        started = time.monotonic()
        renew(run)
        say(f"{options.name}: roll-ups renewed in {duration_text(time.monotonic() - started)}")
        result = _result(run, counts, options)
    say(f"{options.name}: {result.rows:,} events added; {completeness_line(result.figures)}")
    return result
