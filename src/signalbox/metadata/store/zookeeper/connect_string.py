"""Kafka's `zookeeper.connect`: `host:port,host:port/chroot`; the chroot follows the last host and applies to all."""

from __future__ import annotations

from dataclasses import dataclass

_DEFAULT_PORT = 2181


@dataclass(frozen=True, slots=True)
class ConnectString:
    """`hosts` in kazoo's form (`host:port,…`); `chroot` is "" or `/a/b`, without a slash at its end."""

    hosts: str
    chroot: str = ""

    def within(self, path: str) -> str:
        """The ensemble's path for a path of the store."""
        return (self.chroot if path == "/" else self.chroot + path) or "/"


def parse_connect_string(text: str) -> ConnectString:
    """The parsed string; ValueError names the part and the fault."""
    hosts, slash, below = text.strip().partition("/")
    chroot = (slash + below).rstrip("/")
    if "//" in chroot or "," in chroot:
        raise ValueError(
            f"{slash + below!r} is no path: one chroot follows the last host, as host:port,host:port/chroot"
        )
    return ConnectString(",".join(_host(entry.strip()) for entry in hosts.split(",")), chroot)


def _host(entry: str) -> str:
    host, colon, port = entry.rpartition(":")
    if not colon or entry.endswith("]"):
        host, port = entry, str(_DEFAULT_PORT)
    if not host or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise ValueError(f"{entry!r} is no address: expected host:port (an IPv6 address in brackets)")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise ValueError(f"{entry!r}: {port!r} is no port from 1 to 65535")
    return f"{host}:{port}"
