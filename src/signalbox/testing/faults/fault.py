"""What a fault is, and the lines of the switchboard that it changes.

Two lines lead to each broker: its advertised address, which Metadata has, and an address for bootstrap.servers. A fault
of an address concerns the advertised one, unless `bootstrap` is true; a fault of a broker concerns both.
Lines in front of TLS have no rules: their bytes cannot be read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from signalbox.testing.switchboard import Switchboard
from signalbox.testing.switchboard_line import Line
from signalbox.testing.wire.request_rule import LineRules

_ADDRESS_LINE = "broker-"
Undo = Callable[[], Awaitable[None]]


class FaultConflict(ValueError):
    """A fault changes what another one, which is still applied, has changed."""


class Fault(Protocol):
    """A fault. `claims` names what it changes: two faults with a common claim cannot be applied together."""

    def claims(self) -> frozenset[str]: ...

    async def apply(self, board: Switchboard) -> Undo:
        """Applies it in the event loop of the switchboard; the result takes it back."""
        ...


def address_line(node: int, bootstrap: bool = False) -> str:
    """The name of the line at a broker's advertised address, or at its bootstrap address."""
    return f"bootstrap-{node}" if bootstrap else f"{_ADDRESS_LINE}{node}"


def lines_of(board: Switchboard, node: int) -> list[Line]:
    """Both lines of a broker; KeyError if there is no such node."""
    return [board.line(address_line(node)), board.line(address_line(node, bootstrap=True))]


def claims_of_node(node: int, setting: str) -> frozenset[str]:
    """One setting of both lines of a broker."""
    return frozenset({f"{address_line(node, bootstrap)}: {setting}" for bootstrap in (False, True)})


def rules_of(board: Switchboard, node: int | None) -> list[LineRules]:
    """The rules of a broker's lines, of all brokers' lines if `node` is None. ValueError if clients use TLS."""
    names = [name for name in board.names() if name.startswith(_ADDRESS_LINE)]
    nodes = [node] if node is not None else [int(name.removeprefix(_ADDRESS_LINE)) for name in names]
    found = [line.rules for each in nodes for line in lines_of(board, each)]
    rules = [each for each in found if each is not None]
    if len(rules) != len(found):
        raise ValueError(
            "the fault reads requests, and clients of this cluster use TLS: take PLAINTEXT or SASL_PLAINTEXT"
        )
    return rules
