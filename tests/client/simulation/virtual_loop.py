"""An event loop whose time is virtual: instead of sleeping it moves its clock to the next timer.

Nothing here may wait for the outside: no sockets, no threads. The order of all callbacks then follows from the program
alone, and an hour of timeouts takes as long as its callbacks.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
# asyncio calls a timer up to a nanosecond early: code that then waits for the same instant again would do it for ever.
_ITERATION_S = 1e-10


class _Clock(selectors.SelectSelector):
    """Never sleeps: a wait moves `now`, and each iteration of the loop moves it a little."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("every task waits, and no timer is set: the simulation would wait forever")
        self.now += max(_ITERATION_S, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


async def pass_time(seconds: float) -> None:
    """Let virtual time pass; nothing sleeps."""
    loop = asyncio.get_running_loop()
    passed: asyncio.Future[None] = loop.create_future()
    timer = loop.call_later(seconds, passed.set_result, None)
    try:
        await passed
    finally:
        timer.cancel()


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """As asyncio.run, in virtual time. An exception that no task handles is raised at the end."""
    unhandled: list[BaseException] = []

    async def with_handler() -> T:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: unhandled.append(context.get("exception") or RuntimeError(context["message"]))
        )
        return await main

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        result = runner.run(with_handler())
    if unhandled:
        raise unhandled[0]
    return result
