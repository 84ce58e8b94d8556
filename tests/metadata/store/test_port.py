"""The contract of the metadata store, tested on every adapter (SPEC M1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from signalbox.metadata.store.port import (
    MAX_ENTRY_BYTES,
    Check,
    Create,
    Delete,
    Entry,
    Fence,
    FencedOut,
    KeyExists,
    KeyHasChildren,
    KeyMissing,
    MetadataStore,
    Operation,
    ParentOfSession,
    SessionLost,
    StoreError,
    StoreFull,
    StoreUnavailable,
    VersionConflict,
    Write,
    parent_of,
)
from tests.metadata.store.worlds import WORLDS, World, delete_when_it_exists

pytestmark = pytest.mark.spec("M1")

Scenario = Callable[[World], Awaitable[None]]
Show = Callable[[Scenario], None]


@pytest.fixture(params=sorted(WORLDS))
def show(request: pytest.FixtureRequest, tmp_path: Path) -> Show:
    """Runs a scenario with one adapter."""

    def run(scenario: Scenario) -> None:
        async def in_world() -> None:
            world = WORLDS[request.param](tmp_path)
            try:
                async with asyncio.timeout(60):
                    await scenario(world)
            finally:
                await world.close()

        asyncio.run(in_world())

    return run


async def entry(store: MetadataStore, path: str) -> Entry:
    found = await store.read(path)
    assert found is not None, path
    return found


async def rejected(store: MetadataStore, *operations: Operation, fence: Fence | None = None) -> StoreError:
    with pytest.raises(StoreError) as caught:
        await store.commit(operations, fence)
    return caught.value


class WatchCalls:
    """Records that a watch has fired, and lets a test wait for it."""

    def __init__(self) -> None:
        self._called = asyncio.Event()

    def __call__(self) -> None:
        self._called.set()

    async def next(self) -> None:
        async with asyncio.timeout(60):
            await self._called.wait()
        self._called.clear()

    async def until_silent(self) -> None:
        """Waits until the watch has not fired for 0.3 s: late or repeated calls for the same change have arrived."""
        while not await self.is_silent_for(0.3):
            self._called.clear()

    async def is_silent_for(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._called.wait(), seconds)
        except TimeoutError:
            return True
        return False


def test_entries_are_made_written_and_deleted(show: Show) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        made = await store.commit([Create("/a", b"one"), Create("/a/b")])
        assert [(each.path, each.version) for each in made] == [("/a", 0), ("/a/b", 0)]
        assert made[0].creation_id == made[1].creation_id
        assert (await entry(store, "/a")).data == b"one"
        assert (await entry(store, "/a/b")).data is None
        written = await store.commit([Write("/a", "zwölf".encode()), Write("/a", None, 1)])
        assert [each.version for each in written] == [1, 2]
        assert (await entry(store, "/a")).data is None
        await store.commit([Delete("/a/b", 0), Delete("/a")])
        assert await store.read("/a") is None

    show(scenario)


def test_root_is_always_there(show: Show) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        assert (await entry(store, "/")).session_id == 0
        assert await store.children("/") == []

    show(scenario)


def test_children_and_trees(show: Show) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        paths = ["/t", "/t/b", "/t/a", "/t/a/x", "/t-other", "/t0"]
        await store.commit([Create(path) for path in paths])
        assert await store.children("/t") == ["a", "b"]
        assert await store.children("/nowhere") == []
        assert list(await store.read_tree("/t")) == ["/t", "/t/a", "/t/a/x", "/t/b"]
        assert set(await store.read_tree("/")) == {"/", *paths}

    show(scenario)


@pytest.mark.parametrize(
    ("operations", "error", "path"),
    [
        ([Create("/a")], KeyExists, "/a"),
        ([Create("/x/y")], KeyMissing, None),
        ([Create("/s/y")], ParentOfSession, None),
        ([Write("/x", b"")], KeyMissing, "/x"),
        ([Write("/a", b"", 7)], VersionConflict, "/a"),
        ([Delete("/x")], KeyMissing, "/x"),
        ([Delete("/a", 7)], VersionConflict, "/a"),
        ([Delete("/a")], KeyHasChildren, "/a"),
        ([Check("/a", 7)], VersionConflict, "/a"),
        ([Check("/x", 0)], KeyMissing, "/x"),
        ([Write("/a", b""), Write("/a", b"", 0)], VersionConflict, "/a"),
    ],
)
def test_one_rejected_operation_rejects_all(
    show: Show, operations: Sequence[Operation], error: type[StoreError], path: str | None
) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        await store.open_session()
        await store.commit([Create("/a"), Create("/a/b"), Create("/s", of_session=True)])
        rejection = await rejected(store, Create("/first"), *operations)
        assert type(rejection) is error
        assert path in (None, getattr(rejection, "path", None))
        assert await store.read("/first") is None
        assert (await entry(store, "/a")).version == 0

    show(scenario)


def test_operations_of_one_commit_see_each_other(show: Show) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        results = await store.commit(
            [Create("/a", b"1"), Write("/a", b"2", 0), Check("/a", 1), Delete("/a", 1), Create("/a", b"3")]
        )
        assert [each.version for each in results] == [0, 1, 1, 1, 0]
        assert (await entry(store, "/a")).data == b"3"

    show(scenario)


def test_creation_ids_grow(show: Show) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        [first] = await store.commit([Create("/a")])
        await store.commit([Write("/a", b"x")])
        assert (await entry(store, "/a")).creation_id == first.creation_id
        await store.commit([Delete("/a")])
        [second] = await store.commit([Create("/a")])
        assert second.creation_id > first.creation_id

    show(scenario)


def test_numbered_entries_count_up_and_never_repeat(show: Show) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        await store.commit([Create("/n")])
        made = await store.commit([Create("/n/c_", b"", numbered=True), Create("/n/c_", b"", numbered=True)])
        assert [each.path for each in made] == ["/n/c_0000000000", "/n/c_0000000001"]
        await store.commit([Delete("/n/c_0000000001")])
        [third] = await store.commit([Create("/n/c_", b"", numbered=True)])
        assert third.path == "/n/c_0000000002"

    show(scenario)


def test_a_moved_fence_rejects_everything(show: Show) -> None:
    async def scenario(world: World) -> None:
        old, new = world.participant(), world.participant()
        await old.commit([Create("/epoch", b"1")])
        fence = Fence("/epoch", 0)
        await old.commit([Create("/mine")], fence)
        await new.commit([Write("/epoch", b"2", 0)])
        rejection = await rejected(old, Create("/late"), fence=fence)
        assert isinstance(rejection, FencedOut)
        assert isinstance(await rejected(old, Create("/late"), fence=Fence("/no-such", 0)), FencedOut)
        assert await new.read("/late") is None
        await new.commit([Delete("/mine")], Fence("/epoch", 1))

    show(scenario)


def test_an_empty_commit_checks_fence_and_session_and_writes_nothing(show: Show) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        await store.open_session()
        await store.commit([Create("/epoch", b"1")])
        before = await entry(store, "/epoch")
        assert await store.commit([], Fence("/epoch", 0)) == []
        assert isinstance(await rejected(store, fence=Fence("/epoch", 1)), FencedOut)
        assert await entry(store, "/epoch") == before
        assert await store.children("/") == ["epoch"]

    show(scenario)


def test_of_two_writers_with_one_version_one_wins(show: Show) -> None:
    async def scenario(world: World) -> None:
        stores = [world.participant() for _ in range(4)]
        await stores[0].commit([Create("/a", b"0")])
        for version in range(5):
            attempts = [store.commit([Write("/a", b"x", version)]) for store in stores]
            results = await asyncio.gather(*attempts, return_exceptions=True)
            assert sum(isinstance(each, VersionConflict) for each in results) == 3

    show(scenario)


def test_reads_see_what_was_answered(show: Show) -> None:
    async def scenario(world: World) -> None:
        writer, reader = world.participant(), world.participant()
        await writer.commit([Create("/a", b"0")])
        for number in range(20):
            await writer.commit([Write("/a", str(number).encode())])
            assert (await entry(reader, "/a")).data == str(number).encode()

    show(scenario)


def test_closing_ends_the_session(show: Show) -> None:
    async def scenario(world: World) -> None:
        owner, other = world.participant(), world.participant()
        session_id = await owner.open_session()
        await owner.commit([Create("/mine", of_session=True), Create("/lasting")])
        assert ((await entry(other, "/mine")).session_id, owner.has_session) == (session_id, True)
        calls = WatchCalls()
        other.watch("/mine", calls)
        assert await other.read("/mine") is not None
        await owner.close()
        assert await other.read("/mine") is None
        assert await other.read("/lasting") is not None
        await calls.next()
        assert isinstance(await rejected(owner, Create("/x")), StoreUnavailable)

    show(scenario)


def test_a_killed_owner_is_noticed(show: Show) -> None:
    async def scenario(world: World) -> None:
        owner, other = world.participant(), world.participant()
        await owner.open_session()
        await other.open_session()
        await owner.commit([Create("/mine", of_session=True)])
        calls = WatchCalls()
        other.watch("/mine", calls)
        assert await other.read("/mine") is not None
        world.kill(owner)
        await calls.next()
        assert await other.read("/mine") is None

    show(scenario)


def test_a_silent_session_is_ended_and_its_writes_rejected(show: Show) -> None:
    async def scenario(world: World) -> None:
        other = world.participant()
        await other.open_session()
        owner = await world.doomed()
        calls = WatchCalls()
        other.watch("/mine", calls)
        lost = asyncio.Event()
        owner.on_session_lost(lost.set)
        await owner.commit([Create("/mine", of_session=True)])
        await calls.next()
        while await other.read("/mine") is not None:
            await calls.next()
        assert isinstance(await rejected(owner, Create("/late")), SessionLost)
        async with asyncio.timeout(60):
            await lost.wait()
        assert (await other.read("/late"), owner.has_session) == (None, False)

    show(scenario)


def test_a_new_session_can_follow_a_lost_one(show: Show) -> None:
    async def scenario(world: World) -> None:
        other = world.participant()
        await other.open_session()
        owner = await world.doomed()
        lost = asyncio.Event()
        owner.on_session_lost(lost.set)
        async with asyncio.timeout(60):
            await lost.wait()
        first = await other.open_session()
        second = await owner.open_session()
        assert second > first
        await owner.commit([Create("/back", of_session=True)])
        assert (await entry(other, "/back")).session_id == second

    show(scenario)


def test_opening_again_drops_what_the_old_session_owned(show: Show) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        first = await store.open_session()
        await store.commit([Create("/mine", of_session=True)])
        second = await store.open_session()
        assert second > first
        assert await store.read("/mine") is None

    show(scenario)


def test_an_entry_of_a_session_needs_one(show: Show) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        assert isinstance(await rejected(store, Create("/mine", of_session=True)), SessionLost)
        await store.commit([Create("/lasting")])
        assert (await entry(store, "/lasting")).session_id == 0

    show(scenario)


def test_watches_fire_for_entries_and_children(show: Show) -> None:
    async def scenario(world: World) -> None:
        writer, watcher = world.participant(), world.participant()
        calls = WatchCalls()
        watcher.watch("/a", calls)
        assert await watcher.read("/a") is None
        for operation in (Create("/a"), Write("/a", b"1"), Create("/a/b"), Delete("/a/b"), Delete("/a")):
            await writer.commit([operation])
            await calls.next()
            await watcher.read("/a")  # a watch fires again for the changes after a read

    show(scenario)


def test_watches_fire_for_commits_of_their_own_participant(show: Show) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        calls = WatchCalls()
        store.watch("/a", calls)
        await store.commit([Create("/a")])
        await calls.next()

    show(scenario)


def test_an_entry_created_and_deleted_before_the_comparison_fires_the_watch(show: Show) -> None:
    """Another participant may have read it meanwhile: a broker that is expelled at once after its registration must be
    notified."""

    async def scenario(world: World) -> None:
        writer, watcher = world.participant(), world.participant()
        calls = WatchCalls()
        watcher.watch("/a", calls)
        assert await watcher.read("/a") is None
        for _ in range(3):
            await asyncio.gather(writer.commit([Create("/a")]), delete_when_it_exists(writer, "/a"))
            await calls.next()
            await calls.until_silent()

    show(scenario)


def test_watches_do_not_fire_for_grandchildren_nor_after_they_are_cancelled(show: Show) -> None:
    async def scenario(world: World) -> None:
        writer, watcher = world.participant(), world.participant()
        await writer.commit([Create("/a"), Create("/a/b")])
        calls, cancelled = WatchCalls(), WatchCalls()
        watcher.watch("/a", calls)
        watcher.watch("/a/b", cancelled)()
        await watcher.read("/a")
        await writer.commit([Create("/a/b/c"), Write("/a/b/c", b"1")])
        assert await calls.is_silent_for(0.4)
        assert await cancelled.is_silent_for(0)

    show(scenario)


def test_a_burst_ends_with_the_last_state_known(show: Show) -> None:
    async def scenario(world: World) -> None:
        writer, watcher = world.participant(), world.participant()
        await writer.commit([Create("/a", b"0")])
        calls = WatchCalls()
        watcher.watch("/a", calls)
        assert (await entry(watcher, "/a")).data == b"0"
        for number in range(1, 101):
            await writer.commit([Write("/a", str(number).encode())])
        seen = b""
        while seen != b"100":
            await calls.next()
            seen = (await entry(watcher, "/a")).data or b""
        assert seen == b"100"

    show(scenario)


def test_watches_outlive_a_session(show: Show) -> None:
    async def scenario(world: World) -> None:
        writer, watcher = world.participant(), world.participant()
        await watcher.open_session()
        calls = WatchCalls()
        watcher.watch("/a", calls)
        await watcher.open_session()
        await writer.commit([Create("/a")])
        await calls.next()

    show(scenario)


def test_sizes_and_paths_have_limits(show: Show) -> None:
    async def scenario(world: World) -> None:
        store = world.participant()
        largest = b"x" * MAX_ENTRY_BYTES
        await store.commit([Create("/large", largest)])
        assert (await entry(store, "/large")).data == largest
        for bad in (Create("/a", largest + b"x"), Create("/a", b"\0"), Create("a"), Create("/a/"), Create("/a//b")):
            with pytest.raises(ValueError):
                await store.commit([bad])
        assert await store.read("/a") is None

    show(scenario)


def test_paths_know_their_parents() -> None:
    assert parent_of("/a/b/c") == "/a/b"
    assert parent_of("/a") == "/"


def test_a_commit_beyond_the_free_space_is_rejected_completely_and_later_ones_succeed(show: Show) -> None:
    async def scenario(world: World) -> None:
        store, other = world.participant(), world.participant()
        session_id = await store.open_session()
        await store.commit([Create("/a", b"before"), Create("/mine", of_session=True)])
        await world.fill(store)
        large, fence = Create("/large", b"x" * 500_000), Fence("/a", 0)
        full = await rejected(store, Write("/a", b"half of it"), large, fence=fence)
        assert isinstance(full, StoreFull)
        assert "full" in str(full) or "used up" in str(full)
        assert isinstance(await rejected(store, large, fence=Fence("/a", 7)), FencedOut), "the fence is looked at first"
        await store.commit([], fence)
        assert ((await entry(other, "/a")).data, await other.read("/large")) == (b"before", None)
        assert (await entry(other, "/mine")).session_id == session_id
        [small] = await store.commit([Write("/a", b"after")], fence)
        assert small.version == 1
        await world.make_room(store)
        await store.commit([large], Fence("/a", 1))
        assert (await entry(other, "/large")).data == large.data

    show(scenario)
