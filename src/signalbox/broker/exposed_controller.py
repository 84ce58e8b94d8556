"""Which broker clients are told is the controller (F12).

From the gate of the roll-out on: a random live one of the listener, drawn each time. The real controller is nobody's
business, since every broker forwards. Below it: the real one, whom clients must find.
"""

from __future__ import annotations

from random import Random
from typing import Protocol

from signalbox.metadata.cache import MetadataCache


class ControllerShown(Protocol):
    def id_for(self, listener_name: str) -> int:
        """The broker that clients of this listener may take for the controller; -1 when there is none."""
        ...


class ExposedController:
    def __init__(self, cache: MetadataCache, random: Random) -> None:
        self._cache = cache
        self._random = random

    def id_for(self, listener_name: str) -> int:
        """A live broker that has the listener; -1 when there is none."""
        ids = list(self._cache.image.nodes(listener_name))
        return self._random.choice(ids) if ids else -1


class RealController:
    def __init__(self, cache: MetadataCache) -> None:
        self._cache = cache

    def id_for(self, listener_name: str) -> int:
        """The controller, as it told this broker last, whether it has the listener or not."""
        return self._cache.image.controller_id
