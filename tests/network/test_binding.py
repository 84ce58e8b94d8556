from __future__ import annotations

import socket

import pytest

from signalbox.network.binding import BindError, bind_listener


def test_port_zero_becomes_a_port_that_answers() -> None:
    with bind_listener("CLIENT", "127.0.0.1", 0, 5) as sock:
        port = sock.getsockname()[1]
        assert port > 0
        assert not sock.getblocking()
        socket.create_connection(("127.0.0.1", port)).close()


def test_the_wildcard_answers_on_ipv4() -> None:
    with bind_listener("CLIENT", "", 0, 5) as sock:
        socket.create_connection(("127.0.0.1", sock.getsockname()[1])).close()
        assert sock.getsockname()[1] > 0


def test_an_ipv6_literal_leaves_the_ipv4_port_free() -> None:
    if not socket.has_dualstack_ipv6():
        with pytest.raises(BindError):
            bind_listener("SIX", "::1", 0, 5)
        return
    with bind_listener("SIX", "::1", 0, 5) as six:
        port = six.getsockname()[1]
        with bind_listener("FOUR", "127.0.0.1", port, 5) as four:
            assert four.getsockname()[1] == port


@pytest.mark.parametrize("host", ["127.0.0.1", "203.0.113.7", "no.such.host.invalid"])
def test_what_cannot_be_bound_is_named(host: str) -> None:
    with bind_listener("FIRST", "127.0.0.1", 0, 5) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BindError, match=f"listener CLIENT cannot bind {host}:{port}"):
            bind_listener("CLIENT", host, port, 5)
