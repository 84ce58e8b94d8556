"""`signalbox pipeline rejected` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.pipeline import commands
from signalbox.pipeline.formats.format_options import FormatOptions
from signalbox.pipeline.rejected.replay import ReplayResult

pytestmark = pytest.mark.spec("P6")
COUNT = {"reason": "not_json", "records": 1200, "topic": "t", "partition": 1, "offset": 7}


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["pipeline", "rejected", *arguments])


def test_reasons_as_a_table_and_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "list_rejected", lambda *_: [COUNT])
    listed = run("list", "t", "--warehouse", "w")
    assert listed.exit_code == 0
    assert "not_json" in listed.stdout
    assert "1,200" in listed.stdout
    assert json.loads(run("list", "t", "--warehouse", "w", "--json").stdout) == [COUNT]
    monkeypatch.setattr(commands, "list_rejected", lambda *_: [])
    assert "t has no rejected records" in run("list", "t", "--warehouse", "w").stdout


def test_records_are_lines_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def show_rejected(*given: Any) -> list[dict[str, int]]:
        asked.append(given)
        return [{"offset": 1}, {"offset": 2}]

    monkeypatch.setattr(commands, "show_rejected", show_rejected)
    shown = run("show", "t", "--warehouse", "w", "--limit", "2", "--partition", "1")
    assert [json.loads(line) for line in shown.stdout.splitlines()] == [{"offset": 1}, {"offset": 2}]
    assert asked == [(Path("w"), "t", 2, 1, None)]


def test_a_replay_takes_new_schemas_and_the_options_of_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "registry.properties"
    config.write_text("basic.auth.user.info = user:word")
    asked: list[Any] = []

    def replay_rejected(options: Any, *_: Any) -> ReplayResult:
        asked.append(options)
        return ReplayResult(replayed=0, rejected=0, completed=0)

    monkeypatch.setattr(commands, "replay_rejected", replay_rejected)
    replayed = run(
        *("replay", "t", "--warehouse", "w", "--value-schema", "v.avsc", "--key-schema", "k.avsc"),
        *("--schema-registry", "http://r", "--registry-config", str(config), "--memory", "2g", "--conf", "spark.a=b"),
    )
    assert (replayed.exit_code, replayed.stderr) == (0, "")
    (options,) = asked
    assert options.formats == FormatOptions(
        value_schema=Path("v.avsc"),
        key_schema=Path("k.avsc"),
        schema_registry="http://r",
        registry_options={"basic.auth.user.info": "user:word"},
    )
    assert (options.memory, options.spark_options) == ("2g", {"spark.a": "b"})


def test_an_error_is_one_line_and_status_1(tmp_path: Path) -> None:
    for command in ("list", "show", "replay"):
        result = run(command, "t", "--warehouse", str(tmp_path))
        assert (result.exit_code, result.stdout) == (1, "")
        assert "there is no table t in" in result.stderr
