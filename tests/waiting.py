"""Polling for conditions that have no event, and rounds of the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

Found = TypeVar("Found")


def until(ask: Callable[[], Found | None], what: str = "it is so", timeout_s: float = 60.0) -> Found:
    """Calls `ask` until its result is true, and returns it. AssertionError after the deadline."""
    deadline = time.monotonic() + timeout_s
    while not (found := ask()):
        assert time.monotonic() < deadline, f"not within {timeout_s:.0f} s: {what}"
        time.sleep(0.05)
    return found


async def until_true(holds: Callable[[], bool], timeout_s: float = 60.0) -> None:
    """The same in an event loop, which continues to run meanwhile. TimeoutError after the deadline."""
    async with asyncio.timeout(timeout_s):
        while not holds():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.005)


async def until_answered(ask: Callable[[], Awaitable[bool]], timeout_s: float = 60.0) -> None:
    """The same with a condition that is a request. TimeoutError after the deadline."""
    async with asyncio.timeout(timeout_s):
        while not await ask():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.005)


async def settle() -> None:
    """Runs the event loop until no more work is possible without advancing the clock."""
    for _ in range(12):
        await asyncio.sleep(0)
