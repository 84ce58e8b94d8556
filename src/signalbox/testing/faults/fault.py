"""What a fault is, and the lines of the switchboard that it changes.

Two lines lead to each broker: its advertised address, which Metadata has, and an address for bootstrap.servers. A fault
of an address concerns the advertised one, unless `bootstrap` is true; a fault of a broker concerns both. In a cluster
of `signalbox up --drill` the advertised address is the only one. More listeners of clients have advertised addresses of
their own.
Lines in front of TLS pass its bytes as they are, until a fault reads requests: then clients have TLS with the line.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from signalbox.protocol.api_table import API_TABLE, ApiKey

if TYPE_CHECKING:
    from signalbox.testing.switchboard import Switchboard
    from signalbox.testing.switchboard_line import Line

_ADDRESS_LINE = "broker-"
FIRST_LISTENER = "CLIENT"
_FIELDS_OF_BROKERS = ("node", "one", "other", "over", "nodes")
Undo = Callable[[], Awaitable[None]]


class FaultConflict(ValueError):
    """A fault changes what another one, which is still applied, has changed."""


class Fault(Protocol):
    """A fault. `claims` names what it changes: two faults with a common claim cannot be applied together."""

    def claims(self) -> frozenset[str]: ...

    async def apply(self, board: Switchboard) -> Undo:
        """Applies it in the event loop of the switchboard; the result takes it back."""
        ...


def address_line(node: int, bootstrap: bool = False, listener: str | None = None) -> str:
    """The name of the line at a broker's advertised address on a listener (the first one if it is None), or at its
    bootstrap address."""
    if bootstrap:
        return f"bootstrap-{node}"
    return f"{_ADDRESS_LINE}{node}" + (f"@{listener}" if listener not in (None, FIRST_LISTENER) else "")


def key_of(api: str) -> ApiKey:
    """The key of an API; ValueError for a name that Kafka does not have."""
    for key, row in API_TABLE.items():
        if row.name == api:
            return ApiKey(key)
    raise ValueError(f"there is no API {api!r}; names are those of Kafka, as Produce or FindCoordinator")


async def nothing() -> None:
    """For what has happened and cannot be taken back."""


def line_at(board: Switchboard, node: int, bootstrap: bool = False, listener: str | None = None) -> Line:
    """The line at one address of a broker; ValueError if there is no such broker or address."""
    name = address_line(node, bootstrap, listener)
    if name in board.names():
        return board.line(name)
    _check_broker_exists(board, node)
    if bootstrap:
        raise ValueError(f"broker {node} has one address, which is for bootstrap.servers too")
    raise ValueError(f"broker {node} has no listener {listener!r}; there are {', '.join(listeners_of(board, node))}")


def listeners_of(board: Switchboard, node: int) -> list[str]:
    """The listeners on which a broker has an advertised address."""
    start = f"{address_line(node)}@"
    return [FIRST_LISTENER, *(name.removeprefix(start) for name in board.names() if name.startswith(start))]


def node_ids(board: Switchboard) -> list[int]:
    """The brokers that have an address on the switchboard."""
    names = [name for name in board.names() if name.startswith(_ADDRESS_LINE) and "@" not in name]
    return [int(name.removeprefix(_ADDRESS_LINE)) for name in names]


def check_brokers_exist(board: Switchboard, fault: Fault) -> None:
    """ValueError if a field of the fault names a broker that has no address on the switchboard."""
    for name in _FIELDS_OF_BROKERS:
        value = getattr(fault, name, ())
        for node in (value,) if isinstance(value, int) else value or ():
            _check_broker_exists(board, node)


def _check_broker_exists(board: Switchboard, node: int) -> None:
    nodes = node_ids(board)
    if node not in nodes:
        raise ValueError(f"there is no broker {node!r}; there are {', '.join(map(str, nodes))}")


def lines_of(board: Switchboard, node: int, listener: str | None = None) -> list[Line]:
    """The lines of a broker, of one listener or of all; ValueError if there is no such node or listener."""
    first = line_at(board, node, listener=listener)
    more = [address_line(node, bootstrap=True)] if listener in (None, FIRST_LISTENER) else []
    if listener is None:
        more += [name for name in board.names() if name.startswith(f"{first.name}@")]
    return [first, *(board.line(name) for name in more if name in board.names())]


def claims_of_node(node: int, setting: str) -> frozenset[str]:
    """One setting of both lines of a broker."""
    return frozenset({f"{address_line(node, bootstrap)}: {setting}" for bootstrap in (False, True)})


class Readers:
    """The rules of lines whose requests are read for a fault. `release` ends that."""

    def __init__(self, lines: list[Line]) -> None:
        """ValueError if the lines cannot read the TLS of clients."""
        self._lines = lines
        self.rules = [line.rules for line in lines if line.rules is not None]
        if len(self.rules) != len(lines):
            raise ValueError(
                "the fault reads requests, and the relays cannot read the TLS of this cluster's clients: with "
                "ssl.client.auth=required the listener's truststore has to know who signed the broker's certificate"
            )
        for line in lines:
            line.begin_reading()

    def release(self) -> None:
        for line in self._lines:
            line.end_reading()


def lines_with(board: Switchboard, node: int | None, listener: str | None = None) -> list[Line]:
    """The lines of a broker, of all brokers if `node` is None; those of one listener, or of all."""
    nodes = node_ids(board) if node is None else [node]
    return [line for each in nodes for line in lines_of(board, each, listener)]


def readers_of(board: Switchboard, node: int | None, listener: str | None = None) -> Readers:
    """Those of `lines_with`."""
    return Readers(lines_with(board, node, listener))
