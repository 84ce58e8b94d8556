"""`/isr_change_notification/isr_change_<n>`: a leader that stored ISRs itself (before KIP-497) notifies the controller
of the partitions. The new ISRs are in the partition states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from signalbox.common.ids import TopicPartition
from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.layout import ISR_CHANGE_PREFIX
from signalbox.metadata.store.port import Create, MetadataStore

# Kafka has no limit per notification; with the longest topic names these are 600 kB, and an entry holds 1 MB.
_PARTITIONS_PER_ENTRY = 2_000


async def announce_isr_changes(store: MetadataStore, partitions: Iterable[TopicPartition]) -> None:
    """Notify the controller that the states of these partitions have changed. StoreError."""
    await store.commit([Create(ISR_CHANGE_PREFIX, data, numbered=True) for data in _encoded(sorted(partitions))])


def _encoded(partitions: list[TopicPartition]) -> Iterator[bytes]:
    for start in range(0, len(partitions), _PARTITIONS_PER_ENTRY):
        named = partitions[start : start + _PARTITIONS_PER_ENTRY]
        yield encode_json(
            {"version": 1, "partitions": [{"topic": each.topic, "partition": each.partition} for each in named]}
        )


def decode_isr_change(path: str, data: bytes | None) -> list[TopicPartition]:
    """The partitions that a notification names; BadEntry."""
    try:
        named = [(each["topic"], each["partition"]) for each in decode_json(data, path)["partitions"]]
    except (AttributeError, KeyError, TypeError) as error:
        raise BadEntry(f"{path} names no partitions: {error!r}") from error
    for topic, partition in named:
        if not isinstance(topic, str) or type(partition) is not int:
            raise BadEntry(f"{path} names {topic!r}-{partition!r}, which is no partition")
    return [TopicPartition(topic, partition) for topic, partition in named]
