"""`max.connections.per.ip.overrides`: connection limits of single addresses.

host:count pairs, split at the last colon. A host is an address in any notation, or a name: a name is resolved when the
value is read, as in Kafka, and stands for all of its addresses (in Kafka for the first one).
"""

from __future__ import annotations

import re
import socket

from signalbox.transport.socket_address import address_of, canonical_address

_PAIR = re.compile(r"(?P<host>\[[0-9a-zA-Z\-%._:]+\]|[0-9a-zA-Z\-%._:]+):(?P<count>[0-9]{1,10})")


def parse_per_ip_overrides(text: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Limits by address, in the form of `address_of`; and (pair, problem) for each invalid pair."""
    overrides: dict[str, int] = {}
    problems = []
    for piece in filter(None, map(str.strip, text.split(","))):
        match = _PAIR.fullmatch(piece)
        if match is None:
            problems.append((piece, "is not host:count"))
            continue
        addresses = _addresses(match["host"].strip("[]"))
        if not addresses:
            problems.append((piece, "names a host that cannot be resolved"))
        overrides.update(dict.fromkeys(addresses, int(match["count"])))
    return overrides, problems


def _addresses(host: str) -> list[str]:
    try:
        return [canonical_address(host)]
    except ValueError:
        return _resolve(host)


def _resolve(host: str) -> list[str]:
    try:
        return [address_of(result[4])[0] for result in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        return []
