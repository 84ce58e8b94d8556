"""Socket addresses in the form that the other packages use: (host text, port), IPv4-mapped IPv6 shown as IPv4."""

from __future__ import annotations

import errno
import ipaddress
import socket
import struct
from typing import Any

_MAPPED = bytes(10) + b"\xff\xff"


def address_of(sockaddr: Any) -> tuple[str, int]:
    """(host, port) of the result of getpeername; an IPv6 scope is removed."""
    host, port = sockaddr[0], sockaddr[1]
    if host.startswith("::ffff:") and "." in host:
        host = host[7:]
    return host.partition("%")[0], port


def canonical_address(text: str) -> str:
    """An address in any notation in the form of `address_of`; ValueError if it is not an address."""
    literal = ipaddress.ip_address(text)
    return str(getattr(literal, "ipv4_mapped", None) or literal)


def address_bytes(host: str) -> bytes:
    """4 or 16 raw bytes of an address, as Envelope's ClientHostAddress carries it."""
    if ":" not in host:
        return socket.inet_pton(socket.AF_INET, host)
    packed = socket.inet_pton(socket.AF_INET6, host)
    return packed[12:] if packed.startswith(_MAPPED) else packed


def reject_self_connection(sock: socket.socket) -> None:
    """ConnectionRefusedError for a connected socket that is its own peer. The kernel makes such a connection when the
    port that it chooses for the client is the port that the client connects to, and no server listens there. It looks
    like a server that returns what it receives, and a broker that starts cannot bind that port. The socket is closed
    without TIME_WAIT."""
    if sock.getsockname() != sock.getpeername():
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no TIME_WAIT keeps the port
    sock.close()
    raise ConnectionRefusedError(errno.ECONNREFUSED, "no server listens there: the socket connected to itself")


def tune(sock: socket.socket, send_buffer_bytes: int = -1, receive_buffer_bytes: int = -1) -> None:
    """Non-blocking, no delay, keep-alive, and buffer sizes where they are not -1 (the system's choice)."""
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if send_buffer_bytes != -1:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    if receive_buffer_bytes != -1:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
