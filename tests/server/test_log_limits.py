"""Log lines that clients cause are limited by message and source."""

from __future__ import annotations

import logging

from signalbox.common.clock import ManualClock
from signalbox.common.log_source import CLIENT_CAUSED, LogSource
from signalbox.server.log_limits import LINES_PER_INTERVAL, ClientLineLimits


class Lines:
    """A logger behind the limits; `texts` are the lines that pass."""

    def __init__(self) -> None:
        self.clock, self.texts = ManualClock(), list[str]()
        self.limits = ClientLineLimits(self.clock.monotonic)

    def log(self, text: str, *args: object, source: str = "", level: int = logging.INFO, marked: bool = False) -> None:
        record = logging.LogRecord("signalbox.x", level, "f.py", 1, text, args, None)
        record.__dict__.update(CLIENT_CAUSED if marked else {})
        with LogSource(source):
            if self.limits.filter(record):
                self.texts.append(record.getMessage())


def test_a_source_has_a_number_of_lines_of_each_message() -> None:
    lines = Lines()
    for number in range(1_000):
        lines.log("topic %d rejected", number, source="10.0.0.1")
    assert lines.texts == [f"topic {number} rejected" for number in range(LINES_PER_INTERVAL)]
    lines.log("member %s joins", "a", source="10.0.0.1")
    lines.log("topic %d rejected", 5, source="10.0.0.2")
    assert lines.texts[LINES_PER_INTERVAL:] == ["member a joins", "topic 5 rejected"]
    lines.clock.advance(10_000)
    lines.log("topic %d rejected", 6, source="10.0.0.1")
    assert lines.texts[-1] == "topic 6 rejected (suppressed 980 similar lines from this source)"


def test_lines_about_the_node_are_not_limited() -> None:
    lines = Lines()
    for _ in range(100):
        lines.log("leader elected")
        lines.log("log is corrupt", source="10.0.0.1", level=logging.ERROR)
    assert len(lines.texts) == 200


def test_marked_errors_are_limited() -> None:
    lines = Lines()
    for _ in range(100):
        lines.log("policy failed", source="10.0.0.1", level=logging.ERROR, marked=True)
        lines.log("login failed", level=logging.ERROR, marked=True)
    assert len(lines.texts) == 2 * LINES_PER_INTERVAL
