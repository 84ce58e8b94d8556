"""Work on a batch that decompresses to more than 64 KiB: the codecs run in a thread, all else in the event loop.

The work is a generator. It yields what must run in a thread and receives the result; between two yields it runs on the
event loop, as a cooperative task. `replication/produce/unpacking.py` runs such steps within its bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from signalbox.common.limits import UNPACKED_AT_ONCE_BYTES
from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.records.compression import UnpacksTooLarge, decompress

Result = TypeVar("Result")
Work = Callable[[], Any]


class UnpackingSteps(Generic[Result]):
    """Steps that cannot be finished in the loop: `work` must run in a thread, then `resume` in the loop. `max_bytes`:
    the largest decompressed size. The result is never None."""

    def __init__(self, steps: Generator[Work, Any, Result], work: Work, max_bytes: int) -> None:
        self._steps = steps
        self.work = work
        self.max_bytes = max_bytes

    def resume(self, result: Any) -> Result | None:
        """Continues with the result of `work`, or its error. Returns the result of all steps, or None if there is
        another `work`. Raises KafkaError. Yields."""
        try:
            send = self._steps.throw if isinstance(result, BaseException) else self._steps.send
            self.work = send(result)
        except StopIteration as finished:
            return finished.value  # type: ignore[no-any-return]
        return None

    def finish(self) -> Result:
        """Runs all remaining steps now and returns the result. Raises KafkaError. Yields."""
        finished = None
        while finished is None:
            try:
                result = self.work()
            except KafkaError as error:
                result = error
            finished = self.resume(result)
        return finished


def decompress_at_once(
    name: str, payload: bytes | memoryview, limit_bytes: int = UNPACKED_AT_ONCE_BYTES
) -> bytes | None:
    """The records of a batch if they decompress to at most 64 KiB, and at most `limit_bytes`; None otherwise. Raises
    KafkaError CORRUPT_MESSAGE."""
    if len(payload) > UNPACKED_AT_ONCE_BYTES:
        return None
    try:
        return decompress(name, payload, min(UNPACKED_AT_ONCE_BYTES, limit_bytes))
    except UnpacksTooLarge:
        return None
