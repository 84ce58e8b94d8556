from __future__ import annotations

import asyncio
import socket
import ssl

import pytest

from signalbox.testing.switchboard_line import Line, LineTls

pytestmark = pytest.mark.spec("R7")


def test_targets_are_used_round_robin_and_home_is_where_it_was() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        line = Line("l", sock, [("h", 1)])
        assert line.address == sock.getsockname()
        line.targets = [("a", 1), ("b", 2)]
        assert [line.next_target() for _ in range(3)] == [("a", 1), ("b", 2), ("a", 1)]
        line.delay_seconds = 1.0
        line.hold()
        line.go_home()
        assert (line.targets, line.delay_seconds, line.held) == ([("h", 1)], 0.0, False)
        line.set_home([])
        assert line.next_target() is None
        assert line.accepted == 4


def test_a_line_listens_once_per_socket() -> None:
    async def run() -> None:
        sock = socket.create_server(("127.0.0.1", 0))
        sock.setblocking(False)
        line = Line("l", sock, [])
        await line.listen()
        assert line.listening
        await line.stop_listening()
        assert not line.listening
        with pytest.raises(AssertionError, match="once per socket"):
            await line.listen()

    asyncio.run(run())


def test_requests_in_tls_are_read_between_begin_and_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        line = Line("l", sock, [])
        assert line.reads
        line.tls = LineTls(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        assert not line.reads
        line.begin_reading()
        line.begin_reading()
        line.end_reading()
        assert line.reads
        line.end_reading()
        assert not line.reads
