from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.storage.directories import log_move
from signalbox.storage.directories.log_move import MoveThrottle
from tests.storage.directories.test_log_move import BrokerLogs, values
from tests.storage.workbench import TP, append, batch

pytestmark = pytest.mark.spec("D3")


@pytest.fixture
def broker_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BrokerLogs:
    monkeypatch.setattr(log_move, "ROUND_BYTES", 3_000)
    monkeypatch.setattr(log_move, "LAST_ROUND_BYTES", 500)
    return BrokerLogs(tmp_path)


def test_what_is_above_the_burst_waits() -> None:
    clock, waits = ManualClock(), list[float]()
    throttle = MoveThrottle(clock.monotonic)
    throttle.call_later = lambda delay_ms, resume: waits.append(delay_ms)
    assert not throttle.delays(lambda: None)
    throttle.set_rate(1_000, 1)
    throttle.record(1_250)
    assert throttle.delays(lambda: None)
    clock.advance(250)
    assert not throttle.delays(lambda: None)
    assert waits == [250.0]


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
