"""Running one streaming query to its end: until what was there is read, or until it is told to stop.

A stop (SIGTERM, Ctrl-C, the time) waits for the batch in hand; a second signal does not, which is safe too: the batch
is repeated and its tables know it. What the query fails with is raised as one sentence, not as four stack traces.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

BATCH_END_TIMEOUT_SECONDS = 60.0


class PipelineError(RuntimeError):
    """A run that could not go on, in one sentence."""


def root_cause(text: str) -> str:
    """The sentence that tells what happened, out of a streaming query's exception text."""
    ours = re.findall(r"signalbox\.pipeline[\w.]*\.(\w+Error): (.+)", text)
    if ours:
        return f"{ours[-1][1].strip()}"
    causes = re.findall(r"(?:Caused by: )?[\w.$]+(?:Exception|Error): (.+)", text)
    lines = [cause.strip() for cause in causes if "STREAM_FAILED" not in cause]
    return lines[-1] if lines else text.strip().splitlines()[0]


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that the first SIGTERM or Ctrl-C sets; the second does what it always does."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def ask(number: int, _: Any) -> None:
        asked.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, ask)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop_between_batches(query: StreamingQuery) -> None:
    deadline = time.monotonic() + BATCH_END_TIMEOUT_SECONDS
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.05)
    query.stop()


def run_query(
    frame: DataFrame,
    write_batch: Callable[[DataFrame, int], None],
    *,
    name: str,
    checkpoint: Path,
    trigger_seconds: float | None,
    stop_after_seconds: float | None,
    while_waiting: Callable[[], None],
) -> None:
    """Runs the query; `while_waiting` is called about once a second. Raises PipelineError when it fails."""
    writer = frame.writeStream.queryName(name).foreachBatch(write_batch)
    writer = writer.option("checkpointLocation", str(checkpoint))
    if trigger_seconds is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{int(trigger_seconds * 1000)} milliseconds")
    begun = time.monotonic()
    with stop_signals() as asked:
        query = writer.start()
        try:
            while not query.awaitTermination(1):
                while_waiting()
                over = stop_after_seconds is not None and time.monotonic() - begun > stop_after_seconds
                if asked.is_set() or over:
                    _stop_between_batches(query)
                    return
        except StreamingQueryException as fault:
            raise PipelineError(root_cause(str(fault))) from fault
        finally:
            if query.isActive:
                query.stop()
