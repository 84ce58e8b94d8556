"""Rules for lists of listeners (L1, L3). Each rule adds its faults; all rules are checked."""

from __future__ import annotations

import socket
from collections import defaultdict
from collections.abc import Container, Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address

from signalbox.common.config.config_table import ConfigFault
from signalbox.network.listeners.listener_entry import ADVERTISED_LISTENERS, LISTENERS, PROTOCOL_MAP, ListenerEntry


def check_distinct_names(key: str, entries: Iterable[ListenerEntry], faults: list[ConfigFault]) -> None:
    """A name occurs once; an IPv4/IPv6 pair needs two names as well."""
    seen: dict[str, ListenerEntry] = {}
    for entry in entries:
        first = seen.setdefault(entry.name, entry)
        if first is not entry:
            faults.append(
                ConfigFault(
                    key,
                    entry.text,
                    f"the name {entry.name} is already taken by {first.text}",
                    "Each listener must have a different name",
                )
            )


def check_distinct_ports(entries: Iterable[ListenerEntry], faults: list[ConfigFault]) -> None:
    """A port occurs once, except with exactly one IPv4 and one IPv6 literal; port 0 is never a duplicate."""
    by_port: dict[int, list[ListenerEntry]] = defaultdict(list)
    for entry in entries:
        if entry.port:
            by_port[entry.port].append(entry)
    for port, group in by_port.items():
        kinds = [_literal_kind(entry.host) for entry in group]
        if len(group) < 2 or (len(group) == 2 and set(kinds) == {IPv4Address, IPv6Address}):
            continue
        for entry in group[1:]:
            faults.append(
                ConfigFault(
                    LISTENERS,
                    entry.text,
                    f"port {port} is already taken by {group[0].text}",
                    "Each listener must have a different port, unless exactly one of two has an IPv4 address "
                    "and the other an IPv6 address",
                )
            )


def check_mapped(
    key: str,
    entries: Iterable[ListenerEntry],
    mapped: Container[str],
    faults: list[ConfigFault],
) -> None:
    """Every listener has a security protocol. `mapped` are the names in the protocol map."""
    for entry in entries:
        if entry.name not in mapped:
            faults.append(
                ConfigFault(
                    key,
                    entry.text,
                    f"no security protocol is defined for the listener {entry.name}",
                    f"Add {entry.name}:PLAINTEXT (or SSL, SASL_PLAINTEXT, SASL_SSL) to {PROTOCOL_MAP}; "
                    "setting that key replaces its default",
                )
            )


def check_advertised(
    names: set[str],
    advertised: Iterable[ListenerEntry],
    key: str,
    faults: list[ConfigFault],
) -> None:
    """Advertised entries have one of `names` and a host to which clients can connect. `key` is the key with the
    entries."""
    for entry in advertised:
        if entry.name not in names:
            faults.append(
                ConfigFault(
                    ADVERTISED_LISTENERS,
                    entry.text,
                    f"there is no listener {entry.name}",
                    f"Advertise a subset of {LISTENERS}: {', '.join(sorted(names))}",
                )
            )
        if _is_unspecified(entry.host):
            faults.append(
                ConfigFault(
                    key,
                    entry.text,
                    f"{entry.host} is no address that a client can connect to",
                    f"Set {ADVERTISED_LISTENERS} to the host name or address under which clients reach this broker",
                )
            )


def _literal_kind(host: str) -> type | None:
    try:
        return type(ip_address(host.partition("%")[0]))
    except ValueError:
        return None


def _is_unspecified(host: str) -> bool:
    """Whether the host is 0.0.0.0, ::, ::ffff:0.0.0.0, or another form of the first that resolvers accept: 0, 0.0,
    0x0."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        try:
            return socket.inet_aton(host) == b"\0\0\0\0"
        except OSError:
            return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address.is_unspecified or (mapped is not None and mapped.is_unspecified)
