"""When the leader's stored ISR changes are announced to the controller: Kafka's times, on a manual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.ids import TopicPartition
from signalbox.metadata.entries.isr_change import decode_isr_change
from signalbox.metadata.layout import ISR_CHANGES, create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import OperationResult, StoreUnavailable
from signalbox.replication.isr.isr_announcements import CHECK_S, IsrAnnouncements

pytestmark = pytest.mark.spec("M2")

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class Store(MemoryMetadataStore):
    away = False

    async def commit(self, *arguments: Any) -> list[OperationResult]:
        if self.away:
            raise StoreUnavailable("away")
        return await super().commit(*arguments)


class Bench:
    """`look` lets one check run; `pauses`: the requested waits in seconds."""

    def __init__(self, store: Store) -> None:
        self.store, self.clock = store, ManualClock()
        self.pauses: list[float] = []
        self._looks = asyncio.Semaphore(0)
        self._waits = asyncio.Event()
        self.announcements = IsrAnnouncements(store, self.clock, self._pause)

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self._waits.set()
        await self._looks.acquire()

    async def look(self) -> list[list[TopicPartition]]:
        """All announcements in the store after the next check."""
        await self._waits.wait()
        self._waits.clear()
        self.clock.advance(int(CHECK_S * 1000))
        self._looks.release()
        for _ in range(10):  # the store responds at once
            await asyncio.sleep(0)
        return await self.partitions()

    async def partitions(self) -> list[list[TopicPartition]]:
        tree = await self.store.read_tree(ISR_CHANGES)
        return [decode_isr_change(path, entry.data) for path, entry in sorted(tree.items()) if path != ISR_CHANGES]


def run(scenario: Callable[[Bench], Awaitable[None]]) -> None:
    async def within() -> None:
        store = Store(SharedEntries())
        await create_roots(store)
        bench = Bench(store)
        async with asyncio.timeout(10):
            await scenario(bench)
        await bench.announcements.stop()

    asyncio.run(within())


def test_changes_are_batched_until_five_seconds_without_a_change() -> None:
    async def scenario(bench: Bench) -> None:
        bench.announcements.add([U0, T0])
        assert await bench.look() == []
        bench.announcements.add([T1, T0])
        assert await bench.look() == []  # 2.5 s after the last change
        assert await bench.look() == []  # 5 s: the wait must be longer than that
        assert await bench.look() == [[T0, T1, U0]]
        assert bench.pauses == [CHECK_S] * 4, "nothing is looked at any more"
        bench.announcements.add([T0])
        for _ in range(2):
            assert len(await bench.look()) == 1
        assert await bench.look() == [[T0, T1, U0], [T0]]

    run(scenario)


def test_continuous_changes_are_announced_once_a_minute() -> None:
    async def scenario(bench: Bench) -> None:
        looks = 0
        while not await bench.partitions():
            bench.announcements.add([T0])
            await bench.look()
            looks += 1
        assert looks == 25, "62.5 s after the start"
        for _ in range(24):
            bench.announcements.add([T1])
            assert await bench.look() == [[T0]]
        bench.announcements.add([U0])
        assert await bench.look() == [[T0], [T1, U0]]

    run(scenario)


def test_a_failed_announcement_is_retried() -> None:
    async def scenario(bench: Bench) -> None:
        bench.store.away = True
        bench.announcements.add([T0])
        for _ in range(4):
            assert await bench.look() == []
        bench.store.away = False
        assert await bench.look() == [[T0]]

    run(scenario)


def test_nothing_is_announced_after_stop() -> None:
    async def scenario(bench: Bench) -> None:
        bench.announcements.add([T0])
        await bench.look()
        await bench.announcements.stop()
        assert await bench.partitions() == []

    run(scenario)
