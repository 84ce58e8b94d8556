"""Rejected connections in the audit trail: the first of a window is an event of its own, the others are one count.

A client that reconnects in a loop, a port scanner or a misconfigured plaintext client is rejected many times a second.
One event per rejection would fill the audit topic and displace other events. The first rejection is recorded at once;
those with the same listener, kind, client address and reason within ten seconds become one event with `count` and the
start and end of the window.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from signalbox.common.audit_event import AuditEvent, AuditSink
from signalbox.common.clock import Clock
from signalbox.common.limits import MAX_REJECTION_WINDOWS

WINDOW_MS = 10_000


@dataclass(slots=True)
class _Window:
    started_ms: int
    last: AuditEvent | None = None
    count: int = 0


class RejectionWindows:
    """One per socket server; `flush` is called about once a second and once at the end."""

    def __init__(self, audit: AuditSink, clock: Clock) -> None:
        self._audit = audit
        self._clock = clock
        self._windows: dict[tuple[str, str, str, str], _Window] = {}

    def record(self, kind: str, event: AuditEvent) -> None:
        """Record one rejected connection. `event.timestamp_ms` is set. With MAX_REJECTION_WINDOWS open windows, further
        rejections share one window per listener and kind, without an address."""
        key = (event.listener, kind, event.client_address, event.reason)
        if key not in self._windows and len(self._windows) >= MAX_REJECTION_WINDOWS:
            key = (event.listener, kind, "", "")
            event = replace(event, client_address="", connection_id="", reason=f"{kind}: from many addresses")
        window = self._windows.get(key)
        if window is None:
            self._windows[key] = _Window(event.timestamp_ms)
            self._audit.record(event)
            return
        window.last = event
        window.count += 1

    def flush(self) -> None:
        """Record the windows that have lasted WINDOW_MS as events."""
        ended = self._clock.now_ms() - WINDOW_MS
        self._close([key for key, window in self._windows.items() if window.started_ms <= ended])

    def close(self) -> None:
        """Record all windows as events."""
        self._close(list(self._windows))

    def _close(self, keys: Iterable[tuple[str, str, str, str]]) -> None:
        for key in keys:
            window = self._windows.pop(key)
            if window.last is None:
                continue
            counted = replace(
                window.last,
                timestamp_ms=self._clock.now_ms(),
                connection_id="",
                count=window.count,
                window_start_ms=window.started_ms,
                window_end_ms=window.last.timestamp_ms,
            )
            self._audit.record(counted)
