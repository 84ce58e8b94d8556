"""Addresses that lead to the wrong place, as after a mistake in DNS, NAT or a load balancer.

New connections are concerned. With `cut` (the default) the open connections of the address are cut when the fault is
applied and when it is taken back, so that clients connect again; without it they stay where they are, as after a change
in DNS. In clusters with more listeners of clients `listener` says which of a broker's advertised addresses; the first
one has the name CLIENT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from signalbox.testing.faults.fault import Undo, address_line, line_at
from signalbox.testing.faults.field_checks import check_node, check_nodes, check_target
from signalbox.testing.switchboard_line import Target

if TYPE_CHECKING:
    from signalbox.testing.switchboard import Switchboard


@dataclass(frozen=True, slots=True)
class SwapAddresses:
    """The address of each of two brokers leads to the other one, as after a mistake in /etc/hosts."""

    one: int
    other: int
    bootstrap: bool = False
    cut: bool = True
    listener: str | None = None

    def __post_init__(self) -> None:
        check_nodes("one and other", (self.one, self.other))
        if self.one == self.other:
            raise ValueError(f"two brokers are swapped: one and other are both {self.one}")

    def claims(self) -> frozenset[str]:
        return _targets(self.one, self) | _targets(self.other, self)

    async def apply(self, board: Switchboard) -> Undo:
        one, other = (line_at(board, node, self.bootstrap, self.listener) for node in (self.one, self.other))
        return _redirect(board, {one.name: other.home, other.name: one.home}, self.cut)


@dataclass(frozen=True, slots=True)
class SendElsewhere:
    """The address of a broker leads to another broker of the cluster (`to`: its id), or to any host and port: that of a
    broker of another cluster is `other_cluster.target(1)`."""

    node: int
    to: int | Target
    bootstrap: bool = False
    cut: bool = True
    listener: str | None = None

    def __post_init__(self) -> None:
        check_node("node", self.node)
        if not isinstance(self.to, int):
            check_target("to", self.to)
        elif self.to == self.node:
            raise ValueError(f"the address of broker {self.node} leads to it already: to is another one")

    def claims(self) -> frozenset[str]:
        return _targets(self.node, self)

    async def apply(self, board: Switchboard) -> Undo:
        targets = line_at(board, self.to, listener=self.listener).home if isinstance(self.to, int) else [self.to]
        return _redirect(board, {line_at(board, self.node, self.bootstrap, self.listener).name: targets}, self.cut)


@dataclass(frozen=True, slots=True)
class BalanceAddress:
    """Connections to the address of a broker reach the brokers of `over` in turn, as behind one load balancer."""

    node: int
    over: Sequence[int]
    bootstrap: bool = False
    cut: bool = True
    listener: str | None = None

    def __post_init__(self) -> None:
        check_nodes("over", self.over)

    def claims(self) -> frozenset[str]:
        return _targets(self.node, self)

    async def apply(self, board: Switchboard) -> Undo:
        targets = [target for node in self.over for target in line_at(board, node, listener=self.listener).home]
        return _redirect(board, {line_at(board, self.node, self.bootstrap, self.listener).name: targets}, self.cut)


@dataclass(frozen=True, slots=True)
class RefuseConnections:
    """Nothing listens at the address of a broker; its open connections are cut."""

    node: int
    bootstrap: bool = False
    listener: str | None = None

    def claims(self) -> frozenset[str]:
        return _targets(self.node, self)

    async def apply(self, board: Switchboard) -> Undo:
        name = line_at(board, self.node, self.bootstrap, self.listener).name
        await board.refuse_connections(name)

        async def undo() -> None:
            await board.accept_connections(name)

        return undo


class _OfAddress(Protocol):
    @property
    def bootstrap(self) -> bool: ...

    @property
    def listener(self) -> str | None: ...


def _targets(node: int, fault: _OfAddress) -> frozenset[str]:
    return frozenset({f"{address_line(node, fault.bootstrap, fault.listener)}: where it leads"})


def _redirect(board: Switchboard, targets: dict[str, list[Target]], cut: bool) -> Undo:
    for name, chosen in targets.items():
        board.rewire(name, *chosen)
    if cut:
        board.sever(*targets)

    async def undo() -> None:
        for name in targets:
            board.rewire(name, *board.line(name).home)
        if cut:
            board.sever(*targets)

    return undo
