from __future__ import annotations

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.common.clock import ManualClock
from signalbox.network.plane import CONTROL, CONTROLLER, DATA, IdleMeter, Plane


class Source:
    queued, unsent, queue_seconds, busy_seconds = 3, 2, 0.5, 0.0


@pytest.mark.spec("C7")
@pytest.mark.parametrize(("name", "prefix"), [(DATA, ""), (CONTROL, "ControlPlane"), (CONTROLLER, "Controller")])
def test_kafkas_names_per_plane(name: str, prefix: str) -> None:
    registry, source = MetricRegistry(), Source()
    plane = Plane(name, source)
    plane.register(registry, ManualClock())
    plane.requests, plane.rejected_requests, plane.expired_connections_killed = 7, 8, 9
    plane.timed_out_connections = 10
    expected = {
        f"kafka.network:RequestChannel:{prefix}RequestQueueSize": 3,
        f"kafka.network:RequestChannel:{prefix}ResponseQueueSize": 2,
        f"kafka.network:SocketServer:{prefix}ExpiredConnectionsKilledCount": 9,
        f"kafka.network:SocketServer:{prefix}NetworkProcessorAvgIdlePercent": 1,
        f"kafka.server:KafkaRequestHandlerPool:{prefix}RequestHandlerAvgIdlePercent": 1,
        "signalbox.network:RequestChannel:RequestQueueTimeMs": 500,
        "signalbox.network:RequestChannel:Requests": 7,
        "signalbox.network:SocketServer:RejectedRequests": 8,
        "signalbox.network:SocketServer:TimedOutConnections": 10,
        "signalbox.network:SocketServer:Connections": 0,
    }
    samples = list(registry.samples())
    assert {":".join(sample.name): sample.value for sample in samples} == expected
    assert {sample.tags for sample in samples if sample.name.group == "signalbox.network"} == {(("plane", name),)}


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
