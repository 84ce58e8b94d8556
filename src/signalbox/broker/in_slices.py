"""Long work in the middle of a coroutine: what a handler does with a large answer that it has waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from signalbox.broker.ports import LongLane


def in_slices(lane: LongLane, work: Callable[[], Any]) -> asyncio.Future[Any]:
    """What `work`, which breathes (`common/long_work.py`), comes to, or its error."""
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def run() -> None:
        outcome, failure = None, None
        try:
            outcome = work()
        except Exception as error:
            failure = error
        if done.done():
            return  # the broker stops
        if failure is None:
            done.set_result(outcome)
        else:
            done.set_exception(failure)

    lane.run(run, again=True)
    return done
