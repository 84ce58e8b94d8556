"""Log lines: readable, or JSON."""

from __future__ import annotations

import json
import logging
import sys

from signalbox.wiring.log_format import JsonFormat, LineFormat


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
