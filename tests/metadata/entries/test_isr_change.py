"""Leaders' notifications of ISR changes that they stored themselves."""

from __future__ import annotations

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.metadata.entries.isr_change import announce_isr_changes, decode_isr_change
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.layout import ISR_CHANGES
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import MAX_ENTRY_BYTES
from tests.metadata.participants import run_with_stores


@pytest.mark.spec("M2")
def test_the_notification_is_kafkas() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        partitions = [TopicPartition("u", 3), TopicPartition("t", 0)]
        await announce_isr_changes(store, partitions)
        [name] = await store.children(ISR_CHANGES)
        assert name == "isr_change_0000000000"
        path = f"{ISR_CHANGES}/{name}"
        entry = await store.read(path)
        assert entry is not None
        assert entry.data == (b'{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"u","partition":3}]}')
        assert decode_isr_change(path, entry.data) == sorted(partitions)

    run_with_stores(1, scenario)


def test_changes_that_exceed_one_entry_are_announced_in_several() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        partitions = {TopicPartition("x" * 249, number) for number in range(5_000)}
        await announce_isr_changes(store, partitions)
        tree = await store.read_tree(ISR_CHANGES)
        del tree[ISR_CHANGES]
        assert len(tree) == 3
        assert all(entry.data is not None and len(entry.data) < MAX_ENTRY_BYTES for entry in tree.values())
        assert {each for path, entry in tree.items() for each in decode_isr_change(path, entry.data)} == partitions

    run_with_stores(1, scenario)


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"?",
        b"[]",
        b"{}",
        b'{"partitions":null}',
        b'{"partitions":[1]}',
        b'{"partitions":[{"topic":"t"}]}',
        b'{"partitions":[{"topic":null,"partition":0}]}',
        b'{"partitions":[{"topic":"t","partition":"0"}]}',
        b'{"partitions":[{"topic":"t","partition":true}]}',
        b'{"partitions":{"topic":"t"}}',
    ],
)
def test_bad_notifications_are_named(data: bytes | None) -> None:
    with pytest.raises(BadEntry, match="/e"):
        decode_isr_change("/e", data)
