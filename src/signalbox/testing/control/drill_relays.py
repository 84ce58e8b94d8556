"""Relays at the advertised addresses of the brokers that `signalbox up --drill` runs, and the socket that rewires them.

Clients reach each broker through its relay. The brokers' own traffic has listeners of its own, which no fault concerns;
so has the listener KIT, for faults that are requests to a broker, and for users who want to look past all faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from signalbox.testing.switchboard_line import Line

KIT = "KIT"
_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class RelayedPorts:
    """The ports of one broker: `advertised` is the relay's, which leads to `client`; `kit` is advertised as it is.
    `more` has the ports of the relay and of the broker for each further listener of clients."""

    advertised: int
    client: int
    kit: int
    more: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class DrillRelays:
    """Relays and control socket of a cluster in `folder`. `properties` are the brokers' server.properties: if clients
    have TLS, it is read with the broker's certificate while a fault reads requests."""

    def __init__(
        self, folder: Path, ports: Mapping[int, RelayedPorts], properties: Mapping[int, Path] | None = None
    ) -> None:
        self._folder = folder
        self._ports = ports
        self._properties = properties or {}
        self._stack = ExitStack()

    @property
    def kit_bootstrap(self) -> str:
        """`host:port,...` of all brokers, past the relays."""
        return ",".join(f"{_HOST}:{each.kit}" for each in self._ports.values())

    def __enter__(self) -> Self:
        """OSError if a port is taken."""
        from signalbox.testing.control.control_socket import ControlSocket  # not for every `signalbox up`
        from signalbox.testing.control.fault_control import FaultControl
        from signalbox.testing.faults.fault import FIRST_LISTENER, address_line
        from signalbox.testing.switchboard_thread import SwitchboardThread
        from signalbox.testing.wire.request_rule import LineRules

        with ExitStack() as stack:
            board = stack.enter_context(SwitchboardThread())
            board.reach_brokers_at(self.kit_bootstrap)
            topic_names: dict[bytes, str] = {}
            for node, ports in self._ports.items():
                for listener, (relay, own) in {FIRST_LISTENER: (ports.advertised, ports.client), **ports.more}.items():
                    name, rules = address_line(node, listener=listener), LineRules(topic_names=topic_names)
                    board.add_line(name, (_HOST, own), relay, rules)
                    if node in self._properties:
                        _read_tls(board.line(name), self._properties[node], listener)
            stack.enter_context(ControlSocket(self._folder, FaultControl(board).execute))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _read_tls(line: Line, properties_file: Path, listener: str) -> None:
    """A line without rules rejects faults that read requests. The broker itself says what is wrong with its file."""
    from signalbox.configuration.config_file import ConfigFileError
    from signalbox.security.tls.settings import TlsConfigError
    from signalbox.testing.control.listener_line_tls import listener_line_tls

    try:
        line.tls = listener_line_tls(properties_file, listener)
    except (ConfigFileError, TlsConfigError):
        line.rules = None
