"""Notifies the controller of ISRs that this broker stored as a leader. Many changes are combined into a few
notifications. As in Kafka's ZkAlterPartitionManager there is a check every 2.5 s; the notification is written if there
was no change for 5 s or no notification for a minute.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from signalbox.common.clock import Clock
from signalbox.common.ids import TopicPartition
from signalbox.metadata.entries.isr_change import announce_isr_changes
from signalbox.metadata.store.port import MetadataStore, StoreError

_log = logging.getLogger(__name__)

CHECK_S = 2.5
LINGER_S = 5.0
MAX_DELAY_S = 60.0


class IsrAnnouncements:
    """One per broker that stores ISRs itself. `pause` waits for the given number of seconds."""

    def __init__(
        self, store: MetadataStore, clock: Clock, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._store = store
        self._clock = clock
        self._pause = pause
        self._unannounced: set[TopicPartition] = set()
        self._changed_at = self._announced_at = clock.monotonic()
        self._announcing: asyncio.Task[None] | None = None

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Note that the ISRs of these partitions have been stored."""
        self._unannounced.update(partitions)
        self._changed_at = self._clock.monotonic()
        if self._announcing is None or self._announcing.done():
            self._announcing = asyncio.get_running_loop().create_task(self._announce())

    async def stop(self) -> None:
        """Write no more notifications: the controller reads the states when it elects other leaders."""
        if self._announcing is not None:
            self._announcing.cancel()
            await asyncio.gather(self._announcing, return_exceptions=True)

    async def _announce(self) -> None:
        while self._unannounced:
            await self._pause(CHECK_S)
            if self._is_due():
                partitions, self._unannounced = self._unannounced, set()
                try:
                    await announce_isr_changes(self._store, partitions)
                except StoreError as error:
                    _log.warning("ISR change notifications not written (partitions=%d): %s", len(partitions), error)
                    self._unannounced |= partitions
                else:
                    self._announced_at = self._clock.monotonic()

    def _is_due(self) -> bool:
        now = self._clock.monotonic()
        return self._changed_at + LINGER_S < now or self._announced_at + MAX_DELAY_S < now
