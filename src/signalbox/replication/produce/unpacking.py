"""Batches that decompress to more than 64 KiB: before they are appended, or to find a record by its timestamp
(ListOffsets).

A few bytes may decompress to hundreds of megabytes. The codecs run in a thread and release the GIL; the records are
then read on the event loop, in slices. Meanwhile the connection is muted, so that a client's batches keep their order.
Batches in progress are limited by their largest decompressed size, waiting batches by their compressed size; batches
are started in the order of their arrival.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from signalbox.common.limits import MAX_AWAITING_UNPACKING_BYTES, MAX_UNPACKING_BYTES
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.files.background import Background
from signalbox.storage.unpacking_steps import UnpackingSteps

_log = logging.getLogger(__name__)

T = TypeVar("T")
Finish = Callable[[T | KafkaError], None]
Unpacking = Generator[tuple[UnpackingSteps[Any], int], Any, T]
"""Work that needs batches decompressed: yields (steps, compressed size) and receives the result of the steps."""

_Job = tuple[UnpackingSteps[Any], int, Finish[Any]]


class UnpackingQueue:
    """Decompression on one broker. `threads` runs codecs, `run_long` cooperative tasks (`CooperativeTask`)."""

    def __init__(self, threads: Background, run_long: Callable[[Callable[[], None]], None]) -> None:
        self._threads = threads
        self._run_long = run_long
        self._waiting: deque[_Job] = deque()
        self._waiting_bytes = 0
        self._in_progress = 0
        self._in_progress_bytes = 0
        self._closed = False

    def run(self, unpacking: Unpacking[T]) -> Promise[T]:
        """Run work that may need batches decompressed, one after the other; it begins at once. The promise fails with
        any error of the work. Yields."""
        return _Run(self, unpacking).promise

    def add(self, steps: UnpackingSteps[T], size_bytes: int, finish: Finish[T]) -> None:
        """`finish` is called on the event loop with the result of the steps or the error; at once with
        REQUEST_TIMED_OUT if too many bytes wait. `size_bytes`: the compressed batch."""
        if self._waiting and self._waiting_bytes + size_bytes > MAX_AWAITING_UNPACKING_BYTES:
            text = f"{self._waiting_bytes} bytes of compressed batches already wait to be decompressed"
            finish(KafkaError(Error.REQUEST_TIMED_OUT, text))
            return
        self._waiting.append((steps, size_bytes, finish))
        self._waiting_bytes += size_bytes
        self._start_waiting()

    def close(self) -> None:
        """Start no more batches; returns when no thread is working any more."""
        self._closed = True
        self._waiting.clear()
        self._threads.close()

    def _start_waiting(self) -> None:
        while self._waiting and not self._closed:
            steps, size_bytes, finish = self._waiting[0]
            if self._in_progress and self._in_progress_bytes + steps.max_bytes > MAX_UNPACKING_BYTES:
                return
            self._waiting.popleft()
            self._waiting_bytes -= size_bytes
            self._in_progress += 1
            self._in_progress_bytes += steps.max_bytes
            self._run_in_thread(steps, finish)

    def _run_in_thread(self, steps: UnpackingSteps[Any], finish: Finish[Any]) -> None:
        results: list[Any] = []

        def work() -> None:
            try:
                results.append(steps.work())
            except Exception as error:
                results.append(error)

        def done(_: BaseException | None) -> None:
            if not self._closed:
                self._run_long(lambda: self._resume(steps, results.pop(), finish))

        self._threads.run(work, done)

    def _resume(self, steps: UnpackingSteps[Any], result: Any, finish: Finish[Any]) -> None:
        """On the event loop, as a cooperative task."""
        try:
            finished: Any = steps.resume(result)
        except KafkaError as error:
            finished = error
        except Exception:
            _log.exception("Unexpected error decompressing a batch, the request is rejected")
            finished = KafkaError(Error.UNKNOWN_SERVER_ERROR)
        if finished is None:
            self._run_in_thread(steps, finish)
            return
        self._in_progress -= 1
        self._in_progress_bytes -= steps.max_bytes
        try:
            finish(finished)
        finally:
            self._start_waiting()


class _Run(Generic[T]):
    """One run of an `Unpacking`. Its steps may be finished while they are added, so results are taken in a loop: a
    recursion would be as deep as there are batches."""

    def __init__(self, unpacking_queue: UnpackingQueue, unpacking: Unpacking[T]) -> None:
        self._unpacking_queue = unpacking_queue
        self._unpacking = unpacking
        self._results: list[Any] = [None]
        self._running = False
        self.promise: Promise[T] = Promise()
        self._continue()

    def _finished(self, result: Any) -> None:
        self._results.append(result)
        if not self._running:
            self._continue()

    def _continue(self) -> None:
        self._running = True
        try:
            while self._results:
                self._step(self._results.pop())
        finally:
            self._running = False

    def _step(self, result: Any) -> None:
        resume = self._unpacking.throw if isinstance(result, KafkaError) else self._unpacking.send
        try:
            steps, size_bytes = resume(result)
        except StopIteration as finished:
            self.promise.complete(finished.value)
            return
        except Exception as error:  # the scheduler that runs this only logs errors: the request must have its response
            self.promise.fail(error)
            return
        self._unpacking_queue.add(steps, size_bytes, self._finished)
