"""A loopback switchboard: addresses that lead to brokers, redirected while connections are open (SPEC R7).

Each *line* is a listening port with a home target. A line can be redirected, balanced over several targets,
severed (open connections cut), set to refuse connections, to hold back all bytes or all responses, to be slow, to
change its target after some connections, or to be a Kafka proxy (`switchboard_rewrite.py`).
Redirecting affects new connections only, as changing a DNS record or a NAT rule does; call `sever` as well to cut open
ones. Every misroute scenario is such a setting.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

from signalbox.testing.switchboard_line import Line, Target
from signalbox.testing.switchboard_rewrite import WireRewrite
from signalbox.testing.wire.request_rule import LineRules


class Switchboard:
    """Lines by name, all on 127.0.0.1. Use it in one event loop; elsewhere use `SwitchboardThread`. `kit_bootstrap`
    (`host:port,...`) leads to the brokers past all lines, for faults that are requests to brokers."""

    kit_bootstrap = ""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}

    async def __aenter__(self) -> Switchboard:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def add_line(
        self, name: str, target: Target | None = None, port: int = 0, rules: LineRules | None = None
    ) -> Target:
        """Opens a line; returns the (host, port) that leads to `target`. `set_home` can set the home target later. With
        `rules` the line looks at every request: not in front of TLS."""
        if name in self._lines:
            raise ValueError(f"there is a line {name} already")
        line = self.new_line(name, _listening_socket(port), [target] if target is not None else [])
        line.rules = rules
        self._lines[name] = line
        await line.listen()
        return line.address

    def new_line(self, name: str, sock: socket.socket, home: list[Target]) -> Line:
        """A line that does not listen yet; a switchboard whose lines are of another kind overrides this."""
        return Line(name, sock, home)

    def line(self, name: str) -> Line:
        """A line, for its counters."""
        return self._lines[name]

    def set_home(self, name: str, target: Target) -> None:
        """The target of the line in normal operation."""
        self._lines[name].set_home([target])

    def rewire(self, name: str, *targets: Target) -> None:
        """Directs new connections to `targets`, in turn if there are several."""
        self._lines[name].targets = list(targets)

    def rewire_after(self, name: str, connections: int, *targets: Target) -> None:
        """Directs new connections to `targets` once `connections` more have been accepted."""
        self._lines[name].change_after(connections, list(targets))

    def rewrite(self, name: str, rewrite: WireRewrite | None) -> None:
        """Makes the line a Kafka proxy for new connections; None ends that."""
        self._lines[name].rewrite = rewrite

    def swap(self, one: str, other: str, *, sever: bool = True) -> None:
        """Swaps the targets of two lines; open connections are cut unless `sever` is false."""
        first, second = self._lines[one], self._lines[other]
        first.targets, second.targets = second.targets, first.targets
        if sever:
            first.sever()
            second.sever()

    def sever(self, *names: str) -> None:
        """Cuts the open connections of these lines, of all lines if none is named."""
        for name in names or tuple(self._lines):
            self._lines[name].sever()

    def blackhole(self, name: str) -> None:
        """Accepts connections and bytes, passes nothing on; held bytes flow when the line is restored."""
        self._lines[name].hold()

    def mute(self, name: str) -> None:
        """Passes on requests and holds back every response: a cut in one direction."""
        self._lines[name].silence()

    def delay(self, name: str, delay_ms: float) -> None:
        """Each chunk, in either direction, arrives this much later."""
        self._lines[name].delay_seconds = delay_ms / 1000

    async def refuse_connections(self, name: str) -> None:
        """Stops listening and cuts open connections: new ones get "connection refused" until the line is restored."""
        await self._lines[name].stop_listening()

    async def restore(self, *names: str) -> None:
        """Directs lines home, without delay; all lines if none is named. Open connections keep their target."""
        for name in names or tuple(self._lines):
            self._lines[name].go_home()
            await self.accept_connections(name)

    async def accept_connections(self, name: str) -> None:
        """Listens again after `refuse_connections`."""
        line = self._lines[name]
        if not line.listening:
            line.take_socket(_listening_socket(line.address[1]))
            await line.listen()

    async def close(self) -> None:
        for line in self._lines.values():
            await line.stop_listening()

    def names(self) -> Sequence[str]:
        return tuple(self._lines)


def _listening_socket(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(("127.0.0.1", port))
    except OSError:
        sock.close()
        raise
    sock.listen(128)
    sock.setblocking(False)
    return sock
