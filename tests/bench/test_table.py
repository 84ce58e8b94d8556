"""A benchmark counts the rows that have a bound: a row without a bound neither passes nor fails."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from bench.table import Row, Spread, Table, absolute, at_least, at_most


@pytest.mark.parametrize(
    ("row", "holds"),
    [
        (at_most("m", 3.0, 2.0, 1.5), True),
        (at_most("m", 3.1, 2.0, 1.5), False),
        (at_least("m", 2.0, 3.0, 1.5), True),
        (at_least("m", 2.1, 3.0, 1.5), False),
        (absolute("m", 5.0, 5.0), True),
        (absolute("m", 5.1, 5.0), False),
        (at_most("m", 3.0, 2.0, None), None),
        (at_least("m", 3.0, 2.0, None), None),
        (absolute("m", 5.0, None), None),
    ],
)
def test_a_row_without_a_bound_neither_holds_nor_fails(row: Row, holds: bool | None) -> None:
    assert row.holds is holds


def test_ratios_are_not_evaluated_beside_other_work(capsys: pytest.CaptureFixture[str]) -> None:
    for percent, holds in ((10.0, [False, False, None]), (80.0, [None, False, None])):
        table = Table("bench-of-a-test")
        for row in (at_most("ratio", 3.0, 1.0, 2.0), absolute("figure", 3.0, 2.0)):
            table.add(row)
        table.note_noise(percent)
        assert [row.holds for row in table.rows] == holds
    assert capsys.readouterr().out.count("not evaluated: ratio") == 1


def test_the_spread_of_the_rounds_stands_beside_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    spread = Spread.of([1.0, 3.0, 2.0], [400.0, 500.0], [0.25, 0.5])
    Table("bench-of-a-test").add(replace(at_most("ratio", 2.0, 450.0, 1.0), spread=spread))
    assert "holds  ours 1.00..3.00, reference 400..500, ratio 0.25..0.50" in capsys.readouterr().out
    assert str(Spread.of([1.0, 3.0])) == "ours 1.00..3.00"


def test_rows_without_a_bound_are_counted_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    table = Table("bench-of-a-test")
    for row in (absolute("kept", 1.0, 2.0), absolute("broken", 3.0, 2.0), absolute("shown", 9.0, None)):
        table.add(row)
    assert table.finish() == 1
    printed = capsys.readouterr().out
    assert "1 rows hold, 1 fail, 1 without a bound" in printed
    assert "fails: broken" in printed
    written = json.loads((tmp_path / "build" / "bench-of-a-test.json").read_text())
    assert [row["holds"] for row in written] == [True, False, None]
