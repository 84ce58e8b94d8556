"""Running one streaming query to its end: until what was there is read, or until it is told to stop.

A stop (SIGTERM, Ctrl-C, the time) waits for the batch in hand and lets no further one begin; a second signal does not
wait, which is safe too: the batch is repeated and its tables know it. What the query fails with is raised as one
sentence, not as four stack traces.
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


class StopAskedError(Exception):
    """Ends a query in front of a batch that shall not begin any more."""


def root_cause(text: str) -> str:
    """What happened, out of a streaming query's exception text: a sentence or two without stack traces and plans."""
    said = text.partition("=== Streaming Query ===")[0].partition("terminated with exception: ")
    said_text = re.sub(r"\s*SQLSTATE: \w+", "", said[2] or said[0]).strip()
    ours = re.findall(r"^(?:[\w.]+)(?:Error|Exception): (.+)$", said_text, re.MULTILINE)
    if ours:
        return str(ours[-1]).strip()
    reason = re.search(r"Reason: (.+)", said_text)
    if reason is not None:
        return f"{said_text.splitlines()[0].rstrip(';')}: {reason.group(1).strip()}"
    return said_text.splitlines()[0] if said_text else text.strip()


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
    """Waits for the batch in hand. A query that is idle is stopped; one that is not ends in front of its next batch."""
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
    begun = time.monotonic()
    with stop_signals() as asked:

        def write_unless_asked_to_stop(batch: DataFrame, batch_id: int) -> None:
            if asked.is_set():
                raise StopAskedError
            write_batch(batch, batch_id)

        writer = frame.writeStream.queryName(name).foreachBatch(write_unless_asked_to_stop)
        writer = writer.option("checkpointLocation", str(checkpoint))
        if trigger_seconds is None:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{int(trigger_seconds * 1000)} milliseconds")
        query = writer.start()
        try:
            while not query.awaitTermination(1):
                while_waiting()
                if stop_after_seconds is not None and time.monotonic() - begun > stop_after_seconds:
                    asked.set()
                if asked.is_set():
                    _stop_between_batches(query)
        except StreamingQueryException as fault:
            if StopAskedError.__name__ not in str(fault):
                raise PipelineError(root_cause(str(fault))) from fault
        finally:
            if query.isActive:
                query.stop()
