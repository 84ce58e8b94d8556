"""The rate since the beginning is kept."""

from __future__ import annotations

from signalbox.storage.cleaner.throttle import Throttle


def test_the_rate_is_kept_over_the_whole_time() -> None:
    now, pauses = [100.0], []  # type: ignore[var-annotated]
    throttle = Throttle(1_000.0, lambda: now[0], pauses.append)
    throttle.count(500)
    now[0] += 0.5
    throttle.count(100)
    now[0] += 10
    throttle.count(5_000)
    assert [round(pause, 3) for pause in pauses] == [0.5, 0.1]
