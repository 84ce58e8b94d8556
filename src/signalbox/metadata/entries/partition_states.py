"""Reads the current states of partitions from the store: leaders may have written them since the last read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from signalbox.common.ids import TopicPartition
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.partition_state import PartitionState, decode_partition_state
from signalbox.metadata.layout import partition_state_path
from signalbox.metadata.store.port import MetadataStore

log = logging.getLogger(__name__)

_READS_AT_ONCE = 256


async def read_partition_states(
    store: MetadataStore, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, PartitionState]:
    """The states that exist and can be read; a corrupt state is logged and left out. StoreError."""
    states = {}
    for start in range(0, len(partitions), _READS_AT_ONCE):
        asked = partitions[start : start + _READS_AT_ONCE]
        paths = [partition_state_path(*each) for each in asked]
        entries = await asyncio.gather(*(store.read(path) for path in paths))
        for partition, path, entry in zip(asked, paths, entries, strict=True):
            if entry is None:
                continue
            try:
                states[partition] = decode_partition_state(path, entry.data, entry.version)
            except BadEntry as error:
                log.error("Corrupt partition state: %s", error)
    return states
