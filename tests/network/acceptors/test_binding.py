from __future__ import annotations

import socket

import pytest

from signalbox.network.acceptors.binding import BindError, bind_listener


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


@pytest.mark.spec("L1")
@pytest.mark.parametrize(
    ("host", "problem", "remedy"),
    [
        ("127.0.0.1", "Address already in use", "Give it a port that no other program has"),
        ("203.0.113.7", "Cannot assign requested address", "Give it a host name or address of this machine"),
        ("no.such.host.invalid", "", "Give it a host name or address of this machine"),
        ("a..b", "", "Give it a host name or address of this machine"),
    ],
)
def test_a_bind_error_names_the_listener_and_the_key(host: str, problem: str, remedy: str) -> None:
    with bind_listener("FIRST", "127.0.0.1", 0, 5) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BindError) as rejected:
            bind_listener("CLIENT", host, port, 5)
    (fault,) = rejected.value.faults
    assert (fault.key, fault.entry) == ("listeners", f"CLIENT://{host}:{port}")
    assert fault.problem.startswith(f"the listener CLIENT cannot be bound: {problem}")
    assert fault.remedy.startswith(remedy)
