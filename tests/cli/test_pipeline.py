"""`signalbox pipeline`: options are passed on, and faults in them are reported in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline import commands
from signalbox.pipeline.formats.format_options import FormatOptions
from signalbox.pipeline.options import RunOptions
from signalbox.pipeline.positions.backfill import BackfillResult
from signalbox.pipeline.report.page import report_page
from tests.pipeline.report.sample import figures


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("tables", "t", "--warehouse", "w", "--profile", "nonsense"), "nonsense"),
        (("audit", "--warehouse", "w", "--profile", "nonsense"), "nonsense"),
        (("tables", "t", "--warehouse", "w", "--commit", "nonsense"), "nonsense"),
    ],
)
def test_options_that_are_none(run: Any, tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    run("topic", "create", "t")
    result = run("pipeline", *(str(tmp_path / "w") if word == "w" else word for word in arguments))
    assert result.exit_code == 2
    assert text in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.spec("P10")
@pytest.mark.parametrize(
    ("command", "text"),
    [
        (("tables", "t"), "warehouse is s3://bucket/lake: set --checkpoint-location to a local folder that stays"),
        (("backfill", "t"), "warehouse is s3://bucket/lake: set --checkpoint-location"),
        (("rejected", "replay", "t"), "warehouse is s3://bucket/lake: set --checkpoint-location"),
        (("audit",), "warehouse is s3://bucket/lake: set --checkpoint-location to a local folder that stays"),
        (("report",), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together"),
        (("maintain", "t"), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together"),
        (("rejected", "list", "t"), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together"),
        (("rejected", "show", "t"), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together"),
    ],
)
def test_a_command_that_cannot_use_the_object_store_names_the_reason_and_writes_nothing(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cr3t")
    result = run("pipeline", *command, "--warehouse", "s3://bucket/lake")
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert "s3cr3t" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_warehouse_that_cannot_be_made_is_one_line(run: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    run("topic", "create", "t")
    result = run("pipeline", "tables", "t", "--warehouse", str(tmp_path / "file" / "lake"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(result.stderr.splitlines()) == 1


def test_a_warehouse_is_needed(run: Any) -> None:
    assert run("pipeline", "tables", "t").exit_code == 2


def test_a_directory_for_jars_that_cannot_be_made_is_one_line(run: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("pipeline", "jars", "--directory", str(tmp_path / "file" / "x"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "--directory" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.spec("P9")
@pytest.mark.parametrize("command", [("tables", "t"), ("audit",)])
def test_client_properties_come_from_the_command_config(run: Any, tmp_path: Path, command: tuple[str, ...]) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("security.protocol=SASL_SSL\n")
    result = run("pipeline", *command, "--warehouse", str(tmp_path / "w"), "--command-config", str(properties))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "sasl.jaas.config" in result.stderr


@pytest.mark.spec("P3")
@pytest.mark.parametrize("command", [("tables", "t"), ("backfill", "t"), ("audit",)])
@pytest.mark.parametrize(("flag", "fails"), [((), True), (("--no-fail-on-data-loss",), False)])
def test_lost_records_are_passed_over_on_request_only(
    run: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    flag: tuple[str, ...],
    fails: bool,
) -> None:
    def started(options: RunOptions, **_: Any) -> None:
        assert options.fail_on_data_loss is fails
        raise RuntimeError("the options are as expected")

    for name in ("run_tables", "run_backfill", "run_audit"):
        monkeypatch.setattr(commands, name, started)
    result = run("pipeline", *command, *flag, "--warehouse", str(tmp_path / "w"))
    assert (result.exit_code, "the options are as expected" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "no topic is named"),
        (("--topic-pattern", "("), "is no regular expression"),
        (("a", "b", "--name", "c"), "--name is for a single topic"),
        (("-t", "a,b", "--name", "c"), "--name is for a single topic"),
    ],
)
def test_topics_that_cannot_be_meant(run: Any, tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    result = run("pipeline", "tables", *arguments, "--warehouse", str(tmp_path / "w"))
    assert result.exit_code == 2
    assert text in result.stderr


@pytest.mark.spec("P3")
def test_a_pattern_that_matches_no_topic(run: Any, tmp_path: Path) -> None:
    result = run("pipeline", "tables", "--topic-pattern", "none-.*", "--warehouse", str(tmp_path / "w"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no topic of the cluster matches the pattern none-.*" in result.stderr


@pytest.mark.spec("P7")
@pytest.mark.parametrize("command", ["tables", "backfill"])
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--starting-offsets", "earliest", "--starting-timestamp", "15m"), "exclude each other"),
        (("--ending-timestamp", "soon"), "--ending-timestamp: 'soon' is not a time"),
        (("--ending-offsets", "middle"), "'middle' is no position"),
    ],
)
def test_positions_that_are_none(run: Any, tmp_path: Path, command: str, arguments: tuple[str, ...], text: str) -> None:
    result = run("pipeline", command, "t", "--warehouse", str(tmp_path / "w"), *arguments)
    assert result.exit_code in (1, 2)
    assert text in result.stderr


@pytest.mark.spec("P7", "P9")
def test_a_backfill_takes_the_registry_and_its_login(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "registry.properties"
    config.write_text("basic.auth.user.info = user:word")
    asked: list[Any] = []

    def run_backfill(options: Any, **_: Any) -> BackfillResult:
        asked.append(options.formats)
        return BackfillResult(tmp_path)

    monkeypatch.setattr(commands, "run_backfill", run_backfill)
    registry = ("--schema-registry", "http://r", "--registry-config", str(config))
    assert run("pipeline", "backfill", "t", "--warehouse", "w", *registry).exit_code == 0
    assert asked == [FormatOptions(schema_registry="http://r", registry_options={"basic.auth.user.info": "user:word"})]


@pytest.mark.spec("P2")
def test_the_report_is_a_page_or_json_and_its_status_says_if_it_is_complete(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = figures()
    monkeypatch.setattr("signalbox.pipeline.commands.read_figures", lambda *_: content)
    page = tmp_path / "page.html"
    result = run("pipeline", "report", "--warehouse", str(tmp_path), "-o", str(page))
    assert (result.exit_code, page.read_text()) == (0, report_page(content, str(tmp_path)))
    assert "0 anomalies, complete: 9 events = 9 records" in result.stdout
    run("pipeline", "report", "--warehouse", str(tmp_path))
    assert (tmp_path / "report.html").is_file()
    content["completeness"] |= {"complete": False, "findings": ["broker 1 epoch 7 begins at seq 50"]}
    result = run("pipeline", "report", "--warehouse", str(tmp_path), "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["anomalies"][0]["text"] == "broker 1 epoch 7 begins at seq 50"
    result = run("pipeline", "report", "--warehouse", str(tmp_path), "-o", str(tmp_path))
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)


@pytest.mark.spec("P2")
def test_a_report_without_an_audit_trail_is_one_line(run: Any, tmp_path: Path) -> None:
    result = run("pipeline", "report", "--warehouse", str(tmp_path))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "write the audit trail with `signalbox pipeline audit` first" in result.stderr
