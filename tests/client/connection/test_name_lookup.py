from __future__ import annotations

import asyncio
import threading

import pytest

from signalbox.client.connection.name_lookup import is_ip_literal, look_up, look_up_in_thread


def test_a_name_has_each_of_its_addresses_once() -> None:
    addresses = asyncio.run(look_up_in_thread("localhost", 9092))
    assert "127.0.0.1" in addresses
    assert len(addresses) == len(set(addresses))


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 64, ".."])
def test_what_is_no_name_is_an_error(host: str) -> None:
    with pytest.raises((OSError, ValueError)):
        look_up(host, 1)
    with pytest.raises((OSError, ValueError)):
        asyncio.run(look_up_in_thread(host, 1))


def test_a_lookup_that_hangs_keeps_neither_its_caller_nor_the_loop() -> None:
    released, ended = threading.Event(), asyncio.Event()

    def lookup(host: str, port: int) -> list[str]:
        released.wait(60)
        return []

    async def run() -> None:
        waiting = asyncio.create_task(look_up_in_thread("slow", 1, lookup, ended.set))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert not ended.is_set(), "its thread is still there"
        released.set()
        await ended.wait()
        released.clear()
        waiting = asyncio.create_task(look_up_in_thread("slow", 1, lookup))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(run())  # an executor's thread would be awaited here
    released.set()


def test_without_a_thread_a_lookup_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    ended = []
    with pytest.raises(OSError, match="no thread for the lookup: can't start new thread"):
        asyncio.run(look_up_in_thread("name", 1, ended=lambda: ended.append(True)))
    assert ended == [True]


def test_literals() -> None:
    assert all(map(is_ip_literal, ("10.0.0.1", "::1", "fe80::1%eth0")))
    assert not any(map(is_ip_literal, ("localhost", "", "0")))
