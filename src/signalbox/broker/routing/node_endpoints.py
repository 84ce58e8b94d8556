"""Addresses of current leaders on the request's listener: the node endpoints in responses of Produce >= 10 and Fetch >=
16 (KIP-951). A leader without that listener is left out: its other addresses must not be exposed there (L10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from signalbox.metadata.cache import MetadataCache

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
