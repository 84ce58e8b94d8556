"""Batches that must be decompressed before they are appended: compacted topics, topics with their own compression.

A few bytes may decompress to hundreds of megabytes. The codecs run in a thread and release the GIL; the records are
then read on the event loop, in slices, and appended as usual. Meanwhile the connection is muted, so that a client's
batches keep their order. Batches in progress are limited by their largest decompressed size, waiting batches by their
compressed size; batches are started in the order of their arrival.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from signalbox.common.limits import MAX_AWAITING_UNPACKING_BYTES, MAX_UNPACKING_BYTES
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.files.background import Background
from signalbox.storage.validation.batch_admission import AdmissionSteps, Admitted

_log = logging.getLogger(__name__)

Finish = Callable[[Admitted | KafkaError], None]
_Job = tuple[AdmissionSteps, int, Finish]


class Unpackings:
    """Decompression on one broker. `threads` runs codecs, `run_long` cooperative tasks (`CooperativeTask`)."""

    def __init__(self, threads: Background, run_long: Callable[[Callable[[], None]], None]) -> None:
        self._threads = threads
        self._run_long = run_long
        self._waiting: deque[_Job] = deque()
        self._waiting_bytes = 0
        self._in_progress = 0
        self._in_progress_bytes = 0
        self._closed = False

    def add(self, steps: AdmissionSteps, size_bytes: int, finish: Finish) -> None:
        """`finish` is called on the event loop with the admitted batch or the error; at once with REQUEST_TIMED_OUT if
        too many bytes wait. `size_bytes`: the compressed batch."""
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

    def _run_in_thread(self, steps: AdmissionSteps, finish: Finish) -> None:
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

    def _resume(self, steps: AdmissionSteps, result: Any, finish: Finish) -> None:
        """On the event loop, as a cooperative task."""
        try:
            admitted: Admitted | KafkaError | None = steps.resume(result)
        except KafkaError as error:
            admitted = error
        except Exception:
            _log.exception("Unexpected error decompressing a batch: it is rejected")
            admitted = KafkaError(Error.UNKNOWN_SERVER_ERROR)
        if admitted is None:
            self._run_in_thread(steps, finish)
            return
        self._in_progress -= 1
        self._in_progress_bytes -= steps.max_bytes
        try:
            finish(admitted)
        finally:
            self._start_waiting()
