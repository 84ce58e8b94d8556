from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.storage.directories import log_move
from signalbox.storage.directories.move_throttle import UNLIMITED, MoveThrottle
from tests.storage.directories.test_log_move import BrokerLogs, values
from tests.storage.workbench import TP, append, batch


class Throttled:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.waits: list[float] = []
        self.throttle = MoveThrottle(self.clock.monotonic)
        self.throttle.call_later = self._call_later

    def _call_later(self, delay_ms: float, resume: Callable[[], None]) -> None:
        self.waits.append(delay_ms)

    def delays(self) -> bool:
        return self.throttle.delays(lambda: None)


@pytest.fixture
def broker_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BrokerLogs:
    monkeypatch.setattr(log_move, "ROUND_BYTES", 3_000)
    monkeypatch.setattr(log_move, "LAST_ROUND_BYTES", 500)
    return BrokerLogs(tmp_path)


def test_without_a_rate_nothing_waits() -> None:
    made = Throttled()
    made.throttle.record(1 << 40)
    made.throttle.set_rate(UNLIMITED, 10)
    made.throttle.record(1 << 40)
    assert (made.delays(), made.waits) == (False, [])


def test_what_is_above_the_burst_is_paid_at_the_rate() -> None:
    made = Throttled()
    made.throttle.set_rate(1_000, 1)
    made.throttle.record(1_000)
    assert not made.delays()
    made.throttle.record(250)
    assert made.delays()
    made.throttle.record(1_000_000)
    assert made.delays()
    assert made.waits == [250.0, 500.0], "the rate may be raised meanwhile"
    made.clock.advance(1_000_250)
    assert not made.delays()


def test_a_rate_changes_while_moves_wait() -> None:
    made = Throttled()
    made.throttle.set_rate(1_000, 1)
    made.throttle.record(2_000)
    made.throttle.set_rate(100_000, 1)
    assert made.delays()
    assert made.waits == [10.0]
    made.throttle.set_rate(UNLIMITED, 1)
    assert not made.delays()
    made.throttle.set_rate(0, 1)
    made.throttle.record(1)
    assert made.delays(), "a rate of 0 stops all moves"


def test_a_throttled_move_goes_on_when_its_bytes_are_paid(broker_logs: BrokerLogs) -> None:
    for _ in range(40):
        append(broker_logs.log, batch(5))
    broker_logs.logs.moves.throttle.set_rate(1_000, 1)
    broker_logs.move()
    rounds = 0
    while list(broker_logs.logs.moves):
        copied = broker_logs.background.resume()
        if broker_logs.later:
            assert not broker_logs.background.jobs
            broker_logs.clock.advance(1_000)
            broker_logs.later.pop()()
            rounds += 1
        else:
            assert copied
    assert rounds >= broker_logs.log.size_bytes // 1_000 - 1
    assert broker_logs.log.body.directory.path == broker_logs.path("b")
    assert len(values(broker_logs.log)) == 200


def test_a_waiting_move_is_cancelled(broker_logs: BrokerLogs) -> None:
    for _ in range(40):
        append(broker_logs.log, batch(5))
    broker_logs.logs.moves.throttle.set_rate(0, 1)
    broker_logs.move()
    while not broker_logs.later:
        assert broker_logs.background.resume()
    [resume] = broker_logs.later
    broker_logs.logs.moves.cancel(TP)
    broker_logs.later.clear()
    resume()
    assert broker_logs.later == []
    broker_logs.end()
    assert (broker_logs.folders("a"), broker_logs.folders("b")) == (["flights-0"], [])
