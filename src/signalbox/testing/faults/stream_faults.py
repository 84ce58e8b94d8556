"""Faults of the bytes between clients and a broker, whatever they mean: they work with TLS, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from signalbox.testing.faults.fault import Undo, claims_of_node, lines_of, nothing
from signalbox.testing.faults.field_checks import MAX_INT32, check_milliseconds, check_number
from signalbox.testing.switchboard_line import CutLimit

if TYPE_CHECKING:
    from signalbox.testing.switchboard import Switchboard


@dataclass(frozen=True, slots=True)
class Stall:
    """Connections to the broker are accepted, and no byte passes in either direction. What was held back passes when
    the fault is taken back."""

    node: int

    def claims(self) -> frozenset[str]:
        return claims_of_node(self.node, "bytes held back")

    async def apply(self, board: Switchboard) -> Undo:
        return _hold(board, self.node, requests=True)


@dataclass(frozen=True, slots=True)
class DropResponses:
    """Requests reach the broker, its responses do not reach the clients until the fault is taken back: a link that is
    broken in one direction."""

    node: int

    def claims(self) -> frozenset[str]:
        return claims_of_node(self.node, "bytes held back")

    async def apply(self, board: Switchboard) -> Undo:
        return _hold(board, self.node, requests=False)


@dataclass(frozen=True, slots=True)
class Delay:
    """What is sent arrives `delay_ms` milliseconds later, in each direction."""

    node: int
    delay_ms: float

    def __post_init__(self) -> None:
        check_milliseconds("delay_ms", self.delay_ms)

    def claims(self) -> frozenset[str]:
        return claims_of_node(self.node, "delay")

    async def apply(self, board: Switchboard) -> Undo:
        lines = lines_of(board, self.node)
        for line in lines:
            line.delay_seconds = self.delay_ms / 1000

        async def undo() -> None:
            for line in lines:
                line.delay_seconds = 0.0

        return undo


@dataclass(frozen=True, slots=True)
class CutAfterBytes:
    """Each connection to the broker is cut after `size_bytes` more bytes of responses (of requests, if `of_responses`
    is false): clients get a part of a response."""

    node: int
    size_bytes: int
    of_responses: bool = True

    def __post_init__(self) -> None:
        check_number("size_bytes", self.size_bytes, 1, MAX_INT32)

    def claims(self) -> frozenset[str]:
        return claims_of_node(self.node, "limit in bytes")

    async def apply(self, board: Switchboard) -> Undo:
        lines = lines_of(board, self.node)
        for line in lines:
            line.cut_limit = CutLimit(self.size_bytes, self.of_responses)

        async def undo() -> None:
            for line in lines:
                line.cut_limit = None

        return undo


@dataclass(frozen=True, slots=True)
class ResetConnections:
    """Connections to the broker end with a TCP reset: the open ones at once, and each new one when it is accepted,
    until the fault is taken back; with `once` the open ones only."""

    node: int
    once: bool = False

    def claims(self) -> frozenset[str]:
        return frozenset() if self.once else claims_of_node(self.node, "resets")

    async def apply(self, board: Switchboard) -> Undo:
        lines = lines_of(board, self.node)
        for line in lines:
            line.resets = line.resets or not self.once
            line.reset()

        async def undo() -> None:
            for line in lines:
                line.resets = line.resets and self.once

        return undo


@dataclass(frozen=True, slots=True)
class HalfOpen:
    """The connections to the broker that are open now lose their other end, as when a NAT or firewall forgets them:
    they stay open for the clients, and nothing passes in them any more, also after the fault is taken back. New
    connections work."""

    node: int

    def claims(self) -> frozenset[str]:
        return frozenset()

    async def apply(self, board: Switchboard) -> Undo:
        for line in lines_of(board, self.node):
            line.abandon()
        return nothing


def _hold(board: Switchboard, node: int, *, requests: bool) -> Undo:
    lines = lines_of(board, node)
    for line in lines:
        line.held, line.mute = requests, not requests

    async def undo() -> None:
        for line in lines:
            line.held = line.mute = False
            for relay in tuple(line.relays):
                relay.release()

    return undo
