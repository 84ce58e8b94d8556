"""Binding a listener's socket: wildcard, IPv4, IPv6 or a host name; port 0 becomes a port of its own (L1).

A wildcard host binds both families where the system can. An IPv4/IPv6 pair on one port works because IPv6 literals
are bound for IPv6 alone.
"""

from __future__ import annotations

import socket

from signalbox.common.endpoint import host_port


class BindError(OSError):
    """A listener's address cannot be bound; the message says which and why."""


def bind_listener(name: str, host: str, port: int, backlog: int) -> socket.socket:
    """A non-blocking, listening socket. BindError names the listener."""
    try:
        if not host and socket.has_dualstack_ipv6():
            try:
                return _listen(socket.AF_INET6, ("::", port), backlog, v6_only=False)
            except OSError:
                return _listen(socket.AF_INET, ("0.0.0.0", port), backlog)
        family, _, _, _, address = socket.getaddrinfo(
            host or "0.0.0.0", port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return _listen(family, address, backlog)
    except OSError as error:
        raise BindError(
            f"listener {name} cannot bind {host_port(host or '0.0.0.0', port)}: {error.strerror or error}. "
            "Another process may have the port, or the host is not one of this machine"
        ) from error


def _listen(family: socket.AddressFamily, address: object, backlog: int, *, v6_only: bool = True) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6_only)
        sock.setblocking(False)
        sock.bind(address)  # type: ignore[arg-type]
        sock.listen(backlog)
    except BaseException:
        sock.close()
        raise
    return sock
