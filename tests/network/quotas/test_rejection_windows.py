"""Rejected connections in the audit trail: the first is an event at once, the rest of ten seconds are one count."""

from __future__ import annotations

from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.common.clock import ManualClock
from signalbox.common.limits import MAX_REJECTION_DETAILS, MAX_REJECTION_WINDOWS
from signalbox.network.quotas.rejection_windows import WINDOW_MS, RejectionWindows


class Recorded:
    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    def record(self, event: AuditEvent) -> None:
        self.events.append(event)


def reject(windows: RejectionWindows, clock: ManualClock, address: str = "10.0.0.7", listener: str = "CLIENT") -> None:
    event = AuditEvent(kind=AuditKind.REJECTED, listener=listener, client_address=address, reason="too many")
    event.timestamp_ms = clock.now_ms()
    windows.record("too_many_connections", event)


def test_a_storm_is_two_events_a_window() -> None:
    sink, clock = Recorded(), ManualClock()
    windows = RejectionWindows(sink, clock)
    begun = clock.now_ms()
    for _ in range(1_000):
        reject(windows, clock)
        clock.advance(5)
        windows.flush()
    assert [event.count for event in sink.events] == [1]
    clock.advance(WINDOW_MS)
    windows.flush()
    first, rest = sink.events
    assert (first.count, first.window_start_ms) == (1, -1)
    assert (rest.count, rest.window_start_ms, rest.window_end_ms) == (999, begun, begun + 4_995)
    assert (rest.listener, rest.client_address, rest.reason) == ("CLIENT", "10.0.0.7", "too many")
    reject(windows, clock)
    assert [event.count for event in sink.events] == [1, 999, 1]


def test_a_single_rejection_is_one_event() -> None:
    sink, clock = Recorded(), ManualClock()
    windows = RejectionWindows(sink, clock)
    reject(windows, clock)
    clock.advance(WINDOW_MS)
    windows.flush()
    windows.close()
    assert len(sink.events) == 1


def test_addresses_and_listeners_are_counted_apart() -> None:
    sink, clock = Recorded(), ManualClock()
    windows = RejectionWindows(sink, clock)
    for address, listener in (("a", "CLIENT"), ("b", "CLIENT"), ("a", "OTHER"), ("a", "CLIENT"), ("a", "CLIENT")):
        reject(windows, clock, address, listener)
    windows.close()
    seen = [(event.client_address, event.listener, event.count) for event in sink.events]
    assert seen == [("a", "CLIENT", 1), ("b", "CLIENT", 1), ("a", "OTHER", 1), ("a", "CLIENT", 2)]


def test_more_addresses_than_windows_share_one_and_none_is_left_out() -> None:
    sink, clock = Recorded(), ManualClock()
    windows = RejectionWindows(sink, clock)
    for number in range(MAX_REJECTION_WINDOWS + 500):
        reject(windows, clock, f"10.0.{number // 256}.{number % 256}")
    windows.close()
    assert sum(event.count for event in sink.events) == MAX_REJECTION_WINDOWS + 500
    assert len(sink.events) == MAX_REJECTION_WINDOWS + 2
    assert (sink.events[-1].client_address, sink.events[-1].count) == ("", 499)


def test_a_client_that_varies_what_it_sends_has_a_bounded_number_of_windows() -> None:
    sink, clock = Recorded(), ManualClock()
    windows = RejectionWindows(sink, clock)
    for number in range(1_000):
        event = AuditEvent(
            kind=AuditKind.DENIED,
            listener="CLIENT",
            client_address="10.0.0.7",
            client_id=f"client {number % 3}",
            api="SaslAuthenticate",
            reason=f"user {number} is unknown",
        )
        windows.record("authentication_failed", event)
    assert len(sink.events) == MAX_REJECTION_DETAILS + 1
    first = sink.events[0]
    assert (first.client_id, first.api, first.reason) == ("client 0", "SaslAuthenticate", "user 0 is unknown")
    clock.advance(WINDOW_MS)
    windows.flush()
    assert sum(event.count for event in sink.events) == 1_000
    rest = sink.events[-1]
    assert (rest.client_address, rest.client_id, rest.count) == ("10.0.0.7", "client 0", 989)
    windows.record("authentication_failed", event)
    assert sink.events[-1].reason == "user 999 is unknown", "with the window's end, the details are recorded again"


def test_clients_of_one_address_are_counted_apart() -> None:
    sink, clock = Recorded(), ManualClock()
    windows = RejectionWindows(sink, clock)
    for client_id, api in (("a", "Fetch"), ("b", "Fetch"), ("a", "Produce"), ("a", "Fetch")):
        event = AuditEvent(kind=AuditKind.REJECTED, client_address="10.0.0.7", client_id=client_id, api=api)
        windows.record("unsupported_version", event)
    windows.close()
    assert [(event.client_id, event.api) for event in sink.events] == [
        ("a", "Fetch"), ("b", "Fetch"), ("a", "Produce"), ("a", "Fetch"),
    ]  # fmt: skip
