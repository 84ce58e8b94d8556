"""What hot requests leave behind: counts per connection and API version, told in bulk to metrics and audit trail.

A generic request is observed one by one; a hot one only adds to plain numbers of its connection. They are settled
when somebody scrapes, when roll-ups are written, and when the connection ends.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest
from signalbox.protocol.headers import RequestHeader
from signalbox.security.request_context import RequestContext


class HotTally:
    """Requests of one connection at one version of one API since the last settlement. `sample` stands for all of
    them in the audit trail: its header has the client id."""

    __slots__ = ("count", "longest_s", "request_bytes", "response_bytes", "sample", "total_s")

    def __init__(self) -> None:
        self.sample: ApiRequest | None = None
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.count = self.request_bytes = self.response_bytes = 0
        self.total_s = self.longest_s = 0.0

    def stand_for(self, header: RequestHeader, context: RequestContext) -> None:
        """The requests counted from now on look like this one."""
        self.sample = ApiRequest(header, None, context, b"", 0.0)

    def add(self, request_bytes: int, response_bytes: int, duration_s: float) -> None:
        """One request that ended."""
        self.count += 1
        self.request_bytes += request_bytes
        self.response_bytes += response_bytes
        self.total_s += duration_s
        if duration_s > self.longest_s:
            self.longest_s = duration_s
