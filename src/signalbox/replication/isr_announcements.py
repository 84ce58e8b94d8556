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
from signalbox.metadata.isr_change import announce_isr_changes
from signalbox.metadata.store.port import MetadataStore, StoreError

_log = logging.getLogger(__name__)

CHECK_S = 2.5
LINGER_S = 5.0
LONGEST_S = 60.0


class IsrAnnouncements:
    """One per broker that stores ISRs itself. `pause` waits for the given number of seconds."""

    def __init__(
        self, store: MetadataStore, clock: Clock, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._store = store
        self._clock = clock
        self._pause = pause
        self._untold: set[TopicPartition] = set()
        self._changed_at = self._told_at = clock.monotonic()
        self._telling: asyncio.Task[None] | None = None

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Note that the ISRs of these partitions have been stored."""
        self._untold.update(partitions)
        self._changed_at = self._clock.monotonic()
        if self._telling is None or self._telling.done():
            self._telling = asyncio.get_running_loop().create_task(self._tell())

    async def stop(self) -> None:
        """Write no more notifications: the controller reads the states when it elects other leaders."""
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)

    async def _tell(self) -> None:
        while self._untold:
            await self._pause(CHECK_S)
            if self._is_due():
                told, self._untold = self._untold, set()
                try:
                    await announce_isr_changes(self._store, told)
                except StoreError as error:
                    _log.warning("ISR change notifications not written (partitions=%d): %s", len(told), error)
                    self._untold |= told
                else:
                    self._told_at = self._clock.monotonic()

    def _is_due(self) -> bool:
        now = self._clock.monotonic()
        return self._changed_at + LINGER_S < now or self._told_at + LONGEST_S < now
