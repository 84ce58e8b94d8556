"""Counts of fast-path requests per connection and API version, added in bulk to the metrics and the audit trail.

Requests of the generic path are observed one by one; a fast-path request only adds to the numbers of its connection.
The numbers are settled before a metrics scrape, before roll-ups are written, and when the connection is closed.
"""

from __future__ import annotations

from collections import deque

from signalbox.broker.api_request import ApiRequest
from signalbox.protocol.headers import RequestHeader
from signalbox.security.request_context import RequestContext


class FastPathStats:
    """Requests of one connection at one version of one API since the last settlement. `sample` represents all of them
    in the audit trail: its header has the client id. `durations` (s) is shared by all connections: it keeps the latest
    ones for the quantiles."""

    __slots__ = ("count", "durations", "longest_s", "request_bytes", "response_bytes", "sample", "total_s")

    def __init__(self) -> None:
        self.durations: deque[float] = deque(maxlen=0)
        self.sample: ApiRequest | None = None
        self.clear()

    def clear(self) -> None:
        """Reset all numbers."""
        self.count = self.request_bytes = self.response_bytes = 0
        self.total_s = self.longest_s = 0.0

    def set_sample(self, header: RequestHeader, context: RequestContext) -> None:
        """Set the sample that represents the requests counted from now on."""
        self.sample = ApiRequest(header, None, context, b"", 0.0)

    def add(self, request_bytes: int, response_bytes: int, duration_s: float) -> None:
        """Count one completed request."""
        self.count += 1
        self.request_bytes += request_bytes
        self.response_bytes += response_bytes
        self.total_s += duration_s
        self.durations.append(duration_s)
        if duration_s > self.longest_s:
            self.longest_s = duration_s
