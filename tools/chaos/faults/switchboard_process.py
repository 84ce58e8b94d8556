"""The switchboard of a run, in a process of its own: all bytes between the brokers pass it.

Beside the clients it shared Python's global lock with some thirty threads. `confluent_kafka` keeps that lock while it
waits for a lock of librdkafka, whose threads yield to all others (`clients.py`): the lines passed 2 MB/s.
"""

from __future__ import annotations

import signal
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from signalbox.testing.switchboard_line import Target
from signalbox.testing.switchboard_thread import SwitchboardThread

_STOP_S = 10.0


class SwitchboardProcess:
    """`with SwitchboardProcess() as board:`; the methods are Switchboard's, for one thread at a time, and raise what
    they raise there. The process ends with this one, however that ends."""

    def __init__(self) -> None:
        context = get_context("spawn")  # without the threads of this process, and without its end of the connection
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), name="switchboard", daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> SwitchboardProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.join(_STOP_S)
        self._process.kill()

    def _call(self, method: str, *arguments: Any) -> Any:
        self._connection.send((method, arguments))
        result, failure = self._connection.recv()
        if failure is not None:
            raise failure
        return result

    def add_line(self, name: str, target: Target | None = None, port: int = 0) -> Target:
        host, line_port = self._call("add_line", name, target, port)
        return host, line_port

    def set_home(self, name: str, target: Target) -> None:
        self._call("set_home", name, target)

    def refuse_connections(self, name: str) -> None:
        self._call("refuse_connections", name)

    def blackhole(self, name: str) -> None:
        self._call("blackhole", name)

    def mute(self, name: str) -> None:
        self._call("mute", name)

    def restore(self, name: str) -> None:
        self._call("restore", name)


def serve(connection: Connection) -> None:
    """Executes the calls that arrive, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which needs its network until it has ended
    with SwitchboardThread() as board:
        while True:
            try:
                method, arguments = connection.recv()
            except EOFError:
                return
            result, failure = None, None
            try:
                result = getattr(board, method)(*arguments)
            except Exception as error:
                failure = error
            connection.send((result, failure))
