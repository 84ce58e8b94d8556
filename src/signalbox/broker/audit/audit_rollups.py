"""Roll-ups: the requests of one connection for one API in a time window, as one event (counts, bytes, durations)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from signalbox.broker.api_request import ApiRequest
from signalbox.broker.metrics.request_metrics import FastPathStats
from signalbox.common.audit_event import MAX_CLIENT_ID_CHARACTERS, AuditEvent, AuditKind, AuditSink
from signalbox.common.clock import Clock
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.visible_text import clip

ROLLUP_WINDOW_S = 10.0


def _no_flush() -> None:
    """Default of `before_flush`: no component has counts of its own."""


class _Window:
    __slots__ = (
        "api_version", "client_id", "context", "count", "errors", "longest_s", "request_bytes", "response_bytes",
        "started_ms", "total_s",
    )  # fmt: skip

    def __init__(self, request: ApiRequest, started_ms: int) -> None:
        # Not the request itself: its frame, up to megabytes, would stay in memory until the window closes.
        self.context, self.api_version = request.context, request.header.api_version
        self.client_id = clip(request.header.client_id or "", MAX_CLIENT_ID_CHARACTERS)
        self.started_ms = started_ms
        self.count = self.errors = self.request_bytes = self.response_bytes = 0
        self.total_s = self.longest_s = 0.0


class AuditRollups:
    """Windows by connection and API; `flush` is called every ten seconds, `close` when a connection ends."""

    def __init__(self, sink: AuditSink, clock: Clock) -> None:
        self._sink = sink
        self._clock = clock
        self._windows: dict[str, dict[str, _Window]] = {}
        self.before_flush: Callable[[], None] = _no_flush  # the fast path adds its counts before windows close

    def add(self, request: ApiRequest, api: str, failed: bool, response_bytes: int, duration_s: float) -> None:
        """Count one completed request."""
        window = self._window(request, api)
        window.count += 1
        window.errors += failed
        window.request_bytes += len(request.frame)
        window.response_bytes += response_bytes
        window.total_s += duration_s
        window.longest_s = max(window.longest_s, duration_s)

    def add_fast_path(self, api: str, stats: FastPathStats) -> None:
        """Count the requests of one connection that took the fast path."""
        assert stats.sample is not None
        window = self._window(stats.sample, api)
        window.count += stats.count
        window.request_bytes += stats.request_bytes
        window.response_bytes += stats.response_bytes
        window.total_s += stats.total_s
        window.longest_s = max(window.longest_s, stats.longest_s)

    def _window(self, request: ApiRequest, api: str) -> _Window:
        apis = self._windows.get(request.context.connection_id)
        if apis is None:
            apis = self._windows[request.context.connection_id] = {}
        window = apis.get(api)
        if window is None:
            window = apis[api] = _Window(request, self._clock.now_ms())
        return window

    def flush(self) -> None:
        """Emit every window as an event; the next request opens a new window. Yields between connections."""
        self.before_flush()
        windows, self._windows = deque(self._windows.values()), {}
        try:
            while windows:
                self._emit(windows.popleft())
                yield_if_due()
        finally:  # the task may be ended where it yields, when the broker stops
            for apis in windows:
                self._emit(apis)

    def close(self, connection_id: str) -> None:
        """Emit the windows of a connection that was closed."""
        apis = self._windows.pop(connection_id, None)
        if apis is not None:
            self._emit(apis)

    def discard(self, connection_id: str) -> None:
        """A connection was closed before it was established: a client that connects in a loop, without a login, must
        not displace other events."""
        self._windows.pop(connection_id, None)

    def _emit(self, apis: dict[str, _Window]) -> None:
        now_ms = self._clock.now_ms()
        for api, window in apis.items():
            context = window.context
            self._sink.record(
                AuditEvent(
                    kind=AuditKind.ROLLUP,
                    timestamp_ms=now_ms,
                    listener=context.listener_name,
                    plane=context.plane,
                    connection_id=context.connection_id,
                    client_address=context.client_address,
                    client_id=window.client_id,
                    client_software=context.client_software,
                    principal=str(context.principal),
                    api=api,
                    api_version=window.api_version,
                    count=window.count,
                    error_count=window.errors,
                    duration_us=int(window.total_s * 1e6),
                    max_duration_us=int(window.longest_s * 1e6),
                    request_bytes=window.request_bytes,
                    response_bytes=window.response_bytes,
                    window_start_ms=window.started_ms,
                    window_end_ms=now_ms,
                )
            )
