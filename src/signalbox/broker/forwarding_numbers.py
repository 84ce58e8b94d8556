"""The numbers a broker gives to what it forwards: unique in one of its lives, and telling which are settled."""

from __future__ import annotations

from typing import Protocol

from signalbox.common.forwarding_id import ForwardingId


class BrokerLife(Protocol):
    """Who this broker is at the moment."""

    @property
    def node_id(self) -> int: ...

    @property
    def broker_epoch(self) -> int: ...


class ForwardingNumbers:
    """One per broker. `begin` and `end` enclose the life of a forwarded request here."""

    def __init__(self, broker: BrokerLife) -> None:
        self._broker = broker
        self._last = 0
        self._open: dict[int, None] = {}  # numbers in the order they were given out

    def begin(self) -> ForwardingId:
        """The next request's id."""
        self._last += 1
        self._open[self._last] = None
        return ForwardingId(self._broker.node_id, self._broker.broker_epoch, self._last, next(iter(self._open)))

    def end(self, forwarding_id: ForwardingId) -> None:
        """It was answered, or nobody waits for its answer any more."""
        self._open.pop(forwarding_id.number, None)
