"""Raises the leader epochs in a store that is older than the brokers' logs: an epoch that is in a log must not be used
again for other records, or replicas could not find where their logs diverge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from signalbox.common.ids import TopicPartition
from signalbox.metadata.entries.corrupt_entries import readable
from signalbox.metadata.entries.json_text import MAX_NUMBER, decode_json, encode_json
from signalbox.metadata.entries.partition_state import decode_partition_state
from signalbox.metadata.layout import partition_of_state
from signalbox.metadata.store.port import Entry, Operation, Write

EPOCH_STEP = 100_000
"""More elections, of leaders and of controllers, than happen between two copies of a store."""


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
