from __future__ import annotations

import asyncio
import threading
from collections import Counter

import pytest

from signalbox.doctor.prober.resolver import LookupNotBegun, Resolver, Unresolved, look_up

pytestmark = pytest.mark.spec("R8")


def test_every_address_of_a_name_is_looked_up_once() -> None:
    asked = []

    def lookup(host: str, port: int) -> list[str]:
        asked.append(host)
        return [f"10.0.0.{index}" for index in range(40)]

    async def run() -> None:
        resolver = Resolver(1_000, lookup)
        first, second = await asyncio.gather(resolver.resolve("kafka", 1), resolver.resolve("kafka", 2))
        assert first == second == [f"10.0.0.{index}" for index in range(40)]
        assert await resolver.resolve("::1", 1) == ["::1"]

    asyncio.run(run())
    assert asked == ["kafka"]


def test_a_name_server_that_does_not_respond_does_not_stop_the_run() -> None:
    released = threading.Event()

    def lookup(host: str, port: int) -> list[str]:
        released.wait(60)
        return []

    async def run() -> None:
        with pytest.raises(Unresolved, match=r"did not respond within 0\.05 s"):
            await Resolver(50, lookup).resolve("slow", 1)

    asyncio.run(run())
    released.set()


def test_a_hundred_names_whose_lookups_hang() -> None:
    """A lookup that hangs keeps its slot, and the end of the run ends the wait for one."""
    released = threading.Event()
    begun = []

    def lookup(host: str, port: int) -> list[str]:
        begun.append(host)
        released.wait(60)
        return []

    async def run() -> list[list[str] | BaseException]:
        resolver = Resolver(50, lookup, asyncio.get_running_loop().time() + 0.4)
        names = [f"name{index}" for index in range(100)]
        return await asyncio.gather(*(resolver.resolve(name, 1) for name in names), return_exceptions=True)

    try:
        results = Counter(type(result) for result in asyncio.run(run()))
    finally:
        released.set()
    assert len(begun) == 32
    assert results == {Unresolved: 32, LookupNotBegun: 68}


def test_no_lookup_begins_after_the_end() -> None:
    async def run() -> None:
        with pytest.raises(LookupNotBegun):
            await Resolver(50, lambda *_: [], asyncio.get_running_loop().time()).resolve("late", 1)

    asyncio.run(run())


@pytest.mark.parametrize("host", ["name.invalid", "a" * 64, "..", ""])
def test_names_without_an_address(host: str) -> None:
    async def run() -> None:
        with pytest.raises(Unresolved):
            await Resolver(5_000, (lambda *_: []) if not host else look_up).resolve(host, 1)

    asyncio.run(run())
