"""Becoming the controller: one at a time, with an epoch that fences (facts §2.3, SPEC M3)."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.controller.claim import Claim, still_holds, try_to_claim
from signalbox.metadata.layout import CONTROLLER, CONTROLLER_EPOCH
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, FencedOut, SessionLost
from tests.metadata.participants import run_with_stores


def test_the_first_claim_and_its_fence() -> None:
    async def scenario(shared: SharedEntries, one: MemoryMetadataStore, two: MemoryMetadataStore) -> None:
        await one.open_session()
        await two.open_session()
        standing = await try_to_claim(one, 1, 7)
        assert standing.claim is not None
        assert (standing.controller_id, standing.claim.controller_epoch) == (1, 1)
        entry = await two.read(CONTROLLER)
        assert entry is not None
        assert entry.data == b'{"version":2,"brokerid":1,"timestamp":"7","kraftControllerEpoch":-1}'
        assert await try_to_claim(two, 2, 8) == type(standing)(1)
        await one.commit([Create("/written")], standing.claim.fence)
        assert await still_holds(one, standing.claim)

    run_with_stores(2, scenario)


def test_of_several_at_once_one_wins() -> None:
    async def scenario(shared: SharedEntries, *stores: MemoryMetadataStore) -> None:
        for store in stores:
            await store.open_session()
        standings = await asyncio.gather(*(try_to_claim(store, number, 0) for number, store in enumerate(stores, 1)))
        assert sum(standing.claim is not None for standing in standings) == 1

    run_with_stores(4, scenario)


def test_the_next_epoch_shuts_the_old_controller_out() -> None:
    async def scenario(shared: SharedEntries, old: MemoryMetadataStore, new: MemoryMetadataStore) -> None:
        await old.open_session()
        await new.open_session()
        first = await claimed(old, 1)
        await new.commit([Delete(CONTROLLER)])
        second = await claimed(new, 2)
        assert second.controller_epoch == first.controller_epoch + 1
        assert not await still_holds(old, first)
        with pytest.raises(FencedOut):
            await old.commit([Create("/late")], first.fence)
        await new.commit([Create("/early")], second.fence)

    run_with_stores(2, scenario)


def test_an_own_claim_left_behind_is_replaced() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        await store.open_session()
        first = await claimed(store, 1)
        second = await claimed(store, 1)
        assert second.controller_epoch == 2
        assert not await still_holds(store, first)
        assert await still_holds(store, second)
        epoch = await store.read(CONTROLLER_EPOCH)
        assert epoch is not None
        assert epoch.data == b"2"

    run_with_stores(1, scenario)


def test_without_a_session_nobody_claims() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        with pytest.raises(SessionLost):
            await try_to_claim(store, 1, 0)

    run_with_stores(1, scenario)


async def claimed(store: MemoryMetadataStore, node_id: int) -> Claim:
    standing = await try_to_claim(store, node_id, 0)
    assert standing.claim is not None
    return standing.claim
