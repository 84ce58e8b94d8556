from __future__ import annotations

import socket
import threading

import pytest

from signalbox.testing.switchboard_thread import SwitchboardThread

pytestmark = pytest.mark.spec("R7")


def name_server(name: bytes) -> tuple[str, int]:
    """A blocking server in a thread: sends its name on each connection and closes it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(name)

    threading.Thread(target=serve, daemon=True).start()
    host, port = listener.getsockname()
    return host, port


def who(address: tuple[str, int]) -> bytes:
    with socket.create_connection(address, timeout=2) as connection:
        try:
            return connection.recv(1)
        except ConnectionError:
            return b""


def test_code_without_a_loop_rewires_lines() -> None:
    with SwitchboardThread() as board:
        homes = {name: name_server(name.encode()) for name in "AB"}
        lines = {name: board.add_line(name) for name in homes}
        for name, home in homes.items():
            board.set_home(name, home)
        assert [who(lines[name]) for name in "AB"] == [b"A", b"B"]
        board.swap("A", "B")
        assert [who(lines[name]) for name in "AB"] == [b"B", b"A"]
        board.rewire("A", homes["A"])
        board.delay("A", 1)
        board.sever()
        assert who(lines["A"]) == b"A"
        board.refuse_connections("A")
        with pytest.raises(ConnectionRefusedError):
            who(lines["A"])
        board.blackhole("B")
        board.restore()
        assert [who(lines[name]) for name in "AB"] == [b"A", b"B"]
        assert board.line("B").accepted >= 3
