"""Relays at the advertised addresses of the brokers that `signalbox up --drill` runs, and the socket that rewires them.

Clients reach each broker through its relay. The brokers' own traffic has listeners of its own, which no fault concerns;
so has the listener KIT, for faults that are requests to a broker, and for users who want to look past all faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

KIT = "KIT"
_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class RelayedPorts:
    """The ports of one broker: `advertised` is the relay's, which leads to `client`; `kit` is advertised as it is."""

    advertised: int
    client: int
    kit: int


class DrillRelays:
    """Relays and control socket of a cluster in `folder`. With `reads_requests` false (clients use TLS) only addresses
    and bytes can have faults."""

    def __init__(self, folder: Path, ports: Mapping[int, RelayedPorts], *, reads_requests: bool = True) -> None:
        self._folder = folder
        self._ports = ports
        self._reads_requests = reads_requests
        self._stack = ExitStack()

    @property
    def kit_bootstrap(self) -> str:
        """`host:port,...` of all brokers, past the relays."""
        return ",".join(f"{_HOST}:{each.kit}" for each in self._ports.values())

    def __enter__(self) -> Self:
        """OSError if a port is taken."""
        from signalbox.testing.control.control_socket import ControlSocket  # not for every `signalbox up`
        from signalbox.testing.control.fault_control import FaultControl
        from signalbox.testing.faults.fault import address_line
        from signalbox.testing.switchboard_thread import SwitchboardThread
        from signalbox.testing.wire.request_rule import LineRules

        with ExitStack() as stack:
            board = stack.enter_context(SwitchboardThread())
            board.reach_brokers_at(self.kit_bootstrap)
            topic_names: dict[bytes, str] = {}
            for node, ports in self._ports.items():
                rules = LineRules(topic_names=topic_names) if self._reads_requests else None
                board.add_line(address_line(node), (_HOST, ports.client), ports.advertised, rules)
            stack.enter_context(ControlSocket(self._folder, FaultControl(board).execute))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
