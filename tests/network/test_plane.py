from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.metrics import MetricName, NullMetrics
from signalbox.network.plane import CONTROL, CONTROLLER, DATA, IdleMeter, Plane


class Source:
    queued, unsent, queue_seconds, busy_seconds = 3, 2, 0.5, 0.0


class Gauges(NullMetrics):
    def __init__(self) -> None:
        self.read: dict[str, Callable[[], float]] = {}

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        self.read[f"{name.group}:{name.type}:{name.name}"] = read


@pytest.mark.spec("C7")
@pytest.mark.parametrize(("name", "prefix"), [(DATA, ""), (CONTROL, "ControlPlane"), (CONTROLLER, "Controller")])
def test_kafkas_names_per_plane(name: str, prefix: str) -> None:
    gauges, source = Gauges(), Source()
    plane = Plane(name, source)
    plane.register(gauges, ManualClock())
    plane.requests, plane.rejected_requests, plane.expired_connections_killed = 7, 8, 9
    plane.timed_out_connections = 10
    expected = {
        f"kafka.network:RequestChannel:{prefix}RequestQueueSize": 3,
        f"kafka.network:RequestChannel:{prefix}ResponseQueueSize": 2,
        f"kafka.network:RequestChannel:{prefix}RequestQueueTimeMsTotal": 500,
        f"kafka.network:RequestChannel:{prefix}RequestsTotal": 7,
        f"kafka.network:SocketServer:{prefix}RejectedRequestsCount": 8,
        f"kafka.network:SocketServer:{prefix}ExpiredConnectionsKilledCount": 9,
        f"kafka.network:SocketServer:{prefix}TimedOutConnectionsCount": 10,
        f"kafka.network:SocketServer:{prefix}NetworkProcessorAvgIdlePercent": 1,
        f"kafka.server:KafkaRequestHandlerPool:{prefix}RequestHandlerAvgIdlePercent": 1,
        f"kafka.network:SocketServer:{prefix}ConnectionCount": 0,
    }
    assert {key: read() for key, read in gauges.read.items()} == expected


def test_idle_between_two_readings() -> None:
    clock = ManualClock()
    busy = [0.0]
    meter = IdleMeter(lambda: busy[0], clock)
    clock.advance(1000)
    busy[0] = 0.25
    assert meter.read() == 0.75
    clock.advance(1000)
    assert meter.read() == 1.0
    assert meter.read() == 1.0
