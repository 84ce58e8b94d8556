"""The control plane's own request queue: the requests of its connections in order of arrival, one handler (C1).

Callbacks of its own in the asyncio loop drain it, so that only the current slice of the data plane's work can delay it;
they have slices themselves, between which sockets and timers are looked at. A connection has at most one request in the
queue, so the number of connections limits its length.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from signalbox.common.clock import Clock
from signalbox.network.connection import InboundRequest
from signalbox.network.ports import RequestSink

_SLICE_SECONDS = 0.001

log = logging.getLogger("signalbox.network")


class RequestQueue:
    """A `RequestSink` that queues requests for another sink."""

    def __init__(self, sink: RequestSink, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self._sink = sink
        self._loop = loop
        self._clock = clock
        self._waiting: deque[InboundRequest] = deque()
        self.queue_seconds = 0.0
        self.busy_seconds = 0.0

    @property
    def queued(self) -> int:
        return len(self._waiting)

    @property
    def unsent(self) -> int:
        """Always 0: responses are passed to asyncio at once."""
        return 0

    def submit(self, request: InboundRequest) -> None:
        if not self._waiting:
            self._loop.call_soon(self._drain)
        self._waiting.append(request)

    def _drain(self) -> None:
        started = self._clock.monotonic()
        while self._waiting:
            request = self._waiting[0]
            self.queue_seconds += max(0.0, started - request.received_at)
            try:
                self._sink.submit(request)
            except Exception:
                log.exception("Unexpected error handling control request, the connection is closed: %s", request.header)
                request.close_connection("internal error")
            self._waiting.popleft()
            if self._waiting and self._clock.monotonic() - started >= _SLICE_SECONDS:
                self._loop.call_soon(self._drain)
                break
        self.busy_seconds += self._clock.monotonic() - started
