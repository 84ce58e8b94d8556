"""`signalbox pipeline maintain` on the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.pipeline.sinks.deleted_keys import deleted_keys_path
from signalbox.pipeline.table_state import StateFolder

pytestmark = pytest.mark.spec("P8")


def test_a_table_is_maintained_and_the_result_is_json(tmp_path: Path) -> None:
    for number in range(3):
        write_deltalake(str(tmp_path / "t"), pa.table({"n": [number]}), mode="append")
    result = CliRunner().invoke(app, ["pipeline", "maintain", "t", "--warehouse", str(tmp_path), "--json"])
    assert result.exit_code == 0
    (table,) = json.loads(result.stdout)
    assert (table["table"], table["files_before"], table["files_after"]) == ("t", 3, 1)
    assert "t: 3 files became 1" in result.stderr


def test_a_table_that_is_not_there_is_one_line_and_status_1(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["pipeline", "maintain", "t", "--warehouse", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "there is no table t in" in result.stderr


def test_columns_to_cluster_by_are_passed_on(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"n": [2, 1], "m": [1, 2]}))
    result = CliRunner().invoke(
        app, ["pipeline", "maintain", "t", "--warehouse", str(tmp_path), "--cluster-by", "n, m"]
    )
    assert result.exit_code == 0, result.stderr
    assert "t: 1 files became 1" in result.stdout
    result = CliRunner().invoke(
        app, ["pipeline", "maintain", "t", "--warehouse", str(tmp_path), "--cluster-by", "none"]
    )
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cluster by none: the table has no such column, but n, m" in result.stderr


def test_the_checkpoint_location_of_the_runs_is_passed_on(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "lake" / "t"), pa.table({"n": [1]}))
    write_deltalake(str(deleted_keys_path(StateFolder(tmp_path / "state", "t").path)), pa.table({"n": [1]}))
    places = ["--warehouse", str(tmp_path / "lake"), "--checkpoint-location", str(tmp_path / "state")]
    result = CliRunner().invoke(app, ["pipeline", "maintain", "t", *places, "--json"])
    assert result.exit_code == 0, result.stderr
    assert [table["table"] for table in json.loads(result.stdout)] == ["t", "deleted_keys"]


def test_a_repeated_maintenance_goes_on_after_a_conflict(tmp_path: Path) -> None:
    for number in range(3):
        write_deltalake(str(tmp_path / "t"), pa.table({"n": [number]}), mode="append")
    blocked = tmp_path / "t" / "_delta_log" / f"{3:020d}.json"
    blocked.mkdir()  # no commit gets this version
    assert CliRunner().invoke(app, ["pipeline", "maintain", "t", "--warehouse", str(tmp_path)]).exit_code == 1
    code = "from signalbox.cli.main import run; run()"
    command = [sys.executable, "-c", code, "pipeline", "maintain", "t", "--warehouse", str(tmp_path), "--json"]
    with subprocess.Popen(
        [*command, "--every", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert re.search("other commits came first: .*; the next attempt is in 1 s", process.stderr.readline())
            blocked.rmdir()
            (table,) = json.loads(process.stdout.readline())
            assert (table["files_before"], table["files_after"]) == (3, 1)
        finally:
            process.terminate()
