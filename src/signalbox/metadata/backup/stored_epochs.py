"""Reads controller and leader epochs from the store. A controller stores an epoch before it sends it: no controller has
sent an epoch that is higher than the stored one.

Raises the leader epochs in a store that is older than the brokers' logs: an epoch that is in a log must not be used
again for other records, or replicas could not find where their logs diverge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from signalbox.common.ids import TopicPartition
from signalbox.metadata.entries.controller_claim import read_controller_epoch
from signalbox.metadata.entries.corrupt_entries import readable
from signalbox.metadata.entries.json_text import MAX_NUMBER, decode_json, encode_json
from signalbox.metadata.entries.partition_state import decode_partition_state
from signalbox.metadata.layout import partition_of_state, partition_state_path
from signalbox.metadata.store.concurrent_reads import read_all
from signalbox.metadata.store.port import Entry, MetadataStore, Operation, Write

EPOCH_STEP = 100_000
"""More elections, of leaders and of controllers, than happen between two copies of a store."""


class StoredEpochs:
    """Reads from the store at every call. None stands for a corrupt entry, with which no epoch can be compared."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    async def controller_epoch(self) -> int | None:
        """The epoch of the last controller, 0 before the first; StoreError."""
        return await read_controller_epoch(self._store)

    async def leader_epochs(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Leader epochs by partition; None also without a stored state: the topic may have been deleted. StoreError."""
        paths = {each: partition_state_path(*each) for each in partitions}
        entries = await read_all(self._store, paths.values())
        return {
            partition: None if entry is None else _leader_epoch(path, entry)
            for (partition, path), entry in zip(paths.items(), entries, strict=True)
        }


def _leader_epoch(path: str, entry: Entry) -> int | None:
    state = readable(decode_partition_state, path, entry.data, entry.version)
    return None if state is None else state.leader_epoch


def raised_epochs(topics: Mapping[str, Entry], seen: Mapping[TopicPartition, int], step: int) -> Iterator[Operation]:
    """The writes that raise the leader epoch of every state in `topics` by `step`, and above the partition's epoch in
    `seen`. Corrupt states stay as they are."""
    for path, entry in topics.items():
        partition = partition_of_state(path)
        if partition is None:
            continue
        state = readable(decode_partition_state, path, entry.data, entry.version)
        if state is None:
            continue
        raised = state.leader_epoch + step
        if seen.get(partition, -1) >= raised:
            raised = seen[partition] + 1
        if raised != state.leader_epoch:
            changed = {**decode_json(entry.data, path), "leader_epoch": min(raised, MAX_NUMBER)}
            yield Write(path, encode_json(changed), entry.version)
