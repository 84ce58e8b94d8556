"""One line of the switchboard: a listening port and the relays between its callers and its target."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    import ssl

    from signalbox.testing.switchboard_relay import Relay
    from signalbox.testing.switchboard_rewrite import WireRewrite
    from signalbox.testing.wire.request_rule import LineRules

Target = tuple[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class CutLimit:
    """After so many bytes in one direction a connection is cut; counted from when the limit is set."""

    size_bytes: int
    of_responses: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class LineTls:
    """How a line reads TLS: `to_caller` has the broker's own certificate and key, so that clients see what they see
    without the line; `to_target` trusts its authority."""

    to_caller: ssl.SSLContext
    to_target: ssl.SSLContext


class Line:
    """`accepted` counts accepted connections, `targets` are the targets of the next ones (none: closed at once). While
    it is `held` nothing is passed on, while it is `mute` nothing from the target is, while it `resets` new connections
    get a TCP reset. With `rewrite` new connections
    pass a Kafka proxy. With `rules` (set it before the first connection) every request is looked at, and `rewrite`
    applies to open connections too. With `tls` bytes pass as they are, and are decrypted only between
    `begin_reading` and `end_reading`."""

    def __init__(self, name: str, sock: socket.socket, home: list[Target]) -> None:
        self.name = name
        self.targets = list(home)
        self.delay_seconds = 0.0
        self.accepted = 0
        self.held = False
        self.mute = False
        self.resets = False
        self.rewrite: WireRewrite | None = None
        self.rules: LineRules | None = None
        self.tls: LineTls | None = None
        self._readers = 0
        self.cut_limit: CutLimit | None = None
        self._connections_until: int | None = None
        self._later_targets: list[Target] = []
        self.relays: set[Relay] = set()
        self.address: Target = sock.getsockname()[:2]
        self._home = list(home)
        self._sock: socket.socket | None = sock
        self._server: asyncio.Server | None = None

    @property
    def listening(self) -> bool:
        return self._server is not None

    @property
    def open_connections(self) -> int:
        return len(self.relays)

    def take_socket(self, sock: socket.socket) -> None:
        """Sets the listening socket for the next `listen`."""
        self._sock = sock

    async def listen(self) -> None:
        import asyncio

        assert self._sock is not None, "a line listens once per socket"
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self.new_relay, sock=self._sock)

    def new_relay(self) -> Relay:
        """The relay of the next connection; a line that watches its connections has another kind."""
        # Imported here: the commands of `drill` need the names and fields of faults, which need lines, and no relay.
        from signalbox.testing.switchboard_relay import Relay

        return Relay(self)

    async def stop_listening(self) -> None:
        server, self._server, self._sock = self._server, None, None
        if server is not None:
            server.close()
        self.sever()
        if server is not None:
            await server.wait_closed()

    @property
    def reads(self) -> bool:
        """Whether the requests of new connections are read."""
        return self.tls is None or self._readers > 0

    def begin_reading(self) -> None:
        """Requests are read from now on. With TLS the open connections are cut: their bytes cannot be read."""
        self._readers += 1
        if self.tls is not None and self._readers == 1:
            self.sever()

    def end_reading(self) -> None:
        """After each `begin_reading`. With TLS the open connections are cut by the last one."""
        self._readers -= 1
        if self.tls is not None and self._readers == 0:
            self.sever()

    @property
    def home(self) -> list[Target]:
        """The targets in normal operation."""
        return list(self._home)

    def set_home(self, targets: list[Target]) -> None:
        self._home = list(targets)
        self.targets = list(targets)

    def go_home(self) -> None:
        self.targets = list(self._home)
        self.delay_seconds = 0.0
        self.held = self.mute = self.resets = False
        self.rewrite = self._connections_until = self.cut_limit = None
        for relay in tuple(self.relays):
            relay.release()

    def change_after(self, connections: int, targets: list[Target]) -> None:
        """The targets of all connections after the next `connections`."""
        self._connections_until, self._later_targets = self.accepted + connections, list(targets)

    def hold(self) -> None:
        self.held = True

    def silence(self) -> None:
        self.mute = True

    def holds(self, is_answer: bool) -> bool:
        """True if bytes are held back here; `is_answer`: bytes from the target to the caller."""
        return self.held or (self.mute and is_answer)

    def sever(self) -> None:
        for relay in tuple(self.relays):
            relay.cut()

    def reset(self) -> None:
        """Ends the open connections with a TCP reset."""
        for relay in tuple(self.relays):
            relay.reset()

    def abandon(self) -> None:
        """Ends the open connections on the target's side only."""
        for relay in tuple(self.relays):
            relay.abandon()

    def next_target(self) -> Target | None:
        """The target of the next connection; several targets take turns."""
        if self.accepted == self._connections_until:
            self.targets, self._connections_until = self._later_targets, None
        self.accepted += 1
        if not self.targets:
            return None
        target = self.targets[0]
        self.targets = [*self.targets[1:], target]
        return target
