"""Runs a cooperative task from a coroutine, for example to process a large response that a handler has awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from signalbox.transport.task_scheduler import TaskScheduler


def in_slices(scheduler: TaskScheduler, work: Callable[[], Any]) -> asyncio.Future[Any]:
    """Future of the result of `work`, which yields (`common/cooperative_task.py`), or of its exception."""
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except Exception as error:
            failure = error
        if done.done():
            return  # the broker stops
        if failure is None:
            done.set_result(result)
        else:
            done.set_exception(failure)

    scheduler.run(run, again=True)
    return done
