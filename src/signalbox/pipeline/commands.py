"""API of the package for the command line, the demo and the tests. Importing it loads neither Spark nor Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.options import (
    AuditOptions,
    OptionError,
    RunOptions,
    TablesOptions,
    TemporaryError,
    warehouse_faults,
)
from signalbox.pipeline.topic_set.selection import TopicSelection

if TYPE_CHECKING:
    import pyarrow as pa

    from signalbox.pipeline.audit.run import AuditResult
    from signalbox.pipeline.engine import Engine
    from signalbox.pipeline.events import EventListener
    from signalbox.pipeline.positions.backfill import BackfillResult
    from signalbox.pipeline.rejected.replay import ReplayResult
    from signalbox.pipeline.sinks.maintain import TableMaintenance
    from signalbox.pipeline.tables.run import TablesResult
    from signalbox.pipeline.topic_set.run import TopicsResult

__all__ = [
    "AuditOptions",
    "OptionError",
    "PipelineNotInstalledError",
    "TablesOptions",
    "TemporaryError",
    "TopicSelection",
    "check_table",
    "fetch_jars",
    "list_rejected",
    "maintain_table",
    "open_engine",
    "read_figures",
    "read_table",
    "replay_rejected",
    "run_audit",
    "run_backfill",
    "run_tables",
    "run_topics",
    "show_rejected",
]


class PipelineNotInstalledError(RuntimeError):
    """The packages that the pipeline needs are not installed."""


@contextmanager
def _needs_the_extra() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as fault:
        package = (fault.name or "").partition(".")[0]
        if package == "signalbox":
            raise
        raise PipelineNotInstalledError(
            f"the Python package {package} is missing: install the wheel with its extra [pipeline] (README, Install)"
        ) from fault


def run_tables(
    options: TablesOptions,
    *,
    engine: Engine | None = None,
    listener: EventListener | None = None,
    say: Callable[[str], None] = print,
) -> TablesResult:
    """Writes a topic into a Delta table; see `tables/run.py`."""
    with _needs_the_extra():
        from signalbox.pipeline.tables import run

    return run.run_tables(options, engine=engine, listener=listener, say=say)


def run_topics(
    options: TablesOptions,
    selection: TopicSelection,
    *,
    engine: Engine | None = None,
    listener: EventListener | None = None,
    say: Callable[[str], None] = print,
) -> TopicsResult:
    """Writes several topics into a table each; see `topic_set/run.py`."""
    with _needs_the_extra():
        from signalbox.pipeline.topic_set import run

    return run.run_topics(options, selection, engine=engine, listener=listener, say=say)


def run_backfill(
    options: TablesOptions,
    *,
    engine: Engine | None = None,
    listener: EventListener | None = None,
    say: Callable[[str], None] = print,
) -> BackfillResult:
    """Adds earlier records to a table; see `positions/backfill.py`."""
    with _needs_the_extra():
        from signalbox.pipeline.positions import backfill

    return backfill.run_backfill(options, engine=engine, listener=listener, say=say)


def run_audit(
    options: AuditOptions,
    *,
    engine: Engine | None = None,
    listener: EventListener | None = None,
    say: Callable[[str], None] = print,
) -> AuditResult:
    """Writes the audit trail into tables, replaces the roll-ups and returns the figures; see `audit/run.py`."""
    with _needs_the_extra():
        from signalbox.pipeline.audit import run

    return run.run_audit(options, engine=engine, listener=listener, say=say)


def read_figures(
    warehouse: TableLocation, name: str = "audit_events", checkpoint_location: Path | None = None
) -> dict[str, Any]:
    """The figures of the report from the roll-up tables, as plain JSON values: no Spark, no Java, under a second.
    `checkpoint_location`: as of the run; None = the warehouse, which must be a folder."""
    with _needs_the_extra():
        from signalbox.pipeline.audit import figures

    if faults := warehouse_faults(warehouse):
        raise OptionError(faults)
    if checkpoint_location is None:
        if not isinstance(warehouse, Path):
            raise OptionError([f"warehouse is {warehouse}: set --checkpoint-location to that of `pipeline audit`"])
        checkpoint_location = warehouse
    return figures.read_figures(warehouse, name, checkpoint_location)


def read_table(path: TableLocation, columns: list[str] | None = None) -> pa.Table:
    """A Delta table (or some of its columns) as an Arrow table, without Spark. Raises FileNotFoundError."""
    with _needs_the_extra():
        from signalbox.pipeline.sinks import delta_log

    return delta_log.read_table(path, columns)


@contextmanager
def open_engine(options: RunOptions, say: Callable[[str], None] = print) -> Iterator[Engine]:
    """One Spark session for several runs: pass the yielded value as `engine`."""
    with _needs_the_extra():
        from signalbox.pipeline import engine

    with engine.open_engine(options, say=say) as opened:
        yield opened


def list_rejected(warehouse: TableLocation, name: str) -> list[dict[str, Any]]:
    """The reasons of a table's rejected records: number, and the first record. Raises StateError."""
    with _needs_the_extra():
        from signalbox.pipeline.rejected import listing

    return [asdict(count) for count in listing.count_reasons(listing.RejectedRecords(warehouse, name))]


def show_rejected(
    warehouse: TableLocation, name: str, limit: int, partition: int | None, offset: int | None
) -> Iterator[dict[str, Any]]:
    """Rejected records with their bytes, one after another. Raises StateError."""
    with _needs_the_extra():
        from signalbox.pipeline.rejected import listing

    return listing.shown(listing.RejectedRecords(warehouse, name), limit, partition=partition, offset=offset)


def replay_rejected(options: TablesOptions, mended: Path | None, say: Callable[[str], None]) -> ReplayResult:
    """Replays the rejected records of a table, see `rejected/replay.py`."""
    with _needs_the_extra():
        from signalbox.pipeline.rejected import replay

    return replay.replay_rejected(options, mended, say=say)


def check_table(warehouse: TableLocation, name: str, checkpoint_location: Path | None = None) -> dict[str, Any]:
    """Whether each record is in a table once, see `positions/check.py`; as plain JSON values. Raises StateError."""
    with _needs_the_extra():
        from signalbox.pipeline.positions import check

    result = check.check_table(warehouse, name, checkpoint_location)
    return {**asdict(result), "findings": result.findings}


def maintain_table(
    warehouse: TableLocation,
    name: str,
    target_mb: int,
    retention_hours: int,
    say: Callable[[str], None],
    cluster_by: tuple[str, ...] = (),
    checkpoint_location: Path | None = None,
) -> list[TableMaintenance]:
    """Maintains a table and those beside it, see `sinks/maintain.py`."""
    with _needs_the_extra():
        from signalbox.pipeline.sinks import maintain

    return maintain.maintain_table(
        warehouse,
        name,
        target_mb=target_mb,
        retention_hours=retention_hours,
        cluster_by=cluster_by,
        checkpoint_location=checkpoint_location,
        say=say,
    )


def fetch_jars(
    directory: Path | None = None, *, class_archive: bool = True, say: Callable[[str], None] = print
) -> tuple[Path, ...]:
    """Fetches and verifies the pinned jars and writes the class archive that halves Spark's start.

    Returns the jars' paths. Raises JarError.
    """
    from signalbox.pipeline.spark import jars

    paths = jars.fetch_jars(directory, say)
    if class_archive:
        with _needs_the_extra():
            from signalbox.pipeline.spark.class_archive import write_class_archive

        written = write_class_archive(paths)
        say(f"class archive: {written}" if written else "class archive: this Java cannot write one; starts stay slower")
    return paths
