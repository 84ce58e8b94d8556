"""The nodes that responses to clients contain.

The controller id (F12): at and above the gate a random live broker of the listener, chosen for each response. The real
controller is not exposed, since every broker forwards. Below the gate: the real controller (`RealController` in
`controller/direct_writes/broker_below_gate.py`).

The addresses of current leaders on the request's listener: the node endpoints of Produce >= 10 and Fetch >= 16
(KIP-951). A leader without that listener is left out: its other addresses must not be exposed there (L10).
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Protocol, TypeVar

from signalbox.metadata.cache import MetadataCache


class AdvertisedController(Protocol):
    def id_for(self, listener_name: str) -> int:
        """The broker that clients of this listener use as the controller; -1 when there is none."""
        ...


class ExposedController:
    def __init__(self, cache: MetadataCache, random: Random) -> None:
        self._cache = cache
        self._random = random

    def id_for(self, listener_name: str) -> int:
        """A random live broker that has the listener; -1 when there is none."""
        ids = list(self._cache.image.nodes(listener_name))
        return self._random.choice(ids) if ids else -1


E = TypeVar("E")


def node_endpoints(cache: MetadataCache, listener_name: str, leader_ids: Iterable[int], make: type[E]) -> list[E]:
    """One `make(node_id, host, port, rack)` per distinct leader that has the listener, by ascending id."""
    image = cache.image
    nodes = image.nodes(listener_name)
    return [
        make(
            node_id=leader_id,  # type: ignore[call-arg]
            host=nodes[leader_id].host,
            port=nodes[leader_id].port,
            rack=image.brokers[leader_id].rack,
        )
        for leader_id in sorted(set(leader_ids))
        if leader_id in nodes
    ]
