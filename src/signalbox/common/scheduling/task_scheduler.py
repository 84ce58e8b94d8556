"""The scheduler of cooperative tasks: they take turns, one slice per round of the event loop.

The loop polls between two slices, so no connection waits longer than a slice for any of them, however many tasks there
are; connections of the data plane have their own iteration in every round, and decisions of the controller their own
slice. The length of a slice is
`signalbox.event.loop.slice.us` everywhere. There are four forms:

- `run(work)`: a task whose first slice runs at once; `run_soon(work)`: one that begins in the next round;
- `await result_of(work)`, and `async for value in yielding(values)` where the loop itself contains `await`: for
  coroutines, since a coroutine is not a cooperative task;
- `TaskQueue`: works in their order, each begins when the one before it is complete;
- `DataLoop.run_in_slices` (`transport/data_loop.py`): a large frame of a connection of the data plane, when the
  connection is next.
"""

from __future__ import annotations

import gc
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from time import monotonic
from typing import Any, Protocol, TypeVar

from greenlet import getcurrent

from signalbox.common.cooperative_task import CooperativeTask

_SLICES_PER_MIDDLE_COLLECTION = 6

log = logging.getLogger(__name__)

T = TypeVar("T")


class Future(Protocol):
    """As asyncio's."""

    def done(self) -> bool: ...

    def cancelled(self) -> bool: ...

    def set_result(self, result: Any, /) -> None: ...

    def set_exception(self, exception: Exception, /) -> None: ...

    def add_done_callback(self, callback: Callable[[Any], object], /) -> None: ...

    def __await__(self) -> Generator[Any, None, Any]: ...


class EventLoop(Protocol):
    """The part of asyncio's event loop that the scheduler needs."""

    def call_soon(self, callback: Callable[[], object], /) -> object:
        """Call in the next round of the loop."""
        ...

    def create_future(self) -> Future: ...


class TaskScheduler:
    """One per event loop, and one `beside` it for the controller."""

    def __init__(self, loop: EventLoop, slice_us: int = 100) -> None:
        self._loop = loop
        self.slice_s = slice_us / 1_000_000
        self.slices = 0
        self._waiting: deque[CooperativeTask] = deque()

    @property
    def waiting(self) -> int:
        """Tasks that have begun and are not complete."""
        return len(self._waiting)

    def beside(self) -> TaskScheduler:
        """Another scheduler of the same event loop, whose tasks have a slice of their own in each round: they do not
        wait for those of this one, however many there are."""
        return TaskScheduler(self._loop, round(self.slice_s * 1_000_000))

    def run(self, work: Callable[[], object], again: bool = False) -> None:
        """Begin at once, or in the next round if a cooperative task calls this. `again`: the work has had a slice
        before. An error of `work` is logged: work that owes a response must catch its errors itself."""
        self._begin(_new_task(work, again))

    def run_soon(self, work: Callable[[], object]) -> None:
        """As `run`, but begin in the next round: the caller is not interrupted."""
        self._add(_new_task(work))

    def result_of(self, work: Callable[[], T]) -> Awaitable[T]:
        """Run `work` for a coroutine; the future of its result or error. A future that is cancelled ends the task where
        it has yielded."""
        future = self._loop.create_future()

        def run() -> None:
            try:
                result = work()
            except Exception as error:
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(result)

        task = _new_task(run, again=True)
        self._begin(task)
        if not task.dead:
            future.add_done_callback(lambda done: task.throw() if done.cancelled() else None)
        return future

    async def yielding(self, values: Iterable[T]) -> AsyncIterator[T]:
        """Iterate in a coroutine that awaits something for each value; before each, yield to the event loop if the
        slice is over."""
        deadline = monotonic() + self.slice_s
        for value in values:
            if monotonic() >= deadline:
                await _NextRound()
                deadline = monotonic() + self.slice_s
            yield value

    def _begin(self, task: CooperativeTask) -> None:
        if type(getcurrent()) is CooperativeTask or not self._run_slice(task):
            self._add(task)

    def _add(self, task: CooperativeTask) -> None:
        self._waiting.append(task)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        task = self._waiting[0]
        is_complete = task.dead or self._run_slice(task)
        self._waiting.popleft()
        if not is_complete:
            self._waiting.append(task)
        if self._waiting:
            self._loop.call_soon(self._next)

    def _run_slice(self, task: CooperativeTask) -> bool:
        """Run one slice; returns whether it was the last."""
        task.slices += 1
        self.slices += 1
        try:
            task.run_slice(self.slice_s)
        except Exception:
            log.exception("Unexpected error in a cooperative task")
        # A task that frees as many objects as it creates never reaches the collector's threshold, while the young
        # generations grow by many thousands: then one collection would block the loop for milliseconds.
        gc.collect(1 if not self.slices % _SLICES_PER_MIDDLE_COLLECTION else 0)
        return task.dead


class TaskQueue:
    """Works that run in the order in which they were added: the next begins when the last is complete. One cooperative
    task runs them all; it yields where they do."""

    def __init__(self, scheduler: TaskScheduler) -> None:
        self._scheduler = scheduler
        self._works: deque[Callable[[], object]] = deque()
        self._is_running = False

    def add(self, work: Callable[[], object]) -> None:
        """Run `work` after those before it, at once if there are none. An error is logged."""
        self._works.append(work)
        if not self._is_running:
            self._is_running = True
            self._scheduler.run(self._run)

    def _run(self) -> None:
        while self._works:
            work = self._works.popleft()
            try:
                work()
            except Exception:
                log.exception("Unexpected error in a cooperative task")
        self._is_running = False


class _NextRound:
    """Awaited: the coroutine continues in the next round of the event loop."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def _new_task(work: Callable[[], object], again: bool = False) -> CooperativeTask:
    task = CooperativeTask(work)
    task.slices = int(again)
    here = getcurrent()
    if type(here) is CooperativeTask:
        # It yields to the loop, not to the task that started it.
        task.parent = here.parent  # type: ignore[assignment]
    return task
