"""A cooperative task: a coroutine in which plain functions can yield.

A broker has one thread, and no work may keep it for more than a slice. Work that may take longer (a request for half a
million partitions, a response with five thousand) runs as a `CooperativeTask`. The loops inside call `yield_if_due`, at
any depth of calls, and the task continues in a later round of the event loop. Outside of a `CooperativeTask`,
`yield_if_due` does nothing. Other code may run while a task has yielded, so only loops over the request's own data may
yield.

`common/scheduling/task_scheduler.py` runs the tasks in turn. Why greenlets, why one scheduler: decisions 0013, 0037.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

_PER_SLICE = 64
Value = TypeVar("Value")


class CooperativeTask(greenlet):
    """`deadline`: the monotonic time at which the running slice is over; `slices`: how many slices the task has had, if
    the driver of the task keeps count; `away_s`: seconds for which other code ran between its slices."""

    deadline = 0.0
    slices = 0
    away_s = 0.0
    _left_at = 0.0

    def run_slice(self, slice_s: float) -> None:
        """Continue until the task yields, which it does after `slice_s` seconds, or is complete (`dead`). Raises what
        the task raises."""
        started = monotonic()
        if self._left_at:
            self.away_s += started - self._left_at
        self.deadline = started + slice_s
        try:
            self.switch()
        finally:
            self._left_at = monotonic()


def yield_if_due() -> None:
    """Yield to the event loop if the slice is over."""
    here = getcurrent()
    if type(here) is CooperativeTask and monotonic() >= here.deadline:
        assert here.parent is not None
        here.parent.switch()


@contextmanager
def no_yield() -> Iterator[None]:
    """Inside, `yield_if_due` does nothing: no other code may run between the lines of the block."""
    here = getcurrent()
    if type(here) is not CooperativeTask:
        yield
        return
    deadline, here.deadline = here.deadline, inf
    try:
        yield
    finally:
        here.deadline = deadline


def own_time(now: Callable[[], float]) -> float:
    """The time of the running task alone: it does not count the time between two slices. `now` is monotonic."""
    here = getcurrent()
    return now() - here.away_s if type(here) is CooperativeTask else now()


def yielding(values: Iterable[Value]) -> Iterator[Value]:
    """Iterate over `values`; calls `yield_if_due` before each."""
    for value in values:
        yield_if_due()
        yield value


def is_long() -> bool:
    """Whether the running task has needed more than one slice."""
    here = getcurrent()
    return type(here) is CooperativeTask and here.slices > 1


def clear(values: list[Any]) -> None:
    """Empty a list in steps and yield between them: to free a million objects takes as long as to make them."""
    while values:
        del values[-_PER_SLICE:]
        yield_if_due()
