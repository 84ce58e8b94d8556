"""Reads controller and leader epochs from the store. A controller stores an epoch before it sends it: no controller has
sent an epoch that is higher than the stored one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from signalbox.common.ids import TopicPartition
from signalbox.metadata.entries.controller_claim import decode_controller_epoch
from signalbox.metadata.entries.corrupt_entries import readable
from signalbox.metadata.entries.partition_state import decode_partition_state
from signalbox.metadata.layout import CONTROLLER_EPOCH, partition_state_path
from signalbox.metadata.store.port import MetadataStore

_READS_AT_ONCE = 100


class StoredEpochs:
    """Reads from the store at every call. None stands for a corrupt entry, with which no epoch can be compared."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    async def controller_epoch(self) -> int | None:
        """The epoch of the last controller, 0 before the first; StoreError."""
        entry = await self._store.read(CONTROLLER_EPOCH)
        return 0 if entry is None else readable(decode_controller_epoch, entry.data)

    async def leader_epochs(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Leader epochs by partition; None also without a stored state: the topic may have been deleted. StoreError."""
        wanted, found = list(partitions), dict[TopicPartition, int | None]()
        for start in range(0, len(wanted), _READS_AT_ONCE):
            part = wanted[start : start + _READS_AT_ONCE]
            epochs = await asyncio.gather(*(self._leader_epoch(each) for each in part))
            found.update(zip(part, epochs, strict=True))
        return found

    async def _leader_epoch(self, partition: TopicPartition) -> int | None:
        path = partition_state_path(*partition)
        entry = await self._store.read(path)
        state = None if entry is None else readable(decode_partition_state, path, entry.data, entry.version)
        return None if state is None else state.leader_epoch
