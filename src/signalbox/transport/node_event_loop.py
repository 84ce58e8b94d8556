"""asyncio's event loop of a node, which can be asked whether anything waits in it, without a round.

A round of asyncio costs as much as a small request, and beside a busy data plane most rounds find nothing to do. The
data loop asks between two slices and lets asyncio run only if the answer is yes: the control plane, timers and
callbacks wait no longer than before.
"""

from __future__ import annotations

import asyncio
import os
import select
import selectors

from signalbox.transport.poll_gaps import PollGaps


class NodeEventLoop(asyncio.SelectorEventLoop):
    """For the thread that runs a node. On Linux only: it shares asyncio's epoll set."""

    def __init__(self, selector: selectors.EpollSelector | None = None) -> None:
        selector = selector or selectors.EpollSelector()
        super().__init__(selector)
        self._descriptors = select.epoll.fromfd(os.dup(selector.fileno()))  # the same set; asyncio closes its own

    def has_work(self, besides: int) -> bool:
        """Whether a callback, a timer that is due, a ready descriptor other than `besides`, or the end of the loop
        waits for a round."""
        if self._ready or self._stopping:  # type: ignore[attr-defined]  # asyncio's queue of callbacks
            return True
        timers = self._scheduled  # type: ignore[attr-defined]  # asyncio's heap of timers
        if timers and timers[0].when() <= self.time():
            return True
        return any(descriptor != besides for descriptor, _ in self._descriptors.poll(0, 2))

    def has_callbacks(self) -> bool:
        """Whether callbacks wait in the running round behind the one that asks, or for the next round."""
        return bool(self._ready)  # type: ignore[attr-defined]

    def close(self) -> None:
        super().close()
        self._descriptors.close()


class _MeasuredSelector(selectors.EpollSelector):
    def __init__(self, gaps: PollGaps) -> None:
        super().__init__()
        self._gaps = gaps

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._gaps.end()
        events = super().select(timeout)
        self._gaps.begin()
        return events

    def close(self) -> None:
        super().close()
        self._gaps.close()


class MeasuredLoop(NodeEventLoop):
    """A node's event loop with a selector that measures the gaps. For the thread that creates it."""

    def __init__(self) -> None:
        self.poll_gaps = PollGaps()
        super().__init__(_MeasuredSelector(self.poll_gaps))

    def has_work(self, besides: int) -> bool:
        """A poll, too: what waits is found."""
        self.poll_gaps.end()
        found = super().has_work(besides)
        self.poll_gaps.begin()
        return found
