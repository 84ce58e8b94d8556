"""`signalbox pipeline check` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from signalbox.cli.main import app
from tests.pipeline.positions.test_check import begun, rows

pytestmark = pytest.mark.spec("P3")


def test_a_table_without_repeats_ends_with_status_0(tmp_path: Path) -> None:
    begun(tmp_path, {"t:0": 13})
    rows(tmp_path, "t", (0, 10), (0, 12))
    result = CliRunner().invoke(app, ["pipeline", "check", "t", "--warehouse", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    assert "t: 2 rows, 0 rejected records, 1 offsets without a row" in result.stdout
    assert "t: no record is repeated" in result.stdout


def test_a_repeat_is_named_and_the_status_is_2(tmp_path: Path) -> None:
    begun(tmp_path, {"t:0": 13})
    rows(tmp_path, "t", (0, 10), (0, 12), (0, 12))
    result = CliRunner().invoke(app, ["pipeline", "check", "t", "--warehouse", str(tmp_path)])
    assert result.exit_code == 2
    assert "partition 0, offset 12" in result.stdout
    result = CliRunner().invoke(app, ["pipeline", "check", "t", "--warehouse", str(tmp_path), "--json"])
    assert result.exit_code == 2
    content = json.loads(result.stdout)
    assert (content["repeated_count"], content["repeated"]) == (1, [{"partition": 0, "offset": 12, "rows": 2}])
    assert len(content["findings"]) == 1


def test_an_error_is_one_line_and_status_1(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["pipeline", "check", "t", "--warehouse", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "there is no table t in" in result.stderr
