"""The connections between the brokers and to them: every advertised address is a line of the switchboard.

A line leads to one listener of one broker, for every caller. So a fault cuts a broker off from its callers (clients,
followers, the controller), in both directions or only for responses, while the broker may still connect to others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from signalbox.testing.switchboard_line import Target
from tools.chaos.faults.switchboard_process import SwitchboardProcess

LISTENERS = {"CLIENT": "PLAINTEXT", "REPLICATION": "PLAINTEXT", "CONTROL": "PLAINTEXT", "LOGIN": "SASL_PLAINTEXT"}
"""Security protocol by listener, in the order of a broker's ports."""

_HOST = "127.0.0.1"


class Network:
    """Brokers 1..n, which listen from `broker_port` on; lines use `ports_needed` ports from `line_port` on. `settings`
    are the keys of each broker that configure this."""

    def __init__(self, board: SwitchboardProcess, brokers: int, broker_port: int, line_port: int) -> None:
        self._board = board
        self._lines: dict[int, list[str]] = {}
        self.settings: dict[int, dict[str, str]] = {}
        for broker_id in range(1, brokers + 1):
            base = len(LISTENERS) * (broker_id - 1)
            bound, advertised = [], []
            self._lines[broker_id] = []
            for place, listener in enumerate(LISTENERS, base):
                name = f"{listener} of broker {broker_id}"
                self._lines[broker_id].append(name)
                home: Target = (_HOST, broker_port + place)
                host, port = board.add_line(name, home, line_port + place)
                bound.append(f"{listener}://{_HOST}:{broker_port + place}")
                advertised.append(f"{listener}://{host}:{port}")
            self.settings[broker_id] = {
                "listeners": ",".join(bound),
                "advertised.listeners": ",".join(advertised),
                "listener.security.protocol.map": ",".join(
                    f"{name}:{protocol}" for name, protocol in LISTENERS.items()
                ),
            }

    @staticmethod
    def ports_needed(brokers: int) -> int:
        return brokers * len(LISTENERS)

    def refuse_connections(self, broker_id: int) -> None:
        """Open connections are cut, new connections refused (TCP)."""
        self._each(broker_id, self._board.refuse_connections)

    def stall(self, broker_id: int) -> None:
        """Connections are accepted and stay open; no byte is passed on, in either direction."""
        self._each(broker_id, self._board.blackhole)

    def mute(self, broker_id: int) -> None:
        """Requests to the broker arrive, its responses do not."""
        self._each(broker_id, self._board.mute)

    def heal(self, broker_id: int) -> None:
        """Normal operation; bytes that were held back arrive late."""
        self._each(broker_id, self._board.restore)

    def _each(self, broker_id: int, act: Callable[[str], None]) -> None:
        names: Iterable[str] = self._lines[broker_id]
        for name in names:
            act(name)
