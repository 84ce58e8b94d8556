"""The figures, from roll-up tables alone."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from signalbox.pipeline.audit.completeness import completeness_line
from signalbox.pipeline.audit.figures import COUNTED_ROLLUPS, LAST_RUN, read_figures
from signalbox.pipeline.audit.rollup_table import ROLLUPS, rollup_path
from signalbox.pipeline.sinks.delta_log import newest_version, replace_table
from signalbox.pipeline.table_state import StateError, StateFolder

pytestmark = pytest.mark.spec("P1")

NO_ROWS: dict[str, Any] = {"x": pa.array([], pa.int64())}


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A warehouse with three events, of which broker 1 wrote seq 0 and 2."""
    events = tmp_path / "events"
    contents: dict[str, dict[str, Any]] = dict.fromkeys(ROLLUPS, NO_ROWS)
    contents["kinds"] = {
        "kind": ["rollup", "forwarded"],
        "requests": [50, 1],
        "events": [2, 1],
        "first_ms": [5, 7],
        "last_ms": [9, 8],
    }
    contents["requests"] = {"api": ["FETCH", "PRODUCE"], "requests": [10, 41]}
    contents["sequences"] = {"broker_id": [1, 2], "broker_epoch": [7, 7], "events": [2, 1]}
    contents["sequences"] |= {"first_seq": [0, 0], "last_seq": [2, 0]}
    contents["gaps"] = {"broker_id": [1], "broker_epoch": [7], "from_seq": [1], "to_seq": [1]}
    for name, columns in contents.items():
        replace_table(rollup_path(events, name), pa.table(columns))
    replace_table(events, pa.table({"seq": [0, 2, 0]}))
    folder = StateFolder(tmp_path, "events")
    folder.path.mkdir(parents=True)
    (folder.path / LAST_RUN).write_text(json.dumps({"topic_records": 3}))
    return tmp_path


def test_figures_are_plain_json_and_quick(warehouse: Path) -> None:
    begun = time.monotonic()
    figures = read_figures(warehouse, "events", warehouse)
    assert time.monotonic() - begun < 30
    assert json.loads(json.dumps(figures)) == figures
    assert [row["api"] for row in figures["requests"]] == ["PRODUCE", "FETCH"]
    assert (figures["totals"]["requests"], figures["totals"]["forwarded"]) == (51, 1)
    assert (figures["totals"]["first_ms"], figures["totals"]["last_ms"]) == (5, 9)


def test_a_gap_makes_the_audit_trail_incomplete_and_is_located(warehouse: Path) -> None:
    found = read_figures(warehouse, "events", warehouse)
    assert found["completeness"]["complete"] is False
    assert completeness_line(found) == "INCOMPLETE: broker 1 epoch 7 lacks 1 events: seq 1"


def test_fewer_rows_than_records_are_incomplete_without_any_gap(warehouse: Path) -> None:
    replace_table(rollup_path(warehouse / "events", "gaps"), pa.table(NO_ROWS))
    sequences = {"broker_id": [1], "broker_epoch": [7], "events": [3], "first_seq": [0], "last_seq": [2]}
    replace_table(rollup_path(warehouse / "events", "sequences"), pa.table(sequences))
    assert read_figures(warehouse, "events", warehouse)["completeness"]["complete"] is True
    last_run = StateFolder(warehouse, "events").path / LAST_RUN
    last_run.write_text(json.dumps({"topic_records": 3, "unread_records": 2}))
    found = read_figures(warehouse, "events", warehouse)
    assert found["completeness"]["complete"] is False
    assert completeness_line(found) == "INCOMPLETE: 2 records of the topic are unread"
    last_run.write_text(json.dumps({"topic_records": 4}))
    found = read_figures(warehouse, "events", warehouse)
    assert found["completeness"]["complete"] is False
    assert completeness_line(found) == "INCOMPLETE: 3 events in the tables, 4 records in the topic"


def test_rows_that_a_run_has_added_since_the_renewal_are_not_counted(warehouse: Path) -> None:
    events = warehouse / "events"
    sequences = {"broker_id": [1], "broker_epoch": [7], "events": [3], "first_seq": [0], "last_seq": [2]}
    replace_table(rollup_path(events, "gaps"), pa.table(NO_ROWS))
    replace_table(rollup_path(events, "sequences"), pa.table(sequences))
    versions = {rollup: newest_version(rollup_path(events, rollup)) for rollup in COUNTED_ROLLUPS}
    counted = {"topic_records": 3, "table_rows": 3, "dead_rows": 0, "versions": versions}
    (StateFolder(warehouse, "events").path / LAST_RUN).write_text(json.dumps(counted))
    before = read_figures(warehouse, "events", warehouse)["completeness"]
    assert before["complete"] is True
    replace_table(events, pa.table({"seq": [0, 1, 2, 3]}))
    replace_table(warehouse / "events_dead", pa.table({"reason": ["not_json"]}))
    assert read_figures(warehouse, "events", warehouse)["completeness"] == before
    replace_table(rollup_path(events, "sequences"), pa.table({**sequences, "events": [4], "last_seq": [3]}))
    replace_table(rollup_path(events, "gaps"), pa.table(NO_ROWS))
    assert read_figures(warehouse, "events", warehouse)["completeness"] == before, "a renewal is in progress"


def test_rows_that_were_removed_since_the_renewal_are_missing(warehouse: Path) -> None:
    replace_table(rollup_path(warehouse / "events", "gaps"), pa.table(NO_ROWS))
    counted = {"topic_records": 3, "table_rows": 3, "dead_rows": 0}
    (StateFolder(warehouse, "events").path / LAST_RUN).write_text(json.dumps(counted))
    replace_table(warehouse / "events", pa.table({"seq": [0, 1]}))
    findings = read_figures(warehouse, "events", warehouse)["completeness"]["findings"]
    assert "2 events in the tables, 3 records in the topic" in findings
    assert "2 events in the tables, 3 in the sequences of the brokers" in findings


def test_an_empty_audit_trail_is_not_complete(warehouse: Path) -> None:
    for rollup in ("sequences", "gaps"):
        replace_table(rollup_path(warehouse / "events", rollup), pa.table(NO_ROWS))
    replace_table(warehouse / "events", pa.table(NO_ROWS))
    (StateFolder(warehouse, "events").path / LAST_RUN).write_text(json.dumps({"topic_records": 0}))
    found = read_figures(warehouse, "events", warehouse)
    assert found["completeness"]["complete"] is False
    assert completeness_line(found) == "INCOMPLETE: the audit trail is empty: no broker has an event in the tables"


def test_a_corrupt_count_of_the_last_run_is_named(warehouse: Path) -> None:
    (StateFolder(warehouse, "events").path / LAST_RUN).write_text('{"topic_records": ')
    with pytest.raises(StateError, match=r"events/last_run.json cannot be read"):
        read_figures(warehouse, "events", warehouse)
