"""The figures of the report, read from the roll-up tables as plain JSON values: no Spark, no Java.

`completeness` comes first because every other figure depends on it: it holds the event sequence of every broker, the
table's rows beside the topic's records up to where the last run read, and how many records the run left unread of those
that the topic had when it began. All are of one moment, the last renewal of the roll-ups: a run that goes on has added
rows since then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from signalbox.pipeline.audit.completeness import completeness_findings
from signalbox.pipeline.audit.rollup_table import ROLLUPS, rollup_path
from signalbox.pipeline.audit.sequence_check import writer_sequences
from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.sinks.delta_log import count_rows, read_table, read_version
from signalbox.pipeline.table_state import StateFolder, read_state_file

FIGURES_VERSION = 1
LAST_RUN = "last_run.json"
COUNTED_ROLLUPS = ("sequences", "gaps")
"""The roll-ups of the check of completeness; the last run's file names their versions."""

# The column by which each list is sorted, and whether descending: largest first, or by time.
_ORDER = {"latency": ("window_ms", False), "clients": ("last_ms", True), "kinds": ("events", True)}


def _rows(events_table: TableLocation, rollup: str, version: int | None = None) -> list[dict[str, Any]]:
    """The rows of a roll-up; None: of its newest version."""
    path = rollup_path(events_table, rollup)
    rows: list[dict[str, Any]] = (read_table(path) if version is None else read_version(path, version)).to_pylist()
    key, newest_first = _ORDER.get(rollup, ("requests", True))
    return sorted(rows, key=lambda row: row.get(key) or 0, reverse=newest_first)


def _row_count(table: TableLocation, counted: int | None) -> int:
    """The rows when they were counted; fewer if some were removed since then. None: those of now."""
    rows = count_rows(table)
    return rows if counted is None else min(rows, counted)


def _completeness(warehouse: TableLocation, name: str, state_folder: Path) -> dict[str, Any]:
    events_table = warehouse / name
    last_run = StateFolder(state_folder, name).path / LAST_RUN
    # Before the tables: a renewal meanwhile leaves the versions that this file names.
    counted = read_state_file(last_run) if last_run.is_file() else {}
    versions = counted.get("versions", {})
    sequences = writer_sequences(*(_rows(events_table, rollup, versions.get(rollup)) for rollup in COUNTED_ROLLUPS))
    table_rows = _row_count(events_table, counted.get("table_rows"))
    dead_rows = _row_count(events_table.with_name(f"{name}_dead"), counted.get("dead_rows"))
    topic_records, unread = counted.get("topic_records"), counted.get("unread_records", 0)
    completeness = {
        "topic_records": topic_records,
        "unread_records": unread,
        "table_rows": table_rows,
        "dead_rows": dead_rows,
        "missing_events": sum(sequence.missing for sequence in sequences),
        "duplicate_events": sum(sequence.duplicates for sequence in sequences),
        "brokers": [sequence.as_json() for sequence in sequences],
    }
    findings = completeness_findings(completeness)
    return {"complete": not findings, "findings": findings, **completeness}


def _totals(figures: dict[str, Any]) -> dict[str, Any]:
    by_kind = {row["kind"]: row["requests"] for row in figures["kinds"]}
    times = [(row["first_ms"], row["last_ms"]) for row in figures["kinds"]]
    return {
        "requests": sum(row["requests"] for row in figures["requests"]),
        "forwarded": by_kind.get("forwarded", 0),
        "rejected": by_kind.get("rejected", 0),
        "denied": by_kind.get("denied", 0),
        "misrouted": by_kind.get("misrouted", 0),
        "connections": by_kind.get("connection_open", 0),
        "first_ms": min((first for first, _ in times), default=None),
        "last_ms": max((last for _, last in times), default=None),
    }


def read_figures(warehouse: TableLocation, name: str, state_folder: Path) -> dict[str, Any]:
    """All figures. `state_folder`: the folder of the checkpoint, in which the run left its counts. Raises
    FileNotFoundError when the audit pipeline has not run in this warehouse."""
    events_table = warehouse / name
    figures: dict[str, Any] = {"version": FIGURES_VERSION, "completeness": _completeness(warehouse, name, state_folder)}
    lists = {rollup: _rows(events_table, rollup) for rollup in ROLLUPS if rollup not in COUNTED_ROLLUPS}
    figures.update(lists)
    figures["totals"] = _totals(figures)
    return figures
