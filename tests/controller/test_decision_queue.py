"""Event batches on a full store: decisions that fit are stored, requests are rejected, store events wait for space in
their order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from signalbox.common.clock import ManualClock
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision
from signalbox.controller.decision_queue import HELD_RETRY_S, MAX_HELD, DecisionQueue
from signalbox.controller.event_batch import ControllerEvent, EventBatch
from signalbox.controller.records import ConfigsSet
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Fence, StoreFull
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.update_metadata import UpdateMetadataResponse
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.controller.contexts import make_context

FENCE = Fence("/controller_epoch", 0)
SMALL, LARGE = "s", "l" * 5_000
CAPACITY_BYTES = 2_000


class RecordedResponse:
    """Receives the error of a request and its message."""

    def __init__(self) -> None:
        self.error: Error | None = None
        self.message = ""

    def done(self) -> bool:
        return self.error is not None

    def set_result(self, result: object, /) -> None:
        assert isinstance(result, UpdateMetadataResponse)
        self.error = Error.of(result.error_code)

    def rejected(self, error: Error, message: str) -> UpdateMetadataResponse:
        self.message = message
        return UpdateMetadataResponse(error_code=error)


class World:
    """The queue as the runtime uses it, on a store in memory."""

    def __init__(self) -> None:
        self.shared = SharedEntries()
        self.store = MemoryMetadataStore(self.shared)
        self.context = make_context(1, configs={})
        self.clock = ManualClock()
        self.wakes = 0
        self.later: list[Callable[[], None]] = []
        self.decided: list[str] = []
        self.queue = DecisionQueue(self.clock, self._wake, self._call_later)

    async def open(self) -> None:
        await create_roots(self.store)
        await self.store.commit([Create("/controller_epoch", b"1")])

    def request(self, name: str, value: str) -> RecordedResponse:
        response = RecordedResponse()
        self.queue.add(ControllerEvent(self.setting(name, value).decide, response, response.rejected))
        return response

    def internal(self, name: str, value: str) -> None:
        self.queue.add(self.setting(name, value))

    def take(self) -> EventBatch:
        """An event batch that has taken its events and not decided yet."""
        batch = EventBatch(self.context)
        line = self.queue.begin(batch)
        while line:
            batch.taken.append(line.popleft())
        return batch

    async def run(self) -> None:
        """Runs event batches until the queue has no ready event."""
        while self.queue.is_ready:
            batch = EventBatch(self.context)
            try:
                await batch.run(self.queue.begin(batch), self.store, FENCE, ImmediateScheduler())
            except StoreFull as full:
                self.queue.store_full(batch, full)
                continue
            self.context = batch.context
            self.queue.stored(batch)

    async def try_held(self) -> None:
        """Retries the held events."""
        self.try_later()
        await self.run()

    def try_later(self) -> None:
        """The retry delay is over."""
        [call] = self.later
        self.later.clear()
        call()

    def stored(self) -> set[str]:
        return {path.removeprefix("brokers/") for path in self.context.configs}

    def setting(self, name: str, value: str) -> ControllerEvent:
        """A store event whose decision changes one entry."""

        def decide(context: ControllerContext) -> Decision:
            self.decided.append(name)
            return Decision(records=(ConfigsSet(f"brokers/{name}", {"k": value}),))

        return ControllerEvent(decide)

    def _wake(self) -> None:
        self.wakes += 1

    def _call_later(self, seconds: float, call: Callable[[], None]) -> None:
        assert seconds == HELD_RETRY_S
        self.later.append(call)


@pytest.fixture
def world() -> World:
    world = World()
    asyncio.run(world.open())
    world.shared.free_space_bytes = CAPACITY_BYTES
    return world


def test_a_change_that_fits_is_stored_and_others_are_rejected_with_the_message_of_the_store(world: World) -> None:
    responses = [world.request(name, value) for name, value in (("1", SMALL), ("2", LARGE), ("3", SMALL))]
    asyncio.run(world.run())
    assert [response.error for response in responses] == [None, Error.KAFKA_STORAGE_ERROR, None]
    assert responses[1].message == "the memory store is full: make room"
    assert world.decided == ["1", "2", "3", "1", "2", "3"], "in one batch, and then in a batch each"
    assert world.stored() == {"1", "3"}
    assert (world.queue.rejections_total, len(world.queue), world.later) == (1, 0, [])


def test_internal_events_wait_in_order_until_the_store_has_room(world: World) -> None:
    world.internal("1", LARGE)
    world.internal("2", SMALL)
    response = world.request("3", SMALL)
    asyncio.run(world.run())
    world.internal("4", SMALL)
    assert world.stored() == {"3"}, "requests do not wait"
    assert response.error is None
    assert (world.queue.held, len(world.queue), world.queue.is_ready) == (3, 3, False)
    asyncio.run(world.try_held())
    assert (world.stored(), world.queue.held) == ({"3"}, 3), "the store is still full"
    world.shared.free_space_bytes = None
    world.decided.clear()
    asyncio.run(world.try_held())
    assert world.decided == ["1", "2", "4"]
    assert (world.stored(), len(world.queue), world.later) == ({"1", "2", "3", "4"}, 0, [])


def test_if_the_store_is_full_again_the_other_events_are_still_held(world: World) -> None:
    for name, value in (("1", LARGE), ("2", LARGE * 2), ("3", SMALL)):
        world.internal(name, value)
    asyncio.run(world.run())
    world.shared.free_space_bytes = len(LARGE) + CAPACITY_BYTES
    asyncio.run(world.try_held())
    assert (world.stored(), world.queue.held) == ({"1"}, 2)
    world.shared.free_space_bytes = None
    asyncio.run(world.try_held())
    assert (world.stored(), world.queue.held) == ({"1", "2", "3"}, 0)


def test_the_update_that_an_internal_event_needs_is_decided_before_all_held_events(world: World) -> None:
    for name in "12":
        world.internal(name, LARGE)
    asyncio.run(world.run())
    world.try_later()
    world.queue.retry(world.take(), world.setting("update", LARGE))
    asyncio.run(world.run())
    assert (world.stored(), world.queue.held) == (set(), 3), "the store has no room for the update either"
    world.shared.free_space_bytes = None
    world.decided.clear()
    asyncio.run(world.try_held())
    assert world.decided == ["update", "1", "2"]


def test_an_update_that_fits_keeps_the_order_of_the_held_events(world: World) -> None:
    for name in "12":
        world.internal(name, LARGE)
    asyncio.run(world.run())
    world.try_later()
    world.queue.retry(world.take(), world.setting("update", SMALL))
    asyncio.run(world.run())
    assert (world.stored(), world.queue.held) == ({"update"}, 2)
    world.shared.free_space_bytes = None
    world.decided.clear()
    asyncio.run(world.try_held())
    assert world.decided == ["1", "2"]


def test_requests_that_need_an_update_are_rejected_while_internal_events_are_held(world: World) -> None:
    world.internal("1", LARGE)
    asyncio.run(world.run())
    response = world.request("2", SMALL)
    world.queue.retry(world.take(), world.setting("update", LARGE))
    assert response.error == Error.KAFKA_STORAGE_ERROR
    assert (world.queue.is_ready, world.queue.held, world.queue.rejections_total) == (False, 1, 1)


def test_events_that_are_put_back_keep_their_order_and_get_a_batch_each(world: World) -> None:
    for name in "123":
        world.request(name, SMALL)
    world.queue.store_full(world.take(), StoreFull("full"))
    batch = world.take()
    assert (len(batch.taken), len(world.queue)) == (1, 3), "events of the current batch count"
    world.queue.retry(batch, world.setting("0", SMALL))
    batch = world.take()
    assert len(batch.taken) == 1
    world.queue.retry(batch, None)
    asyncio.run(world.run())
    assert world.decided[:2] == ["0", "1"]
    assert world.stored() == {"0", "1", "2", "3"}


def test_the_end_of_a_controller_epoch_drains_the_queue(world: World) -> None:
    world.internal("1", LARGE)
    asyncio.run(world.run())
    world.request("2", SMALL)
    world.take()
    world.request("3", SMALL)
    assert len(world.queue.drain()) == len(["1", "2", "3"])
    assert (len(world.queue), world.queue.is_ready) == (0, False)
    asyncio.run(world.try_held())
    assert not world.queue.is_ready


def test_held_events_have_a_limit(world: World) -> None:
    world.internal("1", LARGE)
    asyncio.run(world.run())
    for _ in range(MAX_HELD - 1):
        world.internal("2", SMALL)
    assert not world.queue.is_overfull
    world.internal("3", SMALL)
    assert world.queue.is_overfull


def test_a_full_store_is_logged_once_and_again_when_it_has_had_room_for_a_while(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for _ in range(3):
        world.request("1", LARGE)
        asyncio.run(world.run())
        world.request("2", SMALL)
        asyncio.run(world.run())
        world.clock.advance(9_000)
    assert [each.levelname for each in caplog.records] == ["ERROR"]
    assert "the memory store is full: make room" in caplog.records[0].message
    world.clock.advance(9_000)
    world.request("3", SMALL)
    asyncio.run(world.run())
    assert [each.message for each in caplog.records][1:] == ["Metadata store has space again"]
