"""A switchboard that notes when a client gave up a connection that led to the wrong node."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

from signalbox.testing.switchboard import Switchboard
from signalbox.testing.switchboard_line import Line, Target
from signalbox.testing.switchboard_relay import Relay


@dataclass(slots=True, eq=False)
class WrongRoute:
    """One connection to a wrong node, in nanoseconds of the monotonic clock; 0: it has not happened."""

    first_request_ns: int = 0
    closed_ns: int = 0


class TimedRelay(Relay):
    """Notes the first bytes of the caller, and when the caller closes the connection."""

    def __init__(self, line: TimedLine) -> None:
        super().__init__(line)
        self._wrong: WrongRoute | None = None
        if line.targets != line.home:
            self._wrong = WrongRoute()
            line.wrong_routes.append(self._wrong)

    def data_received(self, data: bytes) -> None:
        if self._wrong is not None and not self._wrong.first_request_ns:
            self._wrong.first_request_ns = time.monotonic_ns()
        super().data_received(data)

    def eof_received(self) -> bool:
        self._closed()
        return super().eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        self._closed()
        super().connection_lost(error)

    def _closed(self) -> None:
        if self._wrong is not None and not self._wrong.closed_ns:
            self._wrong.closed_ns = time.monotonic_ns()


class TimedLine(Line):
    """`wrong_routes` has the connections that were accepted while the line led elsewhere."""

    def __init__(self, name: str, sock: socket.socket, home: list[Target]) -> None:
        super().__init__(name, sock, home)
        self.wrong_routes: list[WrongRoute] = []

    def new_relay(self) -> Relay:
        return TimedRelay(self)


class TimedSwitchboard(Switchboard):
    def new_line(self, name: str, sock: socket.socket, home: list[Target]) -> Line:
        return TimedLine(name, sock, home)
