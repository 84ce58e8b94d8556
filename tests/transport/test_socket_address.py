from __future__ import annotations

import socket

import pytest

from signalbox.transport.socket_address import address_bytes, address_of, tune


@pytest.mark.parametrize(
    ("sockaddr", "expected"),
    [
        (("10.0.0.7", 9092), ("10.0.0.7", 9092)),
        (("::ffff:10.0.0.7", 9092, 0, 0), ("10.0.0.7", 9092)),
        (("fe80::1%eth0", 9092, 0, 2), ("fe80::1", 9092)),
        (("::1", 9092, 0, 0), ("::1", 9092)),
    ],
)
def test_addresses_as_text(sockaddr: object, expected: tuple[str, int]) -> None:
    assert address_of(sockaddr) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [("10.0.0.7", "0a000007"), ("::1", "0" * 31 + "1"), ("::ffff:10.0.0.7", "0a000007")],
)
def test_addresses_as_an_envelope_carries_them(host: str, expected: str) -> None:
    assert address_bytes(host).hex() == expected


def test_tuning() -> None:
    with socket.socket() as sock:
        tune(sock, send_buffer_bytes=50_000, receive_buffer_bytes=60_000)
        assert not sock.getblocking()
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= 50_000
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= 60_000
