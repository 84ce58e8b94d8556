"""One log line per kind and source in an interval, however many events one source causes."""

from __future__ import annotations

from signalbox.common.clock import ManualClock
from signalbox.common.log_limiter import INTERVAL_S, MAX_SOURCES, LogLimiter

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


def test_a_limiter_for_several_lines_in_an_interval() -> None:
    clock = ManualClock()
    limiter = LogLimiter(clock.monotonic, lines=3)
    assert [limiter.admit("garbled", "10.0.0.7") for _ in range(5)] == ["", "", "", None, None]
    clock.advance(INTERVAL_MS)
    assert limiter.admit("garbled", "10.0.0.7") == " (suppressed 2 similar lines from this source)"
