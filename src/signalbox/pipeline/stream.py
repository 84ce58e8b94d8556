"""Runs one streaming query to its end: until the available records are read, or until it is stopped.

A stop (SIGTERM, Ctrl-C, the time limit) waits for the batch in progress, for 15 minutes at most, and lets no further
batch begin. A second signal does not wait, which is safe too: the batch is repeated and its tables recognize it. A
failure of the query is raised as one sentence, not as four stack traces.
"""

from __future__ import annotations

import re
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

# A batch that takes longer is cut off. The systemd unit's TimeoutStopSec is above it.
BATCH_END_TIMEOUT_SECONDS = 900.0
SPARK_IS_GONE = (
    "Spark's process has ended, or has stopped its work, by a signal to the whole process group or by a fault that its "
    "log shows: run again, it goes on behind the last batch that the table holds"
)


# What a JVM that ends answers to calls that it still receives.
_SIGNS_OF_AN_END = ("Shutdown in progress", "stopped SparkContext", "SparkContext was shut down")
_STOP_TIMED_OUT = "TimeoutException"
_SIGNALLED_HELPER = re.compile(r"spawn helper: pid: \d+, signal: \d+")  # a process of the JVM got the signal first


class PipelineError(RuntimeError):
    """A run that failed, in one sentence."""


class StopAskedError(Exception):
    """Ends a query before a batch that must not begin any more."""


def root_cause(text: str) -> str:
    """The cause in the text of a streaming query's exception: one or two sentences without stack traces and plans."""
    message = text.partition("=== Streaming Query ===")[0].partition("terminated with exception: ")
    message_text = re.sub(r"\s*SQLSTATE: \w+", "", message[2] or message[0]).strip()
    if _SIGNALLED_HELPER.search(message_text):
        return SPARK_IS_GONE
    errors = re.findall(r"^(?:[\w.]+)(?:Error|Exception): (.+)$", message_text, re.MULTILINE)
    causes = re.findall(r"^Caused by: [\w.$]+: (.+)$", message_text, re.MULTILINE)
    if errors and causes and errors[-1].startswith("An error occurred while calling"):  # py4j's words, about no cause
        return str(causes[-1]).strip()
    if errors:
        return str(errors[-1]).strip()
    reason = re.search(r"Reason: (.+)", message_text)
    if reason is not None:
        return f"{message_text.splitlines()[0].rstrip(';')}: {reason.group(1).strip()}"
    if any(sign in message_text for sign in _SIGNS_OF_AN_END):
        return SPARK_IS_GONE
    of_java = re.search(r"^: [\w.$]+: (.+)$", message_text, re.MULTILINE)  # below py4j's words
    if of_java is not None:
        return of_java.group(1).strip()
    return message_text.splitlines()[0] if message_text else text.strip()


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that the first SIGTERM or Ctrl-C sets; the second has the default effect."""
    stop_requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop_requested
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def ask(number: int, _: Any) -> None:
        stop_requested.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop_requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop_between_batches(query: StreamingQuery) -> None:
    """Waits for the batch in progress. An idle query is stopped; another one ends before its next batch. Raises
    PipelineError if a batch blocks longer than Spark waits for its end."""
    deadline = time.monotonic() + BATCH_END_TIMEOUT_SECONDS
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.05)
    try:
        query.stop()
    except (Py4JError, PySparkException) as fault:
        if _STOP_TIMED_OUT not in str(fault):
            raise
        raise PipelineError(
            f"the batch in progress did not end within {BATCH_END_TIMEOUT_SECONDS:g} s of the request to stop and was "
            "cut off: nothing is lost, the next run repeats it"
        ) from fault


def run_query(
    frame: DataFrame,
    write_batch: Callable[[DataFrame, int], None],
    *,
    name: str,
    checkpoint: Path,
    trigger_seconds: float | None,
    stop_after_seconds: float | None,
    while_waiting: Callable[[], None],
    stop: threading.Event | None = None,
) -> None:
    """Runs the query; `while_waiting` is called about once a second. `stop`: ends it in place of signals. Raises
    PipelineError when it fails."""
    started = time.monotonic()
    with stop_signals() if stop is None else nullcontext(stop) as stop_requested:

        def write_unless_asked_to_stop(batch: DataFrame, batch_id: int) -> None:
            if stop_requested.is_set():
                raise StopAskedError
            write_batch(batch, batch_id)

        writer = frame.writeStream.queryName(name).foreachBatch(write_unless_asked_to_stop)
        writer = writer.option("checkpointLocation", str(checkpoint))
        if trigger_seconds is None:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{int(trigger_seconds * 1000)} milliseconds")
        query = None
        try:
            query = writer.start()
            while not query.awaitTermination(1):
                while_waiting()
                if stop_after_seconds is not None and time.monotonic() - started > stop_after_seconds:
                    stop_requested.set()
                if stop_requested.is_set():
                    _stop_between_batches(query)
        except StreamingQueryException as fault:
            if StopAskedError.__name__ not in str(fault):
                raise PipelineError(root_cause(str(fault))) from fault
        finally:
            _end(query)


@contextmanager
def spark_faults() -> Iterator[None]:
    """Raises failures of Spark, of Delta tables and of the disk, and the end of the JVM, as PipelineError. Spark's
    errors request their text from the JVM: the block must be inside that of the session."""
    try:
        yield
    except (Py4JError, PySparkException) as fault:
        raise PipelineError(_message(fault)) from fault
    except (DeltaError, pa.ArrowException) as fault:
        raise PipelineError(_first_line(fault)) from fault
    except ConnectionError as fault:
        if not _is_of_py4j(fault):
            raise
        raise PipelineError(SPARK_IS_GONE) from fault
    except OSError as fault:
        raise PipelineError(_first_line(fault)) from fault


def _first_line(fault: Exception) -> str:
    """The first line of an error's text: Delta's may have a stack trace below it."""
    return str(fault).strip().partition("\n")[0] or type(fault).__name__


def _is_of_py4j(fault: BaseException) -> bool:
    """True if py4j raised it because the JVM's port no longer accepts connections."""
    modules = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(fault.__traceback__)]
    return bool(modules) and modules[-1].startswith("py4j.")


def _message(fault: Py4JError | PySparkException) -> str:
    """The text of an error of Spark. It may be requested from the JVM, which fails if the JVM has ended."""
    try:
        has_text = isinstance(fault, (Py4JJavaError, PySparkException))
        return root_cause(str(fault)) if has_text else SPARK_IS_GONE
    except Exception:
        return SPARK_IS_GONE


def _end(query: StreamingQuery | None) -> None:
    try:
        if query is not None and query.isActive:
            query.stop()
    except (Py4JError, PySparkException, ConnectionError):
        return  # with the JVM the query ends too, and the run's own error says more
