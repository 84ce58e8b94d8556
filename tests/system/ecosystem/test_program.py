"""The rows that `make ecosystem` prints."""

from __future__ import annotations

import re
from pathlib import Path

from tests.system.ecosystem.__main__ import main
from tests.system.ecosystem.program import Program, run_programs


def fails(folder: Path) -> str:
    raise AssertionError("two records\nare repeated")


def test_a_row_for_each_program_and_the_sum(tmp_path: Path) -> None:
    lines: list[str] = []
    programs = (
        Program("right", lambda: "1.0", "everything is there", lambda folder: "7 records"),
        Program("wrong", lambda: "2.0", "everything is there", fails),
    )
    assert run_programs(programs, tmp_path, lines.append) == 1
    assert re.fullmatch(r"right +1\.0 +passed  everything is there: 7 records, 0 s", lines[0])
    assert re.fullmatch(r"wrong +2\.0 +FAILED  everything is there: two records are repeated \(.*\)", lines[1])
    assert lines[2:] == ["1 passed, 1 failed"]
    assert "AssertionError" in (tmp_path / "wrong" / "failure.txt").read_text()


def test_a_name_without_a_program() -> None:
    assert main(["no such program"]) == 2
