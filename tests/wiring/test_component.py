"""What starts first stops last, whatever fails on the way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from signalbox.wiring.component import Component, RunningComponents


class Journal:
    """Components that write down what is called, and the named ones fail."""

    def __init__(self, *failing: str) -> None:
        self.calls: list[str] = []
        self._failing = failing

    def call(self, what: str) -> Callable[[], None]:
        def note() -> None:
            self.calls.append(what)
            if what in self._failing:
                raise OSError(what)

        return note

    def awaited(self, what: str) -> Callable[[], object]:
        async def note() -> None:
            await asyncio.sleep(0)
            self.call(what)()

        return note

    def component(self, name: str) -> Component:
        """Its start is awaited, its stop is not."""
        return Component(name=name, start=self.awaited(f"start {name}"), stop=self.call(f"stop {name}"))


def test_stops_are_in_the_reverse_order_of_the_starts() -> None:
    journal, running = Journal(), RunningComponents()

    async def scenario() -> None:
        await running.start(journal.component(name) for name in "ab")
        await running.start([journal.component("c")])
        await running.stop(controlled=True)
        await running.stop(controlled=True)  # a second time: nothing is left

    asyncio.run(scenario())
    assert journal.calls == ["start a", "start b", "start c", "stop c", "stop b", "stop a"]


@pytest.mark.parametrize(
    ("controlled", "calls"),
    [(False, ["stop both", "stop"]), (True, ["controlled stop", "controlled stop both", "stop"])],
)
def test_a_controlled_stop_has_actions_of_its_own(controlled: bool, calls: list[str]) -> None:
    journal, running = Journal(), RunningComponents()
    components = [
        Component(name="check"),
        Component(name="one", stop=journal.call("stop")),
        Component(name="both", stop=journal.call("stop both"), controlled_stop=journal.call("controlled stop both")),
        Component(name="only", controlled_stop=journal.call("controlled stop")),
    ]

    async def scenario() -> None:
        await running.start(components)
        await running.stop(controlled)

    asyncio.run(scenario())
    assert journal.calls == calls


def test_a_start_that_fails_in_the_middle_stops_what_was_started(caplog: pytest.LogCaptureFixture) -> None:
    journal, running = Journal("start c", "stop b"), RunningComponents()

    async def scenario() -> None:
        async with running.stopped_on_failure():
            await running.start(journal.component(name) for name in "abcd")

    with pytest.raises(OSError, match="start c"):
        asyncio.run(scenario())
    assert journal.calls == ["start a", "start b", "start c", "stop b", "stop a"]
    assert caplog.messages == ["Component failed to stop (name=b); the other components are stopped"]


def test_a_start_that_is_cancelled_stops_what_was_started() -> None:
    journal, running = Journal(), RunningComponents()

    async def scenario() -> None:
        waits = asyncio.Event()

        async def never() -> None:
            waits.set()
            await asyncio.Event().wait()

        async def start() -> None:
            async with running.stopped_on_failure():
                await running.start([journal.component("a"), Component(name="never", start=never)])

        starting = asyncio.ensure_future(start())
        await waits.wait()
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        assert starting.cancelled()

    asyncio.run(scenario())
    assert journal.calls == ["start a", "stop a"]


def test_a_stop_that_fails_keeps_no_other_component_from_stopping(caplog: pytest.LogCaptureFixture) -> None:
    journal, running = Journal("stop c", "stop b"), RunningComponents()

    async def scenario() -> None:
        await running.start(journal.component(name) for name in "abc")
        await running.stop(controlled=True)

    with pytest.raises(OSError, match="stop c"):
        asyncio.run(scenario())
    assert journal.calls[-3:] == ["stop c", "stop b", "stop a"]
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.ERROR]
