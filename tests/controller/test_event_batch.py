"""One event batch: decisions in order, each on the context of those before it; one commit; no change if it fails.
A response is set at once, when the change is visible in the image, or after the timeout."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from signalbox.common.log_limiter import LogSource, current_source
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Visibility
from signalbox.controller.direct_writes.external_update import ExternalUpdate
from signalbox.controller.direct_writes.metadata_change_log import (
    ConcurrentMetadataUpdate,
    MetadataChangeLog,
    commit_shared,
)
from signalbox.controller.event_batch import MAX_DECISIONS_PER_COMMIT, ControllerEvent, EventBatch, complete_event
from signalbox.controller.records import ConfigsSet
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import MAX_ENTRY_BYTES, Create, Fence, FencedOut, StoreFull, StoreUnavailable
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.update_metadata import UpdateMetadataResponse
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.controller.contexts import make_context

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


def test_decisions_see_each_other_and_share_one_commit() -> None:
    async def run() -> None:
        store = await opened()
        seen: list[dict[str, str]] = []
        batch = EventBatch(make_context(1, configs={}))
        await batch.run(
            deque(ControllerEvent(setting(value, seen)) for value in "abc"), store, FENCE, ImmediateScheduler()
        )
        assert seen == [{}, {"k": "a"}, {"k": "b"}]
        entry = await store.read("/config/brokers/1")
        assert entry is not None
        assert (entry.data, entry.version) == (b'{"version":1,"config":{"k":"c"}}', 2)
        notifications = (await store.read_tree("/config/changes")).values()
        assert len({each.creation_id for each in list(notifications)[1:]} | {entry.creation_id}) == 1

    asyncio.run(run())


@pytest.mark.parametrize("is_first", [False, True])
def test_a_change_of_another_broker_is_not_overwritten_by_a_decision_before_it(is_first: bool) -> None:
    async def run() -> None:
        store, seen = await opened(), list[dict[str, str]]()
        await commit_shared(
            store, [Create("/config/brokers/1", b"external")], FENCE, MetadataChangeLog(), ["/config/brokers/1"]
        )
        external = ExternalUpdate(version=1, configs={"brokers/1": {"k": "external"}}, acls={}, tokens={}, topics=())
        update = ControllerEvent(lambda context: Decision(records=(external,)))
        own = ControllerEvent(setting("own", seen))
        batch = EventBatch(make_context(1, configs={}))
        if is_first:
            await batch.run(deque([update, own]), store, FENCE, ImmediateScheduler())
            assert seen == [{"k": "external"}]
        else:
            with pytest.raises(ConcurrentMetadataUpdate):
                await batch.run(deque([own, update]), store, FENCE, ImmediateScheduler())
            entry = await store.read("/config/brokers/1")
            assert entry is not None
            assert entry.data == b"external"

    asyncio.run(run())


def test_a_batch_of_a_controller_that_stops_takes_no_more_events() -> None:
    async def run() -> None:
        store, seen = await opened(), list[dict[str, str]]()
        queue = deque(ControllerEvent(setting(value, seen)) for value in "abc")
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        batch = EventBatch(make_context(1, configs={}))
        running = asyncio.ensure_future(batch.run(queue, store, FENCE, scheduler))
        await asyncio.sleep(0)
        assert batch.taken
        running.cancel()
        while scheduler.waiting:  # noqa: ASYNC110 - the test waits for rounds of the loop
            await asyncio.sleep(0)
        assert queue
        assert running.cancelled()

    asyncio.run(run())


def test_a_failing_decision_is_left_out() -> None:
    async def run() -> None:
        store = await opened()
        seen: list[dict[str, str]] = []
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        failing: Any = lambda context: 1 / 0  # noqa: E731
        broken = ControllerEvent(failing, answer, lambda error, message: UpdateMetadataResponse(error_code=error))
        batch = EventBatch(make_context(1, configs={}))
        await batch.run(
            deque([ControllerEvent(setting("a", seen)), broken, ControllerEvent(setting("b", seen))]),
            store,
            FENCE,
            ImmediateScheduler(),
        )
        assert answer.result() == UpdateMetadataResponse(error_code=Error.UNKNOWN_SERVER_ERROR)
        assert batch.context.configs == {"brokers/1": {"k": "b"}}
        assert len(batch.decided) == 2

    asyncio.run(run())


def test_log_lines_of_a_decision_belong_to_the_client_of_its_request() -> None:
    sources = list[str]()

    def decide(_: object) -> Decision:
        sources.append(current_source())
        return Decision()

    async def run() -> None:
        store = await opened()
        with LogSource("10.0.0.7"):
            event = ControllerEvent(decide)
        await EventBatch(make_context(1, configs={})).run(
            deque([event, ControllerEvent(decide)]), store, FENCE, ImmediateScheduler()
        )

    asyncio.run(run())
    assert sources == ["10.0.0.7", ""]


def test_a_rejected_commit_leaves_nothing() -> None:
    async def run() -> None:
        store = await opened()
        seen: list[dict[str, str]] = []
        batch = EventBatch(make_context(1, configs={}))
        with pytest.raises(FencedOut):
            await batch.run(
                deque([ControllerEvent(setting("a", seen))]), store, Fence("/controller_epoch", 9), ImmediateScheduler()
            )
        assert await store.read("/config/brokers/1") is None
        assert len(batch.taken) == 1, "the caller completes its futures"

    asyncio.run(run())


def test_an_answer_that_changes_nothing_is_fenced_too() -> None:
    async def run() -> None:
        store = await opened()
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        asked = ControllerEvent(lambda context: Decision(), answer)
        with pytest.raises(FencedOut):
            await EventBatch(make_context(1)).run(
                deque([asked]), store, Fence("/controller_epoch", 9), ImmediateScheduler()
            )
        event = ControllerEvent(lambda context: Decision())
        await EventBatch(make_context(1)).run(
            deque([event]), store, Fence("/controller_epoch", 9), ImmediateScheduler()
        )

    asyncio.run(run())


def test_a_batch_has_a_largest_size() -> None:
    async def run() -> None:
        store = await opened()
        queue = deque(ControllerEvent(lambda context: Decision()) for _ in range(MAX_DECISIONS_PER_COMMIT + 3))
        await EventBatch(make_context(1)).run(queue, store, FENCE, ImmediateScheduler())
        assert len(queue) == 3

    asyncio.run(run())


def test_failing_an_answer_happens_once() -> None:
    async def run() -> None:
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        event = ControllerEvent(
            lambda context: Decision(), answer, lambda error, message: UpdateMetadataResponse(error_code=error)
        )
        event.fail(Error.NOT_CONTROLLER)
        event.fail(Error.UNKNOWN_SERVER_ERROR)
        assert answer.result() == UpdateMetadataResponse(error_code=Error.NOT_CONTROLLER)
        ControllerEvent(lambda context: Decision()).fail(Error.NOT_CONTROLLER)

    asyncio.run(run())


def test_a_batch_too_large_for_one_commit_is_stored_in_several() -> None:
    """Each commit has the fence, in order. A store without this limit takes one commit."""

    async def run() -> None:
        store = await opened()
        store.max_commit_bytes = 300
        seen: list[dict[str, str]] = []
        batch = EventBatch(make_context(1, configs={}))
        await batch.run(
            deque(ControllerEvent(setting(value * 50, seen)) for value in "abc"), store, FENCE, ImmediateScheduler()
        )
        entry = await store.read("/config/brokers/1")
        assert entry is not None
        assert entry.version == 2
        notifications = (await store.read_tree("/config/changes")).values()
        assert len({each.creation_id for each in list(notifications)[1:]}) > 1

    asyncio.run(run())


def test_only_the_change_that_no_store_can_hold_is_rejected() -> None:
    async def run() -> None:
        store = await opened()
        seen: list[dict[str, str]] = []
        loop = asyncio.get_running_loop()
        large, small = loop.create_future(), loop.create_future()
        waiting = deque(
            [
                ControllerEvent(
                    setting("x" * MAX_ENTRY_BYTES, seen),
                    large,
                    lambda error, message: UpdateMetadataResponse(error_code=error),
                ),
                ControllerEvent(
                    setting("b", seen), small, lambda error, message: UpdateMetadataResponse(error_code=error)
                ),
            ]
        )
        batch = EventBatch(make_context(1, configs={}))
        await batch.run(waiting, store, FENCE, ImmediateScheduler())
        assert large.result().error_code == Error.INVALID_REQUEST
        assert seen == [{}, {}]
        assert [event.future for event, _ in batch.decided] == [small]
        entry = await store.read("/config/brokers/1")
        assert entry is not None
        assert entry.data == b'{"version":1,"config":{"k":"b"}}'

    asyncio.run(run())


def test_a_batch_that_is_stored_in_part_is_not_rejected() -> None:
    """Only the store knows the result, as after a lost response: the controller resigns."""

    async def run() -> None:
        store = await opened()
        store.max_commit_bytes = 300
        store._shared.free_space_bytes = 500
        batch = EventBatch(make_context(1, configs={}))
        values = ("small", "x" * 1_000)
        with pytest.raises(StoreUnavailable, match="the first 1 commits"):
            await batch.run(
                deque(ControllerEvent(setting(value, [])) for value in values), store, FENCE, ImmediateScheduler()
            )
        store = await opened()
        store._shared.free_space_bytes = 500
        batch = EventBatch(make_context(1, configs={}))
        with pytest.raises(StoreFull):
            await batch.run(deque([ControllerEvent(setting("x" * 1_000, []))]), store, FENCE, ImmediateScheduler())

    asyncio.run(run())


DONE, LATE = UpdateMetadataResponse(), UpdateMetadataResponse(error_code=Error.REQUEST_TIMED_OUT)


def nothing(context: ControllerContext) -> Decision:
    return Decision()


def completed(decision: Decision) -> tuple[bool, Message]:
    """Whether the response was set at once, and the response."""

    async def run() -> tuple[bool, Message]:
        spawned: list[Coroutine[Any, Any, None]] = []
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        complete_event(ControllerEvent(nothing, future), decision, MetadataCache(), spawned.append)
        at_once = future.done()
        for each in spawned:
            await each
        return at_once, future.result()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("visibility", "expected"),
    [
        (None, (True, DONE)),
        (Visibility(lambda image: True, 0, lambda: LATE), (True, LATE)),
        (Visibility(lambda image: True, 1_000, lambda: LATE), (False, DONE)),
        (Visibility(lambda image: False, 1, lambda: LATE), (False, LATE)),
    ],
)
def test_a_response_waits_until_its_change_is_visible(
    visibility: Visibility | None, expected: tuple[bool, Message]
) -> None:
    assert completed(Decision(response=DONE, visibility=visibility)) == expected


def test_an_internal_event_has_no_future_and_a_future_is_completed_once() -> None:
    async def run() -> None:
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        future.set_result(LATE)
        for event in (ControllerEvent(nothing), ControllerEvent(nothing, future)):
            complete_event(event, Decision(response=DONE), MetadataCache(), lambda work: work.close())
        assert future.result() is LATE

    asyncio.run(run())
