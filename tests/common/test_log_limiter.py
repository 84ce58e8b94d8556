"""One or a few log lines per kind and source in an interval, however many events one source causes."""

from __future__ import annotations

import asyncio
import logging

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.cooperative_task import CooperativeTask, yield_if_due
from signalbox.common.log_limiter import (
    CLIENT_CAUSED,
    INTERVAL_S,
    LINES_PER_INTERVAL,
    MAX_SOURCES,
    ClientLineLimits,
    LogLimiter,
    LogSource,
    TransitionLog,
    current_source,
)

INTERVAL_MS = int(INTERVAL_S * 1000)


def test_a_flood_of_one_source_hides_no_other() -> None:
    clock = ManualClock()
    limiter = LogLimiter(clock.monotonic)
    lines = [limiter.admit("garbled", "10.0.0.7") for _ in range(1000)]
    assert lines == ["", *[None] * 999]
    assert limiter.admit("garbled", "10.0.0.8") == ""
    assert limiter.admit("login", "10.0.0.7") == ""
    clock.advance(INTERVAL_MS)
    assert limiter.admit("garbled", "10.0.0.7") == " (suppressed 999 similar lines from this source)"
    assert limiter.admit("garbled", "10.0.0.7") is None
    clock.advance(INTERVAL_MS)
    assert limiter.admit("garbled", "10.0.0.8") == ""


def test_many_sources_share_a_line() -> None:
    clock = ManualClock()
    limiter = LogLimiter(clock.monotonic)

    def flood() -> list[str]:
        lines = (limiter.admit("garbled", f"10.0.{number >> 8}.{number & 255}") for number in range(10_000))
        return [line for line in lines if line is not None]

    assert flood() == [""] * (MAX_SOURCES + 1)
    clock.advance(INTERVAL_MS)
    assert flood()[-1] == f" (suppressed {10_000 - MAX_SOURCES - 1} similar lines from other sources)"
    clock.advance(INTERVAL_MS)
    assert limiter.admit("garbled", "10.9.9.9") == "", "the source is logged separately again"


def test_a_line_is_logged_when_a_failure_begins_changes_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    transitions = TransitionLog(logging.getLogger("test"), "recovered", logging.ERROR)
    transitions.recovered()
    for line in ("failing", "failing", "worse", "worse"):
        transitions.failed(line)
        assert transitions.is_failing
    transitions.recovered()
    transitions.recovered()
    assert not transitions.is_failing
    transitions.failed("worse")
    assert [(each.levelname, each.message) for each in caplog.records] == [
        ("ERROR", "failing"),
        ("ERROR", "worse"),
        ("INFO", "recovered"),
        ("ERROR", "worse"),
    ]


def test_without_a_recovery_line_the_end_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    transitions = TransitionLog(logging.getLogger("test"))
    transitions.failed("50% failing")
    transitions.recovered()
    assert [each.message for each in caplog.records] == ["50% failing"]


def test_a_limiter_for_several_lines_in_an_interval() -> None:
    clock = ManualClock()
    limiter = LogLimiter(clock.monotonic, lines=3)
    assert [limiter.admit("garbled", "10.0.0.7") for _ in range(5)] == ["", "", "", None, None]
    clock.advance(INTERVAL_MS)
    assert limiter.admit("garbled", "10.0.0.7") == " (suppressed 2 similar lines from this source)"


def test_a_source_ends_with_its_block() -> None:
    assert current_source() == ""
    with LogSource("10.0.0.1"):
        assert current_source() == "10.0.0.1"
    assert current_source() == ""


def test_a_task_that_a_request_created_is_the_nodes_after_the_request() -> None:
    async def look(go_on: asyncio.Event) -> list[str]:
        sources = [current_source()]
        await go_on.wait()
        return [*sources, current_source()]

    async def run() -> list[str]:
        go_on = asyncio.Event()
        with LogSource("10.0.0.1"):
            task = asyncio.create_task(look(go_on))
            await asyncio.sleep(0)
        go_on.set()
        return await task

    assert asyncio.run(run()) == ["10.0.0.1", ""]


def test_a_cooperative_task_keeps_its_source_to_itself() -> None:
    sources = list[str]()

    def work() -> None:
        with LogSource("10.0.0.1"):
            yield_if_due()
            sources.append(current_source())

    task = CooperativeTask(work)
    task.switch()
    assert current_source() == ""
    task.switch()
    assert sources == ["10.0.0.1"]


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
