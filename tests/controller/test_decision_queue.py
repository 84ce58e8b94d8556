"""Event batches on a full store: decisions that fit are stored, requests are rejected, store events wait for space in
their order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

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
from tests.controller.contexts import make_context

FENCE = Fence("/controller_epoch", 0)
SMALL, LARGE = "s", "l" * 5_000
ROOM_BYTES = 2_000


class Answer:
    """Receives the error of a request and its message."""

    def __init__(self) -> None:
        self.error: Error | None = None
        self.words = ""

    def done(self) -> bool:
        return self.error is not None

    def set_result(self, result: object, /) -> None:
        assert isinstance(result, UpdateMetadataResponse)
        self.error = Error.of(result.error_code)

    def rejected(self, error: Error, words: str) -> UpdateMetadataResponse:
        self.words = words
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

    def request(self, name: str, value: str) -> Answer:
        answer = Answer()
        self.queue.add(ControllerEvent(self.setting(name, value).decide, answer, answer.rejected))
        return answer

    def news(self, name: str, value: str) -> None:
        self.queue.add(self.setting(name, value))

    def take(self) -> EventBatch:
        """An event batch that has taken its events and not decided yet."""
        turn = EventBatch(self.context)
        line = self.queue.begin(turn)
        while line:
            turn.taken.append(line.popleft())
        return turn

    async def run(self) -> None:
        """Runs event batches until the queue has no ready event."""
        while self.queue.is_ready:
            turn = EventBatch(self.context)
            try:
                await turn.run(self.queue.begin(turn), self.store, FENCE, self._at_once)
            except StoreFull as full:
                self.queue.no_room(turn, full)
                continue
            self.context = turn.context
            self.queue.stored(turn)

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

    async def _at_once(self, work: Callable[[], Any]) -> Any:
        return work()

    def _wake(self) -> None:
        self.wakes += 1

    def _call_later(self, seconds: float, call: Callable[[], None]) -> None:
        assert seconds == HELD_RETRY_S
        self.later.append(call)


@pytest.fixture
def world() -> World:
    world = World()
    asyncio.run(world.open())
    world.shared.free_space_bytes = ROOM_BYTES
    return world


def test_what_fits_is_stored_and_what_does_not_is_rejected_in_the_stores_words(world: World) -> None:
    answers = [world.request(name, value) for name, value in (("1", SMALL), ("2", LARGE), ("3", SMALL))]
    asyncio.run(world.run())
    assert [answer.error for answer in answers] == [None, Error.KAFKA_STORAGE_ERROR, None]
    assert answers[1].words == "the memory store is full: make room"
    assert world.decided == ["1", "2", "3", "1", "2", "3"], "together, and then each by itself"
    assert world.stored() == {"1", "3"}
    assert (world.queue.rejections_total, len(world.queue), world.later) == (1, 0, [])


def test_news_waits_for_room_and_none_overtakes_another(world: World) -> None:
    world.news("1", LARGE)
    world.news("2", SMALL)
    answer = world.request("3", SMALL)
    asyncio.run(world.run())
    world.news("4", SMALL)
    assert world.stored() == {"3"}, "requests do not wait"
    assert answer.error is None
    assert (world.queue.held, len(world.queue), world.queue.is_ready) == (3, 3, False)
    asyncio.run(world.try_held())
    assert (world.stored(), world.queue.held) == ({"3"}, 3), "there is still no room"
    world.shared.free_space_bytes = None
    world.decided.clear()
    asyncio.run(world.try_held())
    assert world.decided == ["1", "2", "4"]
    assert (world.stored(), len(world.queue), world.later) == ({"1", "2", "3", "4"}, 0, [])


def test_when_room_is_gone_again_the_rest_goes_on_waiting(world: World) -> None:
    for name, value in (("1", LARGE), ("2", LARGE * 2), ("3", SMALL)):
        world.news(name, value)
    asyncio.run(world.run())
    world.shared.free_space_bytes = len(LARGE) + ROOM_BYTES
    asyncio.run(world.try_held())
    assert (world.stored(), world.queue.held) == ({"1"}, 2)
    world.shared.free_space_bytes = None
    asyncio.run(world.try_held())
    assert (world.stored(), world.queue.held) == ({"1", "2", "3"}, 0)


def test_what_news_must_learn_first_is_taken_before_it_and_the_rest_after_both(world: World) -> None:
    for name in "12":
        world.news(name, LARGE)
    asyncio.run(world.run())
    world.try_later()
    world.queue.again(world.take(), world.setting("learn", LARGE))
    asyncio.run(world.run())
    assert (world.stored(), world.queue.held) == (set(), 3), "it found no room either"
    world.shared.free_space_bytes = None
    world.decided.clear()
    asyncio.run(world.try_held())
    assert world.decided == ["learn", "1", "2"]


def test_what_is_learnt_while_others_wait_lets_none_of_them_overtake(world: World) -> None:
    for name in "12":
        world.news(name, LARGE)
    asyncio.run(world.run())
    world.try_later()
    world.queue.again(world.take(), world.setting("learn", SMALL))
    asyncio.run(world.run())
    assert (world.stored(), world.queue.held) == ({"learn"}, 2)
    world.shared.free_space_bytes = None
    world.decided.clear()
    asyncio.run(world.try_held())
    assert world.decided == ["1", "2"]


def test_requests_that_must_learn_something_first_are_rejected_while_news_waits_for_room(world: World) -> None:
    world.news("1", LARGE)
    asyncio.run(world.run())
    answer = world.request("2", SMALL)
    world.queue.again(world.take(), world.setting("learn", LARGE))
    assert answer.error == Error.KAFKA_STORAGE_ERROR
    assert (world.queue.is_ready, world.queue.held, world.queue.rejections_total) == (False, 1, 1)


def test_a_turn_that_is_put_back_keeps_its_place_and_its_loneliness(world: World) -> None:
    for name in "123":
        world.request(name, SMALL)
    world.queue.no_room(world.take(), StoreFull("full"))
    turn = world.take()
    assert (len(turn.taken), len(world.queue)) == (1, 3), "what a turn has in hand counts"
    world.queue.again(turn, world.setting("0", SMALL))
    turn = world.take()
    assert len(turn.taken) == 1
    world.queue.again(turn, None)
    asyncio.run(world.run())
    assert world.decided[:2] == ["0", "1"]
    assert world.stored() == {"0", "1", "2", "3"}


def test_a_term_that_ends_takes_everything_with_it(world: World) -> None:
    world.news("1", LARGE)
    asyncio.run(world.run())
    world.request("2", SMALL)
    world.take()
    world.request("3", SMALL)
    assert len(world.queue.drain()) == len(["1", "2", "3"])
    assert (len(world.queue), world.queue.is_ready) == (0, False)
    asyncio.run(world.try_held())
    assert not world.queue.is_ready


def test_held_news_has_a_limit(world: World) -> None:
    world.news("1", LARGE)
    asyncio.run(world.run())
    for _ in range(MAX_HELD - 1):
        world.news("2", SMALL)
    assert not world.queue.is_overfull
    world.news("3", SMALL)
    assert world.queue.is_overfull


def test_the_log_says_it_once_and_when_there_has_been_room_for_a_while(
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
