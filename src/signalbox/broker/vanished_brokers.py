"""Brokers that hung up a moment ago: Metadata waits for the controller's word on them, briefly.

A client whose leader dies asks another broker for Metadata within a millisecond, some ten milliseconds before the
controller has elected and told everybody. The stale answer costs it a second (librdkafka asks a refused leader's
topic again once a second). Followers see the same connections close in the same moment: while such a broker still
lives or leads in the image, Metadata is held back, at most `HOLD_S` from the moment it hung up. A broker that is only
silent (SIGSTOP) hangs up on nobody and holds nothing up.
"""

from __future__ import annotations

from signalbox.common.clock import Clock
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import MetadataImage

HOLD_S = 0.25  # an election takes 10 to 50 ms, several times that on a busy machine


class VanishedBrokers:
    """Filled by those who hold connections to other brokers, read by Metadata."""

    def __init__(self, cache: MetadataCache, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock
        self._lost_at: dict[int, float] = {}

    def connection_lost(self, broker_id: int) -> None:
        """An open connection to this broker was closed, and not by us."""
        self._lost_at[broker_id] = self._clock.monotonic()

    def hold_s(self) -> float:
        """How long an answer about leaders is to wait: 0 when nobody vanished or the cluster has dealt with it."""
        if not self._lost_at:
            return 0.0
        now_s = self._clock.monotonic()
        self._lost_at = {broker: lost_at for broker, lost_at in self._lost_at.items() if now_s - lost_at < HOLD_S}
        if self._is_settled(self._cache.image):
            self._lost_at.clear()
        return max((lost_at + HOLD_S - now_s for lost_at in self._lost_at.values()), default=0.0)

    async def settled(self, hold_s: float) -> None:
        """Wait until the controller has dealt with all of them, at most `hold_s`."""
        await self._cache.wait_until(self._is_settled, hold_s)

    def _is_settled(self, image: MetadataImage) -> bool:
        """Whether none of them lives or leads. The controller tells of brokers first and of new leaders a little later:
        what lies between would be an answer without leaders."""
        gone = self._lost_at.keys()
        if any(image.is_alive(broker_id) for broker_id in gone):
            return False
        return not any(
            partition.leader in gone for topic in image.topics.values() for partition in topic.partitions.values()
        )
