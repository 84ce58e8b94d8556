"""docs/measured.md is rendered from bench/history; its files have the schema, and each failing row has one reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from bench.measured.page import render
from bench.measured.reasons import Reason, disagreements, read_reasons
from bench.measured.recording import command_line, parse, save, this_machine
from bench.measured.run_file import Machine, Run, RunRow, newest, read_history, read_run, write_run
from bench.table import absolute, absolute_at_least, at_least, at_most, run_row

_ROOT = Path(__file__).parents[2]
_HISTORY = _ROOT / "bench" / "history"
_MACHINE = Machine(2, "a processor", 24, "CPython 3.11.7", None)


def a_run(*rows: RunRow, **fields: object) -> Run:
    run = Run("bench", "2026-01-02", "10:00", "abcdef0123", True, _MACHINE, None, rows)
    return replace(run, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", sorted(_HISTORY.glob("*.json")), ids=lambda path: path.stem)
def test_each_file_has_the_schema(path: Path) -> None:
    assert read_run(path).rows


def test_the_page_is_rendered_from_the_files() -> None:
    page = render(newest(read_history(_HISTORY)), read_reasons(_HISTORY / "reasons.toml"))
    assert (_ROOT / "docs" / "measured.md").read_text(encoding="utf-8") == page, "run python -m bench.measured"


def test_each_failing_row_has_one_reason_and_each_reason_a_failing_row() -> None:
    assert disagreements(newest(read_history(_HISTORY)), read_reasons(_HISTORY / "reasons.toml")) == []


def test_missing_double_and_outdated_reasons_are_reported() -> None:
    rows = (run_row(absolute(name, 2.0, 1.0)) for name in ("alone, s", "twice, s"))
    reasons = [Reason("bench", ("twice", "gone"), "so"), Reason("bench", ("twice",), "or so")]
    assert disagreements({"bench": a_run(*rows)}, reasons) == [
        "bench: alone: fails without a reason",
        "bench: gone: a reason, and no failing row",
        "bench: twice: two reasons",
    ]


def test_a_run_that_is_written_is_read_again(tmp_path: Path) -> None:
    rows = (run_row(at_most("cost, us", 3.0, 2.0, 1.6)), run_row(at_least("codec, us", 1.0, 2.0, 1.5)))
    run = a_run(*rows, number=2, note="at noon")
    path = write_run(run, tmp_path)
    assert path.name == "2026-01-02-bench-abcdef0123-2.json"
    assert read_run(path) == run


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("date", "2026-01-03", "differ from the content"),
        ("time", "noon", "not a time of day"),
        ("surprise", 1, "unknown keys"),
    ],
)
def test_a_file_without_the_schema_is_rejected(tmp_path: Path, key: str, value: object, problem: str) -> None:
    path = write_run(a_run(run_row(absolute("m, s", 1.0, 2.0))), tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(ValueError, match=problem):
        read_run(path)


def test_a_result_that_contradicts_its_figures_is_rejected(tmp_path: Path) -> None:
    row = replace(run_row(absolute("m, s", 1.0, 2.0)), holds=False)
    with pytest.raises(ValueError, match="contradicts"):
        read_run(write_run(a_run(row), tmp_path))


def test_the_page_shows_the_newest_complete_run() -> None:
    old, new = a_run(time=None), a_run(number=2)
    later = a_run(date="2026-01-03", complete=False)
    assert newest([later, new, old]) == {"bench": new}


def test_rows_that_differ_in_the_statistic_share_a_line() -> None:
    rows = [
        absolute("gap, p99, us", 4.0, 5.0),
        absolute("gap, worst, us", 30.0, 20.0),
        absolute("shown, us", 1.0, None),
    ]
    rows += [absolute_at_least("connections, a second", 1_506.0, 3_000.0), at_most("cost, ms", 3.0, 2.0, 1.6)]
    reasons = [Reason("bench", ("gap, worst", "connections"), "Because.")]
    page = render({"bench": a_run(*map(run_row, rows))}, reasons)
    assert "| gap, p99 / worst, µs | 4 / 30 | – | – | ≤ 5 / 20 | yes / **no** (1) |" in page
    assert "| connections, a second | 1,506 | – | – | ≥ 3,000 | **no** (1) |" in page
    assert "| cost, ms | 3 | 2 | 1.5 | ≤ 1.6 | yes |" in page
    assert "shown" not in page
    assert "1. `bench`: Because." in page


def test_saved_runs_of_one_day_and_commit_get_numbers(tmp_path: Path) -> None:
    rows = [run_row(absolute("m, s", 1.0, 2.0))]
    first, second = (read_run(save("bench", rows, tmp_path)) for _ in range(2))
    assert (first.number, second.number) == (1, 2)
    assert first.machine == this_machine()
    assert first.machine.cores is not None


@pytest.mark.parametrize("arguments", [["--quick"], ["--only", "fetch"]])
def test_a_run_that_is_not_complete_is_not_saved(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    parser = command_line("python -m bench")
    parser.add_argument("--only", default="")
    monkeypatch.setattr("sys.argv", ["bench", "--save", *arguments])
    with pytest.raises(SystemExit):
        parse(parser)
