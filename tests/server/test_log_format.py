"""Log lines: readable, or JSON."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from signalbox.common.log_limiter import LINES_PER_INTERVAL, LogSource
from signalbox.server.log_format import JsonFormat, LineFormat, start_logging


def record(message: str, *args: object, failed: bool = False) -> logging.LogRecord:
    exc_info = None
    if failed:
        try:
            raise ValueError("why")
        except ValueError:
            exc_info = sys.exc_info()
    made = logging.LogRecord("signalbox.x", logging.WARNING, "f.py", 1, message, args, exc_info)
    made.created = 1_700_000_000.25
    return made


def test_a_line() -> None:
    line = LineFormat("7").format(record("%d logs", 3))
    assert line == "2023-11-14T22:13:20.250Z WARNING node=7 signalbox.x: 3 logs"


def test_json_is_one_line_whatever_the_message() -> None:
    text = JsonFormat("7").format(record('a "b"\nc', failed=True))
    assert "\n" not in text
    fields = json.loads(text)
    assert (fields["time"], fields["level"], fields["node"]) == ("2023-11-14T22:13:20.250+00:00", "WARNING", "7")
    assert fields["message"] == 'a "b"\nc'
    assert fields["exception"].endswith("ValueError: why")


def test_an_exception_follows_its_line() -> None:
    first, *rest = LineFormat("7").format(record("failed", failed=True)).splitlines()
    assert first.endswith("signalbox.x: failed")
    assert rest[-1] == "ValueError: why"


FORGED = "\n2026-11-22T00:00:00.000Z ERROR   node=7 signalbox: forged"


def test_a_client_cannot_forge_a_line() -> None:
    hostile = f"a\x00b\x1b[2J\r\t\x9b\u202e\u2028\udcff{FORGED}"
    line = LineFormat("7").format(record("client id %s", hostile))
    assert line.isprintable()
    assert line.endswith(
        r"client id a\x00b\x1b[2J\r\t\x9b\u202e\u2028\udcff\n2026-11-22T00:00:00.000Z ERROR   node=7 signalbox: forged"
    )
    assert LineFormat("7").format(record("Zürich 東京")).endswith(": Zürich 東京")


def test_nor_in_an_exception() -> None:
    try:
        raise ValueError(f"bad name{FORGED}\x00")
    except ValueError:
        failed = logging.LogRecord("signalbox.x", logging.ERROR, "f.py", 1, "failed", (), sys.exc_info())
    first, *rest = LineFormat("7").format(failed).split("\n")
    assert first.endswith("signalbox.x: failed")
    assert rest[-1].startswith("  2026-11-22T")
    assert all(line.isprintable() for line in rest)


def test_the_nodes_handler_limits_the_lines_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers = list[logging.Handler]()
    monkeypatch.setattr(logging, "basicConfig", lambda **options: handlers.extend(options["handlers"]))
    start_logging("7")
    [handler] = handlers
    passed = 0
    for _ in range(1_000):
        with LogSource("10.0.0.7"):
            passed += bool(handler.filter(record("rejected")))
    assert passed == LINES_PER_INTERVAL


@pytest.mark.parametrize(
    ("environment", "level", "formatter"),
    [
        ({}, "INFO", LineFormat),
        ({"LOG_LEVEL": "debug", "LOG_FORMAT": "JSON"}, "DEBUG", JsonFormat),
        ({"LOG_LEVEL": "WARNING", "LOG_FORMAT": "text"}, "WARNING", LineFormat),
    ],
)
def test_level_and_format_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], level: str, formatter: type[logging.Formatter]
) -> None:
    chosen: dict[str, Any] = {}
    monkeypatch.setattr(logging, "basicConfig", lambda **options: chosen.update(options))
    for name in ("LOG_LEVEL", "LOG_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    start_logging("7")
    assert (chosen["level"], type(chosen["handlers"][0].formatter)) == (level, formatter)


@pytest.mark.parametrize(("name", "value"), [("LOG_LEVEL", "loud"), ("LOG_FORMAT", "xml")])
def test_other_levels_and_formats_are_an_error(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"{name} of the environment is '{value}': expected one of "):
        start_logging("7")
