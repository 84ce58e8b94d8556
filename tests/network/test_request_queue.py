from __future__ import annotations

import asyncio
from typing import cast

from signalbox.common.clock import ManualClock
from signalbox.network.connection import InboundRequest
from signalbox.network.request_queue import RequestQueue


class Request:
    """The attributes of a request that the queue uses."""

    def __init__(self, name: str, received_at: float = 0.0) -> None:
        self.name = name
        self.header = name
        self.received_at = received_at
        self.closed = ""

    def close_connection(self, reason: str) -> None:
        self.closed = reason


class Sink:
    def __init__(self) -> None:
        self.names: list[str] = []

    def submit(self, request: InboundRequest) -> None:
        name = cast(Request, request).name
        if name == "broken":
            raise LookupError("a bug")
        self.names.append(name)


def test_requests_are_handled_in_order_by_one_handler() -> None:
    async def main() -> None:
        clock, sink = ManualClock(), Sink()
        queue = RequestQueue(sink, asyncio.get_running_loop(), clock)
        requests = [Request("first", 0.0), Request("broken", 0.5), Request("last", 1.0)]
        for request in requests:
            queue.submit(cast(InboundRequest, request))
        assert queue.queued == 3
        assert sink.names == []
        clock.advance(2000)
        await asyncio.sleep(0)
        assert sink.names == ["first", "last"]
        assert [request.closed for request in requests] == ["", "internal error", ""]
        assert queue.queued == queue.unsent == 0
        assert queue.queue_seconds == 2.0 + 1.5 + 1.0
        queue.submit(cast(InboundRequest, Request("again", 2.0)))
        await asyncio.sleep(0)
        assert sink.names[-1] == "again"

    asyncio.run(main())


def test_other_callbacks_run_between_two_slices() -> None:
    async def main() -> None:
        order: list[str] = []
        clock = ManualClock()

        class Slow(Sink):
            def submit(self, request: InboundRequest) -> None:
                clock.advance(1)
                super().submit(request)
                order.append(self.names[-1])

        loop = asyncio.get_running_loop()
        queue = RequestQueue(Slow(), loop, clock)
        for number in range(2):
            queue.submit(cast(InboundRequest, Request(str(number))))
        loop.call_soon(order.append, "other")
        await asyncio.sleep(0)
        assert order == ["0", "other"]
        await asyncio.sleep(0)
        assert order == ["0", "other", "1"]
        assert queue.queued == 0

    asyncio.run(main())
