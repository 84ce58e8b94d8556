"""Rows of the table against the rows that were produced."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from signalbox.cli.demo.flights import COLUMNS, Flights
from signalbox.cli.demo.stage import CheckFailed, Stage
from signalbox.cli.demo.tables import check_audit_sequences, compare_offsets, compare_rows
from signalbox.testing.process_cluster import ProcessCluster

pyarrow = pytest.importorskip("pyarrow")
deltalake = pytest.importorskip("deltalake")


def row(number: int, carrier: str) -> tuple[Any, ...]:
    return tuple(number if name == "id" else carrier if name == "carrier" else None for name in COLUMNS)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three flights, in another order than they were produced."""
    sent = [row(2, "UA"), row(0, "UA"), row(1, "B6")]
    kinds = {"id": pyarrow.int64(), "carrier": pyarrow.string()}
    columns = {
        name: pyarrow.array([each[index] for each in sent], kinds.get(name, pyarrow.int32()))
        for index, name in enumerate(COLUMNS)
    }
    deltalake.write_deltalake(str(tmp_path / "flights"), pyarrow.table(columns))
    return tmp_path / "flights"


def stage(folder: Path) -> Stage:
    return Stage(Console(file=io.StringIO()), folder, None, None)  # type: ignore[arg-type]


def test_row_by_row_whatever_the_order(table: Path) -> None:
    seen = stage(table)
    compare_rows(seen, table, Flights([row(0, "UA"), row(1, "B6"), row(2, "UA")], []))
    assert seen.facts["carriers"] == [("UA", 2), ("B6", 1)]


def test_a_wrong_value_names_its_column(table: Path) -> None:
    with pytest.raises(CheckFailed, match=r"wrong: carrier$"):
        compare_rows(stage(table), table, Flights([row(0, "UA"), row(1, "XX"), row(2, "UA")], []))


def events(folder: Path, offsets: list[tuple[int, int]]) -> Path:
    rows = {"partition": [partition for partition, _ in offsets], "offset": [offset for _, offset in offsets]}
    deltalake.write_deltalake(str(folder / "events"), pyarrow.table(rows))
    return folder / "events"


ENDS = {0: (0, 2), 1: (5, 6)}
ALL = [(0, 0), (0, 1), (1, 5)]


def test_every_offset_of_the_topic_is_one_row(tmp_path: Path) -> None:
    seen = stage(tmp_path)
    compare_offsets(seen, events(tmp_path, [*ALL, (0, 2)]), ENDS)  # the topic has grown since
    assert seen.checks[-1].seen == "3 records, 0 missing, 0 twice"


@pytest.mark.parametrize(
    ("offsets", "ends", "message"),
    [
        (ALL[:-1], ENDS, "3 records, 1 missing, 0 twice"),
        ([*ALL, (0, 1)], ENDS, "3 records, 0 missing, 1 twice"),
        ([(0, 0), (0, 1), (0, 2)], ENDS, "3 records, 1 missing, 0 twice"),
        (ALL, {0: (0, 0)}, "0 records"),
    ],
    ids=["one missing", "one twice", "as many of another partition", "an empty topic"],
)
def test_a_table_that_is_not_the_topic_fails_the_check(
    tmp_path: Path, offsets: list[tuple[int, int]], ends: dict[int, tuple[int, int]], message: str
) -> None:
    with pytest.raises(CheckFailed, match=message):
        compare_offsets(stage(tmp_path), events(tmp_path, offsets), ends)


def completeness(*sequences: tuple[int, bool], complete: bool = True) -> dict[str, Any]:
    rows = [{"broker_id": broker_id, "broker_epoch": 1, "whole": gapless} for broker_id, gapless in sequences]
    return {"brokers": rows, "topic_records": 9, "unread_records": 0, "table_rows": 9, "complete": complete}


def test_the_audit_sequences_of_every_broker_are_checked(tmp_path: Path) -> None:
    seen = stage(tmp_path)
    seen.cluster = ProcessCluster(tmp_path, 2)
    check_audit_sequences(seen, completeness((1, True), (2, True), (2, True)))
    assert seen.checks[-2].seen == "3 broker runs"


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (completeness((1, True), (2, False)), "broker 2 epoch 1"),
        (completeness((1, True)), "broker 2 has no events"),
        (completeness(), "broker 1 has no events, broker 2 has no events"),
        (
            completeness((1, True), (2, True), complete=False),
            "call the audit trail complete: 9 rows, 9 records read, 0 unread",
        ),
    ],
)
def test_an_audit_trail_that_is_not_complete_fails_the_check(
    tmp_path: Path, found: dict[str, Any], message: str
) -> None:
    seen = stage(tmp_path)
    seen.cluster = ProcessCluster(tmp_path, 2)
    with pytest.raises(CheckFailed, match=message):
        check_audit_sequences(seen, found)
