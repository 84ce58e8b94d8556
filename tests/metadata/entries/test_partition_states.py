"""Partition states that are read from the store: missing and corrupt ones are left out."""

from __future__ import annotations

import logging

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.metadata.entries.partition_state import PartitionState
from signalbox.metadata.entries.partition_states import read_partition_states
from signalbox.metadata.layout import partition_path, partition_state_path, partitions_path, topic_path
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Write
from tests.metadata.participants import run_with_stores


def test_states_come_with_their_version(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        state = PartitionState(leader=1, leader_epoch=2, isr=(1, 3), controller_epoch=4, partition_epoch=0)
        await store.commit([Create(topic_path("t")), Create(partitions_path("t"))])
        count = 600
        for number in range(count):
            path = partition_state_path("t", number)
            await store.commit([Create(partition_path("t", number)), Create(path, state.encode())])
        await store.commit([Write(partition_state_path("t", 1), state.encode())])
        await store.commit([Write(partition_state_path("t", 2), b"{}")])
        asked = [TopicPartition("t", number) for number in range(count + 1)]
        with caplog.at_level(logging.ERROR):
            found = await read_partition_states(store, asked)
        assert [each for each in asked if each not in found] == [TopicPartition("t", 2), TopicPartition("t", count)]
        assert [found[asked[number]].partition_epoch for number in (0, 1, 3)] == [0, 1, 0]
        assert found[asked[0]] == state
        assert partition_state_path("t", 2) in caplog.text

    run_with_stores(1, scenario)
