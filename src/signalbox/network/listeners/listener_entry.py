"""Parses `NAME://host:port` entries, the protocol map, and lists of names (L1, L2).

Names are compared in upper case everywhere: Kafka is inconsistent here, so that a lower-case control plane name is on
both planes. Each function returns the valid entries and adds one `ConfigFault` for each invalid entry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import SecurityProtocol, host_port, normalize_listener_name

LISTENERS = "listeners"
ADVERTISED_LISTENERS = "advertised.listeners"
PROTOCOL_MAP = "listener.security.protocol.map"
CONTROL_PLANE_NAME = "control.plane.listener.name"

DEFAULT_LISTENERS = "PLAINTEXT://:9092"
DEFAULT_PROTOCOL_MAP = ",".join(f"{protocol.name}:{protocol.name}" for protocol in SecurityProtocol)

_ENTRY = re.compile(r"(?P<name>[^\s/]*)://(?P<host>\[[0-9a-zA-Z\-%._:]*\]|[0-9a-zA-Z\-%._:]*):(?P<port>-?[0-9]+)")
_PORT_DIGITS = 9  # int() has a limit of its own, with another error text


@dataclass(frozen=True, slots=True)
class ListenerEntry:
    """A parsed entry and its text. `host` is "" for the wildcard, IPv6 without brackets."""

    text: str
    name: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}://{host_port(self.host, self.port)}"


def split_list(text: str) -> list[str]:
    """The elements of a comma-separated list, trimmed, without empty ones."""
    return [piece for piece in map(str.strip, text.split(",")) if piece]


def parse_entries(key: str, text: str, faults: list[ConfigFault]) -> list[ListenerEntry]:
    """The entries of `listeners` or `advertised.listeners`."""
    entries = []
    for piece in split_list(text):
        match = _ENTRY.fullmatch(piece)
        if match is None:
            faults.append(
                ConfigFault(key, piece, "is not a listener entry", "Write NAME://host:port, IPv6 hosts in brackets")
            )
            continue
        name, port = normalize_listener_name(match["name"]), _port(match["port"])
        if not name:
            faults.append(ConfigFault(key, piece, "the listener has no name", "Write NAME://host:port"))
        elif not 0 <= port <= 65535:
            faults.append(
                ConfigFault(
                    key, piece, f"port {match['port']} is not a port", "Use 1 to 65535, or 0 for a port of its own"
                )
            )
        else:
            entries.append(ListenerEntry(piece, name, match["host"].strip("[]"), port))
    if not entries and not faults:
        faults.append(ConfigFault(key, text, "names no listener", "Write at least one NAME://host:port"))
    return entries


def _port(text: str) -> int:
    """The port as a number, -1 for more digits than any port has."""
    return int(text) if len(text) <= _PORT_DIGITS else -1


def names_of_entries(text: str) -> list[str]:
    """The names in a list of listeners, those of invalid entries included: one fault must not cause another."""
    pieces = ((piece, "://" if "://" in piece else ":") for piece in split_list(text))
    names = (normalize_listener_name(piece.partition(mark)[0]) for piece, mark in pieces)
    return [name for name in dict.fromkeys(names) if name]


def names_of_pairs(text: str) -> set[str]:
    """The names in a protocol map, those of invalid pairs included."""
    return {normalize_listener_name(piece.rpartition(":")[0]) for piece in split_list(text)}


def parse_protocol_map(text: str, faults: list[ConfigFault]) -> dict[str, SecurityProtocol]:
    """Listener name → security protocol; each pair is split at its last colon."""
    protocols: dict[str, SecurityProtocol] = {}
    for piece in split_list(text):
        name_text, colon, protocol_text = piece.rpartition(":")
        name = normalize_listener_name(name_text)
        protocol = SecurityProtocol.__members__.get(protocol_text.strip().upper())
        if not colon or not name:
            faults.append(ConfigFault(PROTOCOL_MAP, piece, "is not a pair", "Write NAME:PROTOCOL"))
        elif protocol is None:
            faults.append(
                ConfigFault(
                    PROTOCOL_MAP,
                    piece,
                    f"{protocol_text.strip()!r} is no security protocol",
                    f"Use one of {', '.join(SecurityProtocol.__members__)}",
                )
            )
        elif name in protocols:
            faults.append(
                ConfigFault(PROTOCOL_MAP, piece, f"listener {name} is mapped twice", "Keep one of the two pairs")
            )
        else:
            protocols[name] = protocol
    return protocols


def is_faulty_pair(config: Mapping[str, str], name: str) -> bool:
    """Whether the protocol map has this name in an invalid pair, for which it reports a fault of its own."""
    return name in names_of_pairs(config.get(PROTOCOL_MAP, ""))
