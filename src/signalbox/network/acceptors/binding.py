"""Binds a listener's socket: wildcard, IPv4, IPv6 or a host name; for port 0 the system assigns a free port (L1).

A wildcard host binds both families if the system supports it. An IPv4/IPv6 pair on one port works because IPv6 literals
are bound for IPv6 only.
"""

from __future__ import annotations

import errno
import socket

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import StartError, reason
from signalbox.common.endpoint import host_port
from signalbox.network.listeners.listener_entry import LISTENERS

_REMEDIES = {
    errno.EADDRINUSE: "Give it a port that no other program has, or 0 for any free one",
    errno.EACCES: "Give it a port from 1024 on, or this process the right to bind lower ones",
}
_OTHER_HOST = "Give it a host name or address of this machine, or no host to bind all of them"


class BindError(StartError):
    """A listener's address cannot be bound; the fault names the listener, the cause and the key to change."""


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
    except (OSError, UnicodeError) as error:  # UnicodeError: not a host name (a..b)
        entry = f"{name}://{host_port(host, port)}"
        remedy = _REMEDIES.get(error.errno or 0, _OTHER_HOST) if isinstance(error, OSError) else _OTHER_HOST
        problem = f"the listener {name} cannot be bound: {reason(error)}"
        raise BindError([ConfigFault(LISTENERS, entry, problem, remedy)]) from error


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
