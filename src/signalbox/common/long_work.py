"""Work that is too long for one go, as a coroutine that plain functions can give way in.

A broker has one thread, and nobody may keep it for more than a slice. What may be long (a request for half a million
partitions, an answer about five thousand) runs as a `LongWork`; the loops inside call `breathe`, at any depth, and the
rest goes on in a later round of the event loop. Outside of a `LongWork`, `breathe` does nothing. Whoever breathes must
bear that others have run meanwhile: only loops over what belongs to the request itself do.

`transport/long_lane.py` drives it. Why greenlets: docs/decisions/0013.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

_PER_BREATH = 64
Value = TypeVar("Value")


class LongWork(greenlet):
    """`deadline`: the monotonic time at which the running slice is over; `slices`: how many there have been; `away_s`:
    how long others ran between them, as far as whoever drives it says so."""

    deadline = 0.0
    slices = 0
    away_s = 0.0
    left_at = 0.0


def breathe() -> None:
    """Give way to others when the slice is over."""
    here = getcurrent()
    if type(here) is LongWork and monotonic() >= here.deadline:
        assert here.parent is not None
        here.parent.switch()


@contextmanager
def in_one_breath() -> Iterator[None]:
    """Inside, `breathe` does nothing: what is done there belongs together."""
    here = getcurrent()
    if type(here) is not LongWork:
        yield
        return
    deadline, here.deadline = here.deadline, inf
    try:
        yield
    finally:
        here.deadline = deadline


def own_time(now: Callable[[], float]) -> float:
    """A clock of the running work alone: it stands still while others run between two slices. `now` is monotonic."""
    here = getcurrent()
    return now() - here.away_s if type(here) is LongWork else now()


def unhurried(values: Iterable[Value]) -> Iterator[Value]:
    """The values, with a breath before each."""
    for value in values:
        breathe()
        yield value


def is_long() -> bool:
    """Whether the running work has needed more than one slice already."""
    here = getcurrent()
    return type(here) is LongWork and here.slices > 1


def clear(values: list[Any]) -> None:
    """Empty a list bit by bit: to free a million objects takes as long as to make them."""
    while values:
        del values[-_PER_BREATH:]
        breathe()
