"""Roll-ups: one event per window, connection and API."""

from __future__ import annotations

from signalbox.broker.audit.audit_rollups import AuditRollups
from signalbox.broker.metrics.request_metrics import FastPathStats
from signalbox.common.audit_event import AuditKind
from signalbox.common.clock import ManualClock
from signalbox.common.cooperative_task import CooperativeTask
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.heartbeat import HeartbeatRequest
from tests.broker.handler_requests import RecordingAuditSink, context, request_of


def rollups() -> tuple[AuditRollups, RecordingAuditSink, ManualClock]:
    sink, clock = RecordingAuditSink(), ManualClock()
    return AuditRollups(sink, clock), sink, clock


def test_a_window_sums_what_one_connection_asked_of_one_api() -> None:
    rolled, sink, clock = rollups()
    request = request_of(HeartbeatRequest(group_id="g"), 4)
    started = clock.now_ms()
    rolled.add(request, "HEARTBEAT", False, 10, 0.001)
    clock.advance(2_000)
    rolled.add(request, "HEARTBEAT", True, 20, 0.003)
    rolled.flush()
    [event] = sink.events
    assert (event.kind, event.api, event.api_version, event.client_id) == (AuditKind.ROLLUP, "HEARTBEAT", 4, "test")
    assert (event.count, event.error_count) == (2, 1)
    assert (event.request_bytes, event.response_bytes) == (2 * len(request.frame), 30)
    assert (event.duration_us, event.max_duration_us) == (4000, 3000)
    assert (event.window_start_ms, event.window_end_ms) == (started, clock.now_ms())
    assert (event.listener, event.plane, event.principal) == ("CLIENT", "data", "User:alice")


def test_a_flush_ends_windows_and_an_idle_one_writes_nothing() -> None:
    rolled, sink, _ = rollups()
    rolled.add(request_of(HeartbeatRequest(), 4), "HEARTBEAT", False, 1, 0.0)
    rolled.flush()
    rolled.flush()
    assert len(sink.events) == 1


def test_the_windows_of_a_closed_connection_are_written_at_once_and_no_others() -> None:
    rolled, sink, _ = rollups()
    mine, other = context(), context()
    other.connection_id = "c-2"
    rolled.add(request_of(HeartbeatRequest(), 4, mine), "HEARTBEAT", False, 1, 0.0)
    rolled.add(request_of(HeartbeatRequest(), 4, mine), "METADATA", False, 1, 0.0)
    rolled.add(request_of(HeartbeatRequest(), 4, other), "HEARTBEAT", False, 1, 0.0)
    rolled.close("c-1")
    rolled.close("c-1")
    rolled.close("never seen")
    assert [(event.connection_id, event.api) for event in sink.events] == [("c-1", "HEARTBEAT"), ("c-1", "METADATA")]
    rolled.flush()
    assert sink.events[-1].connection_id == "c-2"


def test_a_connection_that_was_never_established_leaves_none() -> None:
    """A client that connects in a loop, without a login, must not displace other events."""
    rolled, sink, _ = rollups()
    rolled.add(request_of(ApiVersionsRequest(), 0), "API_VERSIONS", False, 1, 0.0)
    rolled.discard("c-1")
    rolled.discard("c-1")
    rolled.flush()
    assert sink.events == []


def test_a_window_holds_the_begin_of_a_long_client_id() -> None:
    rolled, sink, _ = rollups()
    request = request_of(HeartbeatRequest(), 4)
    request.header = request.header._replace(client_id="i" * 32_767)
    rolled.add(request, "HEARTBEAT", False, 1, 0.0)
    rolled.flush()
    assert sink.events[0].client_id == "i" * 1_000 + "..."


def test_fast_path_requests_join_the_same_window_and_are_added_before_a_flush() -> None:
    rolled, sink, _ = rollups()
    request = request_of(HeartbeatRequest(), 4)
    rolled.add(request, "PRODUCE", False, 1, 0.001)

    def settle() -> None:
        stats = FastPathStats()
        stats.set_sample(request.header, request.context)
        stats.add(100, 50, 0.002)
        rolled.add_fast_path("PRODUCE", stats)

    rolled.before_flush = settle
    rolled.flush()
    [event] = sink.events
    assert (event.count, event.request_bytes, event.max_duration_us) == (2, len(request.frame) + 100, 2000)


def test_a_flush_that_is_ended_where_it_yields_loses_no_window() -> None:
    """As when the broker stops: its background tasks are cancelled."""
    rolled, sink, _ = rollups()
    for number in range(3):
        who = context()
        who.connection_id = f"c-{number}"
        rolled.add(request_of(HeartbeatRequest(), 4, who), "HEARTBEAT", False, 1, 0.0)
    task = CooperativeTask(rolled.flush)
    task.run_slice(0.0)
    assert [event.connection_id for event in sink.events] == ["c-0"]
    task.throw()
    assert [event.connection_id for event in sink.events] == ["c-0", "c-1", "c-2"]


def test_a_window_keeps_no_frame() -> None:
    rolled, _, _ = rollups()
    request = request_of(HeartbeatRequest(), 4)
    rolled.add(request, "HEARTBEAT", False, 1, 0.0)
    [window] = rolled._windows["c-1"].values()
    assert not hasattr(window, "request")
    assert (window.client_id, window.api_version) == ("test", 4)
