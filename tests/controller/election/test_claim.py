"""The claim of the controller: one node at a time, with a controller epoch that fences writes (SPEC M3)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from signalbox.controller.election.claim import Claim, Standing, still_holds, try_to_claim
from signalbox.metadata.entries.feature_levels import encode_features
from signalbox.metadata.entries.partition_state import PartitionState
from signalbox.metadata.layout import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    FEATURE,
    partition_path,
    partition_state_path,
    partitions_path,
    topic_path,
)
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import (
    Create,
    Delete,
    Entry,
    FencedOut,
    Operation,
    OperationResult,
    SessionLost,
    Write,
)
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


def test_a_dead_controllers_claim_is_replaced_and_its_writes_are_rejected() -> None:
    """Its session has not expired, and it may still run: the commit that replaces the claim also fences it."""

    async def scenario(shared: SharedEntries, dead: MemoryMetadataStore, successor: MemoryMetadataStore) -> None:
        await dead.open_session()
        await successor.open_session()
        first = await claimed(dead, 1)
        assert (await try_to_claim(successor, 2, 0)).claim is None
        assert (await try_to_claim(successor, 2, 0, dead_claim=first.creation_id - 1)).claim is None
        standing = await try_to_claim(successor, 2, 0, dead_claim=first.creation_id)
        assert standing.claim is not None
        assert standing.claim.controller_epoch == first.controller_epoch + 1
        assert not await still_holds(dead, first)
        for operations in ([Create("/late")], [Delete(CONTROLLER)], []):
            with pytest.raises(FencedOut):
                await dead.commit(operations, first.fence)
        await dead.close()
        assert await still_holds(successor, standing.claim), "it does not go with the dead one's session"

    run_with_stores(2, scenario)


def test_of_several_successors_one_wins() -> None:
    async def scenario(shared: SharedEntries, dead: MemoryMetadataStore, *successors: MemoryMetadataStore) -> None:
        await dead.open_session()
        first = await claimed(dead, 1)
        for successor in successors:
            await successor.open_session()
        standings = await asyncio.gather(
            *(try_to_claim(successor, number, 0, first.creation_id) for number, successor in enumerate(successors, 2))
        )
        [winner] = [standing.claim for standing in standings if standing.claim is not None]
        assert winner.controller_epoch == 2

    run_with_stores(4, scenario)


class Interrupted:
    """A store that calls `meanwhile` before the second read."""

    def __init__(self, store: MemoryMetadataStore, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self._store, self._meanwhile, self.reads = store, meanwhile, 0

    async def read(self, path: str) -> Entry | None:
        self.reads += 1
        if self.reads == 2:
            await self._meanwhile()
        return await self._store.read(path)

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


@pytest.mark.parametrize("own", [True, False])
def test_a_claim_that_comes_between_is_not_replaced(own: bool) -> None:
    """While this node decides, another node's claim replaces the old one: the new claim must not be replaced."""

    async def scenario(
        shared: SharedEntries, dead: MemoryMetadataStore, quick: MemoryMetadataStore, slow: MemoryMetadataStore
    ) -> None:
        for store in (dead, quick, slow):
            await store.open_session()
        first = await claimed(dead, 1)

        async def overtaken() -> None:
            await dead.close()
            won.append(await claimed(quick, 2))

        won: list[Claim] = []
        interrupted: Any = Interrupted(slow, overtaken)
        standing = await try_to_claim(interrupted, 1 if own else 3, 0, None if own else first.creation_id)
        assert standing.claim is None
        assert await still_holds(quick, won[0])

    run_with_stores(3, scenario)


def test_a_node_that_does_not_support_the_finalized_features_does_not_claim(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        await store.open_session()
        await store.commit([Create(FEATURE, encode_features({"f": 2}))])
        for supported in ({}, {"f": (1, 1)}, {"f": (3, 4)}):
            assert await try_to_claim(store, 1, 0, supported=supported) == Standing(-1)
            assert await store.read(CONTROLLER) is None
        assert "Node 1 cannot become the controller: f is finalized at 2 and not supported" in caplog.text
        assert (await try_to_claim(store, 1, 0, supported={"f": (1, 2)})).claim is not None
        await store.commit([Write(FEATURE, b"torn")])
        assert (await try_to_claim(store, 1, 0, supported={})).claim is not None, (
            "a corrupt entry does not prevent the claim"
        )

    run_with_stores(1, scenario)


def test_what_is_finalized_between_look_and_claim_stops_the_claim() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        await store.open_session()
        await store.commit([Create(CONTROLLER_EPOCH, b"4"), Create(FEATURE, encode_features({}))])

        class Late:
            """A store in which a feature level is finalized just before the claim."""

            async def commit(self, operations: Sequence[Operation]) -> list[OperationResult]:
                await other.commit([Write(FEATURE, encode_features({"f": 2}))])
                return await store.commit(operations)

            def __getattr__(self, name: str) -> object:
                return getattr(store, name)

        late: Any = Late()
        assert await try_to_claim(late, 1, 0, supported={}) == Standing(-1)
        assert await store.read(CONTROLLER) is None

    run_with_stores(2, scenario)


def test_without_a_session_there_is_no_claim() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        with pytest.raises(SessionLost):
            await try_to_claim(store, 1, 0)

    run_with_stores(1, scenario)


@pytest.mark.parametrize("payload", [b"?", b"", b'{"version":2}', b'{"brokerid":"one"}'])
def test_a_claim_that_names_no_node_is_replaced(payload: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """The new controller epoch fences the former controller, which sees that the entry no longer names it."""

    async def scenario(shared: SharedEntries, old: MemoryMetadataStore, new: MemoryMetadataStore) -> None:
        await old.open_session()
        await new.open_session()
        first = await claimed(old, 1)
        await new.commit([Write(CONTROLLER, payload)])
        assert not await still_holds(old, first)
        second = await claimed(new, 2)
        assert second.controller_epoch == first.controller_epoch + 1
        with pytest.raises(FencedOut):
            await old.commit([Create("/late")], first.fence)

    run_with_stores(2, scenario)
    assert "/controller names no broker" in caplog.text or "/controller holds no JSON" in caplog.text


def test_a_claim_without_a_session_would_never_end(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        await store.open_session()
        await store.commit([Create(CONTROLLER, b'{"version":2,"brokerid":7,"timestamp":"1"}')])
        await store.commit([Create(f"{CONTROLLER}/note"), Create(f"{CONTROLLER}/note/below")])
        await claimed(store, 1)

    run_with_stores(1, scenario)
    assert "Controller claim without a session is replaced" in caplog.text


def test_a_claim_of_kafkas_kraft_controllers_stands() -> None:
    """During a migration it has no session either (KIP-866), and must not be replaced."""

    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        await store.open_session()
        claim = b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":4}'
        await store.commit([Create(CONTROLLER, claim)])
        assert (await try_to_claim(store, 1, 7)).controller_id == 3000

    run_with_stores(1, scenario)


@pytest.mark.parametrize("payload", [b"?", b"", b"-1", b"1e3", b"99999999999"])
def test_a_corrupt_controller_epoch_is_replaced_by_a_higher_one(
    payload: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        await store.open_session()
        first = await claimed(store, 1)
        state = PartitionState(1, 0, (1,), controller_epoch=4_000, partition_epoch=0)
        folders = [Create(topic_path("t"), b"?"), Create(partitions_path("t")), Create(partition_path("t", 0))]
        await store.commit([*folders, Create(partition_state_path("t", 0), state.encode())])
        await store.commit([Write(CONTROLLER_EPOCH, payload)])
        second = await claimed(store, 1)
        assert second.controller_epoch > 4_000, "that of a store that was copied from another"
        with pytest.raises(FencedOut):
            await store.commit([Create("/late")], first.fence)
        assert (await claimed(store, 1)).controller_epoch == second.controller_epoch + 1

    run_with_stores(1, scenario)
    assert "/controller_epoch is not a number" in caplog.text


async def claimed(store: MemoryMetadataStore, node_id: int) -> Claim:
    standing = await try_to_claim(store, node_id, 0)
    assert standing.claim is not None
    return standing.claim
