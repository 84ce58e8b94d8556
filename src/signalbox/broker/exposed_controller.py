"""Which broker is shown to clients as the controller (F12): a random live one of the listener, drawn each time.

The real controller is nobody's business: every broker forwards. Names the choice once for Metadata and
DescribeCluster.
"""

from __future__ import annotations

from random import Random

from signalbox.metadata.cache import MetadataCache


class ExposedController:
    def __init__(self, cache: MetadataCache, random: Random) -> None:
        self._cache = cache
        self._random = random

    def id_for(self, listener_name: str) -> int:
        """A live broker that has the listener; -1 when there is none."""
        ids = list(self._cache.image.nodes(listener_name))
        return self._random.choice(ids) if ids else -1
