"""Which advertised addresses a broker checks: all of its own, and those of some peers.

The peers are the brokers that follow this one in the order of their ids. So each broker is checked by as many others,
and the number of connections grows with the number of brokers, not with its square.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from signalbox.common.endpoint import Endpoint
from signalbox.metadata.image import MetadataImage

MAX_PEERS = 32


class AdvertisedAddress(NamedTuple):
    """An endpoint that a broker advertises."""

    node_id: int
    endpoint: Endpoint


def addresses_to_check(
    image: MetadataImage, node_id: int, without: Container[str], max_peers: int = MAX_PEERS
) -> list[AdvertisedAddress]:
    """Those of this broker first, then those of at most `max_peers` peers; none before the metadata has this broker.
    `without`: names of listeners that are not checked."""
    if not image.is_alive(node_id):
        return []
    others = sorted(image.brokers, key=lambda other: (other < node_id, other))  # this broker, above it, below it
    return [
        AdvertisedAddress(other, endpoint)
        for other in others[: max_peers + 1]
        for name, endpoint in sorted(image.brokers[other].endpoints.items())
        if name not in without
    ]
