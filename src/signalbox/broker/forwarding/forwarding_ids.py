"""Forwarding ids of a broker: unique within one broker epoch. An id also contains the oldest number still in flight."""

from __future__ import annotations

from signalbox.broker.epoch_checks import LocalEpochs
from signalbox.common.forwarding_id import ForwardingId


class ForwardingIds:
    """One per broker. `begin` is called before a request is forwarded, `end` after it."""

    def __init__(self, broker: LocalEpochs) -> None:
        self._broker = broker
        self._last = 0
        self._open: dict[int, None] = {}  # numbers in flight, in ascending order

    def begin(self) -> ForwardingId:
        """The forwarding id of the next request."""
        self._last += 1
        self._open[self._last] = None
        return ForwardingId(self._broker.node_id, self._broker.broker_epoch, self._last, next(iter(self._open)))

    def end(self, forwarding_id: ForwardingId) -> None:
        """The request got its response, or the broker does not wait for it any more."""
        self._open.pop(forwarding_id.number, None)
