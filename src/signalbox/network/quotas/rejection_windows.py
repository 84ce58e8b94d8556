"""Rejected connections in the audit trail: the first of a window is an event of its own, the others are one count.

A client that reconnects in a loop, a port scanner, a misconfigured plaintext client or a guesser of passwords is
rejected many times a second. One event per rejection would fill the audit topic and displace other events. The first
rejection is recorded at once; those with the same listener, kind, client address, client id, API and reason within ten
seconds become one event with `count` and the start and end of the window. A client can vary what it sends: beyond
MAX_REJECTION_DETAILS such windows of one address, its rejections share one, whose event has the details of the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from signalbox.common.audit_event import AuditEvent, AuditSink
from signalbox.common.clock import Clock
from signalbox.common.limits import MAX_REJECTION_DETAILS, MAX_REJECTION_WINDOWS

WINDOW_MS = 10_000

_Source = tuple[str, str, str]  # listener, kind of rejection, client address
_Key = tuple[_Source, tuple[str, ...]]  # and client id, API, reason


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
        self._windows: dict[_Key, _Window] = {}
        self._windows_of: Counter[_Source] = Counter()

    def record(self, kind: str, event: AuditEvent) -> None:
        """Record one rejected connection. `event.timestamp_ms` is set. With MAX_REJECTION_WINDOWS open windows, further
        rejections share one window per listener and kind, without an address."""
        source = (event.listener, kind, event.client_address)
        key: _Key = (source, (event.client_id, event.api, event.reason))
        if key not in self._windows and self._windows_of[source] >= MAX_REJECTION_DETAILS:
            key = (source, ())
        if key not in self._windows and len(self._windows) >= MAX_REJECTION_WINDOWS:
            key = ((event.listener, kind, ""), ())
            event = replace(event, client_address="", connection_id="", reason=f"{kind}: from many addresses")
        window = self._windows.get(key)
        if window is None:
            self._windows[key] = _Window(event.timestamp_ms)
            self._windows_of[key[0]] += 1
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

    def _close(self, keys: Iterable[_Key]) -> None:
        for key in keys:
            window = self._windows.pop(key)
            self._windows_of[key[0]] -= 1
            if not self._windows_of[key[0]]:
                del self._windows_of[key[0]]
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
