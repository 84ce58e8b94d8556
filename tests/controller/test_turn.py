"""One turn: decisions in order on the evolving context, one commit, nothing when it is refused."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeVar

import pytest

from signalbox.controller.decision import Decision
from signalbox.controller.records import ConfigsSet
from signalbox.controller.turn import MAX_DECISIONS_PER_COMMIT, Pending, Turn
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import MAX_ENTRY_BYTES, Create, Fence, FencedOut, StoreFull, StoreUnavailable
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.update_metadata import UpdateMetadataResponse
from tests.controller.contexts import make_context

T = TypeVar("T")
FENCE = Fence("/controller_epoch", 0)


async def opened() -> MemoryMetadataStore:
    store = MemoryMetadataStore(SharedEntries())
    await create_roots(store)
    await store.commit([Create("/controller_epoch", b"1")])
    return store


def setting(value: str, seen: list[dict[str, str]]) -> Callable[..., Decision]:
    def decide(context: object) -> Decision:
        seen.append(dict(getattr(context, "configs").get("brokers/1", {})))  # noqa: B009
        return Decision(records=(ConfigsSet("brokers/1", {"k": value}),))

    return decide


async def at_once(work: Callable[[], T]) -> T:
    return work()


def test_decisions_see_each_other_and_share_one_commit() -> None:
    async def run() -> None:
        store = await opened()
        seen: list[dict[str, str]] = []
        turn = Turn(make_context(1, configs={}))
        await turn.run(deque(Pending(setting(value, seen)) for value in "abc"), store, FENCE, at_once)
        assert seen == [{}, {"k": "a"}, {"k": "b"}]
        entry = await store.read("/config/brokers/1")
        assert entry is not None
        assert (entry.data, entry.version) == (b'{"version":1,"config":{"k":"c"}}', 2)
        notifications = (await store.read_tree("/config/changes")).values()
        assert len({each.creation_id for each in list(notifications)[1:]} | {entry.creation_id}) == 1

    asyncio.run(run())


def test_a_failing_decision_is_left_out() -> None:
    async def run() -> None:
        store = await opened()
        seen: list[dict[str, str]] = []
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        broken = Pending(lambda context: 1 / 0, answer, lambda error, message: UpdateMetadataResponse(error_code=error))  # type: ignore[arg-type, return-value]
        turn = Turn(make_context(1, configs={}))
        await turn.run(deque([Pending(setting("a", seen)), broken, Pending(setting("b", seen))]), store, FENCE, at_once)
        assert answer.result() == UpdateMetadataResponse(error_code=Error.UNKNOWN_SERVER_ERROR)
        assert turn.context.configs == {"brokers/1": {"k": "b"}}
        assert len(turn.decided) == 2

    asyncio.run(run())


def test_a_refused_commit_leaves_nothing() -> None:
    async def run() -> None:
        store = await opened()
        seen: list[dict[str, str]] = []
        turn = Turn(make_context(1, configs={}))
        with pytest.raises(FencedOut):
            await turn.run(deque([Pending(setting("a", seen))]), store, Fence("/controller_epoch", 9), at_once)
        assert await store.read("/config/brokers/1") is None
        assert len(turn.taken) == 1, "whoever runs the turn answers for it"

    asyncio.run(run())


def test_an_answer_that_changes_nothing_is_fenced_too() -> None:
    async def run() -> None:
        store = await opened()
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        asked = Pending(lambda context: Decision(), answer)
        with pytest.raises(FencedOut):
            await Turn(make_context(1)).run(deque([asked]), store, Fence("/controller_epoch", 9), at_once)
        event = Pending(lambda context: Decision())
        await Turn(make_context(1)).run(deque([event]), store, Fence("/controller_epoch", 9), at_once)

    asyncio.run(run())


def test_a_turn_has_an_end() -> None:
    async def run() -> None:
        store = await opened()
        queue = deque(Pending(lambda context: Decision()) for _ in range(MAX_DECISIONS_PER_COMMIT + 3))
        await Turn(make_context(1)).run(queue, store, FENCE, at_once)
        assert len(queue) == 3

    asyncio.run(run())


def test_failing_an_answer_happens_once() -> None:
    async def run() -> None:
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        pending = Pending(
            lambda context: Decision(), answer, lambda error, message: UpdateMetadataResponse(error_code=error)
        )
        pending.fail(Error.NOT_CONTROLLER)
        pending.fail(Error.UNKNOWN_SERVER_ERROR)
        assert answer.result() == UpdateMetadataResponse(error_code=Error.NOT_CONTROLLER)
        Pending(lambda context: Decision()).fail(Error.NOT_CONTROLLER)

    asyncio.run(run())


def test_what_is_too_much_for_one_commit_is_stored_in_several() -> None:
    """Every part behind the fence, in order; SQLite and the like take it in one."""

    async def run() -> None:
        store = await opened()
        store.max_commit_bytes = 300
        seen: list[dict[str, str]] = []
        turn = Turn(make_context(1, configs={}))
        await turn.run(deque(Pending(setting(value * 50, seen)) for value in "abc"), store, FENCE, at_once)
        entry = await store.read("/config/brokers/1")
        assert entry is not None
        assert entry.version == 2
        notifications = (await store.read_tree("/config/changes")).values()
        assert len({each.creation_id for each in list(notifications)[1:]}) > 1

    asyncio.run(run())


def test_what_no_store_can_hold_is_refused_alone() -> None:
    async def run() -> None:
        store = await opened()
        seen: list[dict[str, str]] = []
        loop = asyncio.get_running_loop()
        large, small = loop.create_future(), loop.create_future()
        waiting = deque(
            [
                Pending(
                    setting("x" * MAX_ENTRY_BYTES, seen),
                    large,
                    lambda error, message: UpdateMetadataResponse(error_code=error),
                ),
                Pending(setting("b", seen), small, lambda error, message: UpdateMetadataResponse(error_code=error)),
            ]
        )
        turn = Turn(make_context(1, configs={}))
        await turn.run(waiting, store, FENCE, at_once)
        assert large.result().error_code == Error.INVALID_REQUEST
        assert seen == [{}, {}]
        assert [pending.answer for pending, _ in turn.decided] == [small]
        entry = await store.read("/config/brokers/1")
        assert entry is not None
        assert entry.data == b'{"version":1,"config":{"k":"b"}}'

    asyncio.run(run())


def test_a_turn_that_is_stored_in_part_is_not_refused() -> None:
    """What became of it is told by the store alone, as after a lost answer: the term ends."""

    async def run() -> None:
        store = await opened()
        store.max_commit_bytes = 300
        store._shared.room_bytes = 500
        turn = Turn(make_context(1, configs={}))
        values = ("small", "x" * 1_000)
        with pytest.raises(StoreUnavailable, match="the first 1 commits"):
            await turn.run(deque(Pending(setting(value, [])) for value in values), store, FENCE, at_once)
        store = await opened()
        store._shared.room_bytes = 500
        turn = Turn(make_context(1, configs={}))
        with pytest.raises(StoreFull):
            await turn.run(deque([Pending(setting("x" * 1_000, []))]), store, FENCE, at_once)

    asyncio.run(run())
