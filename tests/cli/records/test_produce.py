"""`signalbox produce`: lines become records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signalbox.cli.records.produce import LineFormat


@pytest.mark.parametrize(
    ("line_format", "line", "record"),
    [
        (LineFormat(), b"a:b", (None, b"a:b")),
        (LineFormat(key=b"k"), b"a", (b"k", b"a")),
        (LineFormat(separator=b":"), b"a:b:c", (b"a", b"b:c")),
        (LineFormat(separator=b":", key=b"k"), b"abc", (b"k", b"abc")),
        (LineFormat(separator=b":", empty_is_null=True), b":", (None, None)),
        (LineFormat(separator=b":"), b":", (b"", b"")),
        (LineFormat(separator=b":", null=b"NULL"), b"a:NULL", (b"a", None)),
    ],
)
def test_key_and_value_of_a_line(
    line_format: LineFormat, line: bytes, record: tuple[bytes | None, bytes | None]
) -> None:
    assert line_format.parse(line) == record


def records_of(run: Any, topic: str) -> list[dict[str, Any]]:
    printed = run("consume", "-t", topic, "-e", "--json").stdout
    return [json.loads(line) for line in printed.splitlines()]


def test_lines_with_keys_headers_and_tombstones(run: Any) -> None:
    run("topic", "create", "lines", "--partitions", "1")
    options = ("-K", r"\t", "-H", "source=test", "-z", "zstd", "--null", "NULL", "--timestamp", "1500")
    produced = run("produce", "-t", "lines", *options, lines="a\t1\nb\tNULL\nplain\n")
    assert (produced.exit_code, produced.stdout) == (0, "lines: 3 records produced\n")
    rows = records_of(run, "lines")
    assert [(row["key"], row["value"]) for row in rows] == [("a", "1"), ("b", None), (None, "plain")]
    assert {json.dumps(row["headers"]) for row in rows} == {'[["source", "test"]]'}
    assert {row["timestamp_ms"] for row in rows} == {1500}


def test_a_file_a_partition_and_json(run: Any, tmp_path: Path) -> None:
    run("topic", "create", "placed", "--partitions", "3")
    file = tmp_path / "input"
    file.write_text("x\ny\n")
    produced = run("produce", "-t", "placed", "-p", "2", "-k", "same", str(file), "--json")
    assert json.loads(produced.stdout) == {"topic": "placed", "records": 2, "partitions": {"2": 2}}
    assert [(row["partition"], row["key"]) for row in records_of(run, "placed")] == [(2, "same"), (2, "same")]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("-t", "rejected", "-p", "7"), 1, "topic rejected has no partition 7"),
        (("-t", "rejected", "-H", "nonsense"), 2, "--header takes key=value"),
        (("-t", "rejected", "-z", "rar"), 2, "compression.type"),
        (("-t", "rejected", "-X", "acks=1"), 2, "acks is always all"),
        (("-t", "rejected", "--timestamp", "soon"), 2, "'soon' is not a time"),
        (("-t", "rejected", "/nonexistent/file"), 1, "/nonexistent/file"),
    ],
)
def test_rejections(run: Any, arguments: tuple[str, ...], code: int, text: str) -> None:
    run("topic", "create", "rejected")
    result = run("produce", *arguments, lines="x\n")
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in result.stderr


def test_a_record_that_the_broker_rejects_ends_the_command(run: Any) -> None:
    run("topic", "create", "small", "--config", "max.message.bytes=200")
    result = run("produce", "-t", "small", lines="x" * 2_000 + "\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "MESSAGE_TOO_LARGE" in result.stderr


def test_an_empty_separator_names_the_option(run: Any) -> None:
    result = run("produce", "-t", "any", "-K", "")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--key-separator is empty" in result.stderr
