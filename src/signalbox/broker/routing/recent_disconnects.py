"""Recently disconnected brokers: Metadata responses wait briefly until the controller has handled their failure.

A client whose leader dies sends Metadata to another broker within a millisecond, some ten milliseconds before the
controller has elected new leaders and sent UpdateMetadata. A stale response costs the client a second (librdkafka
refreshes the topic of a rejected leader once per second). Followers see their connections to the dead broker close at
the same moment. While such a broker is still alive or a leader in the image, Metadata responses are delayed, at most
for `HOLD_S` after the disconnect. A broker that only hangs (SIGSTOP) closes no connections and causes no delay.
"""

from __future__ import annotations

from signalbox.common.clock import Clock
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import MetadataImage

HOLD_S = 0.25  # an election takes 10 to 50 ms, several times that on a busy machine


class RecentDisconnects:
    """Updated by the owners of connections to other brokers, read by the Metadata handler."""

    def __init__(self, cache: MetadataCache, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock
        self._lost_at: dict[int, float] = {}

    def connection_lost(self, broker_id: int) -> None:
        """An open connection to `broker_id` was closed, and not by this broker."""
        self._lost_at[broker_id] = self._clock.monotonic()

    def hold_s(self) -> float:
        """How long a response about leaders must wait, in seconds: 0 when no broker disconnected recently, or the
        controller has handled the failure."""
        if not self._lost_at:
            return 0.0
        now_s = self._clock.monotonic()
        self._lost_at = {broker: lost_at for broker, lost_at in self._lost_at.items() if now_s - lost_at < HOLD_S}
        if self._is_settled(self._cache.image):
            self._lost_at.clear()
        return max((lost_at + HOLD_S - now_s for lost_at in self._lost_at.values()), default=0.0)

    async def settled(self, hold_s: float) -> None:
        """Wait until the controller has handled all recent disconnects, at most `hold_s`."""
        await self._cache.wait_until(self._is_settled, hold_s)

    def _is_settled(self, image: MetadataImage) -> bool:
        """Whether none of these brokers is alive or a leader in the image. The controller sends the live brokers first
        and the new leaders a little later: a response between the two would have no leaders."""
        disconnected = self._lost_at.keys()
        if any(image.is_alive(broker_id) for broker_id in disconnected):
            return False
        return not any(
            partition.leader in disconnected
            for topic in image.topics.values()
            for partition in topic.partitions.values()
        )
