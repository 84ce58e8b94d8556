"""The current epochs in the store, read on every adapter that needs no server; leader epochs are raised above all
epochs in the logs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.metadata.backup.stored_epochs import StoredEpochs, raised_epochs
from signalbox.metadata.entries.controller_claim import encode_controller_epoch
from signalbox.metadata.entries.json_text import MAX_NUMBER
from signalbox.metadata.entries.partition_state import PartitionState
from signalbox.metadata.layout import CONTROLLER_EPOCH, partition_state_path
from signalbox.metadata.store.port import Create, Entry, MetadataStore, Write
from tests.metadata.store.worlds import WORLDS


async def put(store: MetadataStore, path: str, data: bytes | None) -> None:
    """Writes the entry, and creates the missing entries above it."""
    parts = path.split("/")
    for depth in range(2, len(parts)):
        above = "/".join(parts[:depth])
        if await store.read(above) is None:
            await store.commit([Create(above)])
    await store.commit([Create(path, data) if await store.read(path) is None else Write(path, data)])


@pytest.mark.spec("M3")
@pytest.mark.parametrize("name", sorted(WORLDS))
def test_stored_epochs_are_read_again_each_time(name: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        world = WORLDS[name](tmp_path)
        store = world.participant()
        await store.open_session()
        epochs = StoredEpochs(store)
        assert await epochs.controller_epoch() == 0
        for number in (3, 4):
            await put(store, CONTROLLER_EPOCH, encode_controller_epoch(number))
            assert await epochs.controller_epoch() == number
        await put(store, CONTROLLER_EPOCH, b"torn")
        assert await epochs.controller_epoch() is None
        wanted = [TopicPartition("t", index) for index in range(250)]
        for index in (0, 1, 249):
            state = PartitionState(leader=1, leader_epoch=index + 5, isr=(1,), controller_epoch=1, partition_epoch=0)
            await put(store, partition_state_path("t", index), state.encode())
        await put(store, partition_state_path("t", 1), b"torn")
        found = await epochs.leader_epochs(wanted)
        assert list(found) == wanted
        assert {each.partition: epoch for each, epoch in found.items() if epoch is not None} == {0: 5, 249: 254}
        await world.close()

    asyncio.run(scenario())


PATH = "/brokers/topics/t/partitions/0/state"
STATE = b'{"version":1,"leader":2,"leader_epoch":41,"controller_epoch":3,"isr":[2,1],"leader_recovery_state":1}'


def raised(step: int, seen: int | None) -> int | None:
    """The leader epoch that is written; None when nothing is written."""
    topics = {PATH: Entry(STATE, 5, 1, 0), "/brokers/topics/t": Entry(b"{}", 0, 1, 0)}
    epochs = {} if seen is None else {TopicPartition("t", 0): seen}
    writes = list(raised_epochs(topics, epochs, step))
    if not writes:
        return None
    (write,) = writes
    assert isinstance(write, Write)
    assert (write.path, write.expected_version) == (PATH, 5)
    changed = json.loads(write.data or b"")
    assert {**changed, "leader_epoch": 41} == json.loads(STATE)
    return int(changed["leader_epoch"])


@pytest.mark.parametrize(
    ("step", "seen", "epoch"),
    [
        (0, None, None),
        (0, 40, None),
        (0, 41, 42),
        (0, 99, 100),
        (1000, None, 1041),
        (1000, 99, 1041),
        (1000, 2000, 2001),
        (0, MAX_NUMBER, MAX_NUMBER),
    ],
)
def test_above_what_was_stored_and_seen(step: int, seen: int | None, epoch: int | None) -> None:
    assert raised(step, seen) == epoch


def test_a_corrupt_state_stays_as_it_is() -> None:
    assert list(raised_epochs({PATH: Entry(b"?", 0, 1, 0)}, {}, 10)) == []
