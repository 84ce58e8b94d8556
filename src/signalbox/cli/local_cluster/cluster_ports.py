"""The ports of a cluster of `signalbox up`, and the keys of server.properties that depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from signalbox.testing.control.drill_relays import KIT, RelayedPorts
from signalbox.testing.free_ports import consecutive_ports
from signalbox.testing.process_cluster import FIRST_CONTROLLER_ID

_METRICS_PORT = "signalbox.metrics.http.port"
_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """Three ports per broker (CLIENT, REPLICATION, CONTROL), one per controller, one metrics page per node. With
    `drill` clients find a relay at the port of CLIENT, and each broker has two more: that of CLIENT, and KIT. Each of
    `listeners` has two per broker, too: that of its relay, and its own."""

    first: int
    brokers: int
    controllers: int
    drill: bool = False
    listeners: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, first: int, brokers: int, controllers: int, drill: bool = False, listeners: tuple[str, ...] = ()
    ) -> Ports:
        """`first` 0 takes free ports."""
        count = 4 * brokers + 2 * controllers + (2 * brokers * (1 + len(listeners)) if drill else 0)
        return cls(first or consecutive_ports(count, Random()), brokers, controllers, drill, listeners)

    def of_node(self, node_id: int, advertised_host: str | None, overrides: dict[str, str]) -> dict[str, str]:
        """The keys of one node that depend on its ports; `overrides` have their way."""
        is_broker = node_id < FIRST_CONTROLLER_ID
        index = node_id - 1 if is_broker else self.brokers + node_id - FIRST_CONTROLLER_ID
        keys = {_METRICS_PORT: str(self.first + 3 * self.brokers + self.controllers + index)}
        if is_broker and self.drill:
            keys |= self._listeners(node_id, _HOST, self.relayed()[node_id].client, _HOST)
        elif is_broker and advertised_host is not None:
            keys |= self._listeners(node_id, "0.0.0.0", self._client(node_id), advertised_host)
        return {key: value for key, value in keys.items() if key not in overrides}

    def relayed(self) -> dict[int, RelayedPorts]:
        """The ports of each broker behind a relay."""
        first = self.first + 4 * self.brokers + 2 * self.controllers
        return {
            node_id: RelayedPorts(
                self._client(node_id), first + 2 * node_id - 2, first + 2 * node_id - 1, self._more(node_id)
            )
            for node_id in range(1, self.brokers + 1)
        }

    def _more(self, node_id: int) -> Mapping[str, tuple[int, int]]:
        """(port of the relay, port of the broker) of each further listener."""
        first = self.first + 6 * self.brokers + 2 * self.controllers + 2 * (node_id - 1) * len(self.listeners)
        return {name: (first + 2 * index, first + 2 * index + 1) for index, name in enumerate(self.listeners)}

    def _client(self, node_id: int) -> int:
        return self.first + 3 * (node_id - 1)

    def _listeners(self, node_id: int, host: str, port: int, advertised_host: str) -> dict[str, str]:
        client = self._client(node_id)
        inner = f"REPLICATION://{_HOST}:{client + 1},CONTROL://{_HOST}:{client + 2}"
        if self.drill:
            inner += f",{KIT}://{_HOST}:{self.relayed()[node_id].kit}"
        more = self._more(node_id).items()
        own = "".join(f",{name}://{_HOST}:{port_of_broker}" for name, (_, port_of_broker) in more)
        relayed = "".join(f",{name}://{_HOST}:{port_of_relay}" for name, (port_of_relay, _) in more)
        return {
            "listeners": f"CLIENT://{host}:{port},{inner}{own}",
            "advertised.listeners": f"CLIENT://{advertised_host}:{client},{inner}{relayed}",
        }
