"""What all checks share: a finding about an address or a listener, with the key of its code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address

from signalbox.doctor.finding import Finding, codes
from signalbox.doctor.observations import AddressObservation, Examination, ListenerObservation

ListenerCheck = Callable[[ListenerObservation], Iterator[Finding]]
ExaminationCheck = Callable[[Examination], Iterator[Finding]]
_NETWORK_KEY = "advertised.listeners"
_BOOTSTRAP_KEY = "bootstrap.servers"


def about(
    code: str, listener: ListenerObservation, address: AddressObservation | None, text: str, value: str = ""
) -> Finding:
    """A finding about one address, or about the whole listener. A bootstrap server that no node advertises has another
    key: no broker's configuration is wrong."""
    key = codes()[code].key
    if key == _NETWORK_KEY and address is not None and address.node_id < 0:
        key = _BOOTSTRAP_KEY
    return Finding(
        code=code,
        text=text,
        listener=listener.bootstrap,
        address=address.address if address is not None else "",
        node_id=address.node_id if address is not None else -1,
        key=key,
        value=value,
    )


def address_of_node(listener: ListenerObservation, node_id: int) -> str:
    """An address at which this node, and no other, responds; "" if none is known."""
    rows = (row for row in listener.addresses if row.answering == (node_id,))
    return next((row.address for row in rows), "")


def ip_of(text: str) -> IPv4Address | IPv6Address | None:
    """An IP address without its zone; None for anything else."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped if isinstance(mapped, IPv4Address) else address


def name_of(address: AddressObservation) -> str:
    """The subject of a sentence: the node that Metadata has there, or the bootstrap server."""
    return f"node {address.node_id}" if address.node_id >= 0 else "the bootstrap server"


def ids(nodes: tuple[int, ...] | list[int]) -> str:
    """Node ids as a text."""
    return ", ".join(map(str, nodes))
