"""Limits of the values of faults.

A fault is checked when it is made. Later its values are used between a client and a broker, where a wrong one would
only cut connections: a test would pass for a reason that is not its own. Each function raises ValueError, which names
the field, its limits and the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from signalbox.testing.switchboard_line import Target

DAY_MS = 86_400_000
MAX_INT32 = 2**31 - 1
_MAX_PORT = 65_535


def check_number(name: str, value: float, lowest: int, highest: int) -> None:
    """NaN and infinity are outside of all limits."""
    if not lowest <= value <= highest:
        raise ValueError(f"{name} is {lowest} to {highest}, not {value}")


def check_milliseconds(name: str, value: float) -> None:
    """A day is the most: a client of a test does not wait longer."""
    check_number(name, value, 0, DAY_MS)


def check_node(name: str, node_id: int) -> None:
    """Whether a cluster has the node is known when the fault is applied."""
    check_number(name, node_id, 0, MAX_INT32)


def check_nodes(name: str, node_ids: Sequence[int]) -> None:
    """At least one node."""
    if not node_ids:
        raise ValueError(f"{name} has at least one node id")
    for node_id in node_ids:
        check_node(name, node_id)


def check_target(name: str, target: Target) -> None:
    """A host and a port to which a connection can be opened."""
    host, port = target
    if not host:
        raise ValueError(f"{name} is host:port, not {host}:{port}")
    check_number(f"the port of {name}", port, 1, _MAX_PORT)


def check_shown_addresses(name: str, addresses: Mapping[int, Target]) -> None:
    """Addresses that a response shows: brokers have shown ports to which nothing can connect, as 0."""
    for node_id, (_, port) in addresses.items():
        check_node(name, node_id)
        check_number(f"the port of node {node_id} in {name}", port, -MAX_INT32, MAX_INT32)
