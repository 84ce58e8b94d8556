"""Rows of the table against the rows that were sent."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from signalbox.cli.demo.flights import COLUMNS, Flights
from signalbox.cli.demo.stage import CheckFailed, Stage
from signalbox.cli.demo.tables import compare_rows

pyarrow = pytest.importorskip("pyarrow")
deltalake = pytest.importorskip("deltalake")


def row(number: int, carrier: str) -> tuple[Any, ...]:
    return tuple(number if name == "id" else carrier if name == "carrier" else None for name in COLUMNS)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three flights, in another order than they were sent."""
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
    with pytest.raises(CheckFailed, match=r"\['carrier'\]"):
        compare_rows(stage(table), table, Flights([row(0, "UA"), row(1, "XX"), row(2, "UA")], []))
