"""The incarnation of a store, and whether the store lacks changes that a broker has seen."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.common.ids import UNKNOWN_CONTROLLER_EPOCH, StorePosition
from signalbox.metadata.backup.store_incarnation import (
    StoreHistory,
    advance,
    decode_history,
    encode_history,
    read_history,
    restored,
)
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.layout import CONTROLLER_EPOCH, STORE_INCARNATION
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Write
from tests.metadata.participants import run_with_stores

A9 = StorePosition("A", 9, 4)
HISTORY = StoreHistory(StorePosition("B", 12, 7), {"A": A9}, 3)


@pytest.mark.parametrize(
    ("seen", "lacks"),
    [
        (StorePosition("B", 12, 7), False),
        (StorePosition("B", 3, 7), False),
        (StorePosition("B", 13, 7), True),
        (StorePosition("B", 12, 8), True),
        (StorePosition("A", 9, 4), False),
        (StorePosition("A", 10, 4), True),
        (StorePosition("A", 9, 5), True),
        (StorePosition("C", 0, 0), True),
    ],
    ids=str,
)
def test_positions_that_a_store_lacks(seen: StorePosition, lacks: bool) -> None:
    assert HISTORY.lacks(seen) is lacks


def test_a_controller_epoch_that_cannot_be_read_decides_nothing() -> None:
    history = StoreHistory(StorePosition("B", 12, UNKNOWN_CONTROLLER_EPOCH), {})
    assert not history.lacks(StorePosition("B", 12, 99))
    assert history.lacks(StorePosition("B", 13, 99))


def test_a_written_history_is_read() -> None:
    assert decode_history(encode_history(HISTORY), 3, 7) == HISTORY


def test_a_fork_knows_what_it_came_from_up_to_where_it_left() -> None:
    forked = HISTORY.forked(50)
    assert forked.position.incarnation not in ("A", "B")
    assert (forked.position.generation, forked.position.controller_epoch) == (13, 50)
    assert forked.earlier == {"A": A9, "B": HISTORY.position}
    assert not forked.lacks(HISTORY.position)
    assert forked.lacks(HISTORY.advanced().position)
    assert HISTORY.lacks(forked.position)


def test_a_restored_backup_has_accepted_all_that_came_after_it() -> None:
    history = decode_history(restored(encode_history(HISTORY), "R"), 0, 100_007)
    assert history.position == StorePosition("R", 13, 100_007)
    assert not history.lacks(StorePosition("B", 10_000, 10_000))
    assert history.lacks(StorePosition("A", 10, 4)), "what had been lost before stays lost"
    assert restored(b"?", "R") == b"?"


@pytest.mark.spec("M3")
def test_every_broker_advances_the_store_and_none_goes_back() -> None:
    async def scenario(shared: SharedEntries, *stores: MemoryMetadataStore) -> None:
        await stores[0].commit([Create(CONTROLLER_EPOCH, b"2")])

        async def advanced(store: MemoryMetadataStore) -> StorePosition:
            while (position := await advance(store, await read_history(store))) is None:
                pass
            return position

        positions = await asyncio.gather(*(advanced(store) for store in stores))
        assert sorted(position.generation for position in positions) == [1, 2, 3]
        assert len({position.incarnation for position in positions}) == 1
        assert {position.controller_epoch for position in positions} == {2}

    run_with_stores(3, scenario)


def test_a_corrupt_entry_is_a_new_incarnation() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        await store.commit([Create(STORE_INCARNATION, b"?"), Create(CONTROLLER_EPOCH, b"x")])
        history = await read_history(store)
        assert history.entry_version == 0
        assert history.position.controller_epoch == UNKNOWN_CONTROLLER_EPOCH
        position = await advance(store, history)
        assert position is not None
        assert (await read_history(store)).position == position
        await store.commit([Write(CONTROLLER_EPOCH, b"3")])
        assert (await read_history(store)).position.controller_epoch == 3

    run_with_stores(1, scenario)


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"incarnation":""}', b'{"incarnation":"A","generation":-1}',
     b'{"incarnation":"A","generation":1,"earlier":[{}]}', b'{"incarnation":"A","generation":1,"earlier":7}'],
)  # fmt: skip
def test_a_corrupt_history_is_rejected(data: bytes) -> None:
    with pytest.raises(BadEntry):
        decode_history(data, 0, 0)
