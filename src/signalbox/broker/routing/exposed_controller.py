"""The controller id that responses to clients contain (F12).

At and above the gate: a random live broker of the listener, chosen for each response. The real controller is not
exposed, since every broker forwards. Below the gate: the real controller (`RealController` in
`controller/direct_writes/broker_below_gate.py`).
"""

from __future__ import annotations

from random import Random
from typing import Protocol

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
