"""Running a query: its errors, and how it is stopped."""

from __future__ import annotations

import os
import signal
import socket
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake.exceptions import DeltaError
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from signalbox.pipeline import stream
from signalbox.pipeline.stream import SPARK_IS_GONE, PipelineError, root_cause, run_query, spark_faults, stop_signals
from signalbox.testing.free_ports import free_ports

FAILED = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: "
PLAN = "\n=== Streaming Query ===\nIdentifier: t [id = 1]\nCaused by: java.lang.Error: not this one"


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (
            "[PYTHON] Traceback (most recent call last):\n  File x\n"
            "signalbox.pipeline.offsets.DataLossError: topic t is gone\n SQLSTATE: 38000 SQLSTATE: XXKST",
            "topic t is gone",
        ),
        (
            "Some data may have been lost because they are not available;\nmore words\nReason: Partition t-0 is gone.",
            "Some data may have been lost because they are not available: Partition t-0 is gone.",
        ),
        (
            "py4j.protocol.Py4JJavaError: An error occurred while calling o8.parquet.\n: o.SparkException:"
            " Job aborted.\n\tat a.B.c(B.java:1)\nCaused by: a.TaskFailed: task 3\n"
            "Caused by: java.io.IOException: No space left on device\n\t... 41 more",
            "No space left on device",
        ),
        ("[DELTA] the disk is full. SQLSTATE: XXKST", "[DELTA] the disk is full."),
    ],
)
def test_the_cause_is_a_sentence(message: str, cause: str) -> None:
    assert root_cause(FAILED + message + PLAN) == cause
    assert root_cause("only words") == "only words"


def test_a_helper_of_the_jvm_that_a_signal_ended_is_about_its_end_too() -> None:
    text = (
        'java.io.IOException: Cannot run program "chmod": error=0, Failed to exec spawn helper: pid: 5987, signal: 15'
    )
    assert root_cause(f"An error occurred while calling o81.start.\n: {text}\n\tat java.base") == SPARK_IS_GONE
    assert root_cause(text) == SPARK_IS_GONE
    assert root_cause('java.io.IOException: Cannot run program "chmod": error=2') != SPARK_IS_GONE


def test_calls_that_a_jvm_receives_while_it_ends_are_about_its_end() -> None:
    called = "An error occurred while calling o156.start.\n: java.lang.IllegalStateException: "
    stack = "\nThis stopped SparkContext was created at:\n\norg.apache.spark.JavaSparkContext.<init>(J.scala:59)"
    assert root_cause(f"{called}Cannot call methods on a stopped SparkContext.{stack}") == SPARK_IS_GONE
    assert root_cause(f"{called}Shutdown in progress\n\tat java.base/java.lang.Thread.run(T.java:1)") == SPARK_IS_GONE
    assert root_cause(f"{called}Another reason\n\tat java.base/java.lang.Thread.run(T.java:1)") == "Another reason"


def test_a_jvm_that_has_ended_is_named_and_other_lost_connections_are_not_taken_for_it() -> None:
    (free_port,) = free_ports(1)
    gateway = ClientServer(JavaParameters(port=free_port), PythonParameters(port=0))
    with pytest.raises(PipelineError, match="Spark's process has ended"), spark_faults():
        gateway.jvm.System.nanoTime()
    gateway.shutdown()  # its callback server is a thread that the interpreter waits for
    with pytest.raises(ConnectionRefusedError), spark_faults():
        socket.create_connection(("127.0.0.1", free_port), timeout=5)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (DeltaError("a commit failed\nstack trace"), "a commit failed"),
        (pa.ArrowInvalid("no Parquet file"), "no Parquet file"),
        (OSError(28, "No space left on device", "t/1"), "[Errno 28] No space left on device: 't/1'"),
        (TimeoutError("no record for 120 s"), "no record for 120 s"),
        (AnalysisException("[NO_COLUMN] there is no column n. SQLSTATE: 42703"), "[NO_COLUMN] there is no column n."),
    ],
)
def test_errors_of_delta_tables_and_of_spark_are_a_sentence(fault: Exception, text: str) -> None:
    with pytest.raises(PipelineError) as raised, spark_faults():
        raise fault
    assert str(raised.value) == text


def test_first_signal_asks_and_the_second_is_what_it_was() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stop_signals() as asked:
        os.kill(os.getpid(), signal.SIGTERM)
        assert asked.wait(5)
        assert signal.getsignal(signal.SIGTERM) == before
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.fixture
def numbers(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()


def test_a_signal_ends_an_endless_query_between_batches(numbers: DataFrame, tmp_path: Path) -> None:
    batches: list[int] = []

    def write(frame: DataFrame, batch_id: int) -> None:
        if batch_id == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        batches.append(frame.count())

    run_query(
        numbers,
        write,
        name="endless",
        checkpoint=tmp_path,
        trigger_seconds=0.05,
        stop_after_seconds=None,
        while_waiting=lambda: None,
    )
    committed = [path for path in (tmp_path / "commits").iterdir() if path.name.isdigit()]
    assert batches == [10, 10, 10]
    assert len(committed) == 3


def test_a_failing_batch_ends_the_run_with_its_cause(numbers: DataFrame, tmp_path: Path) -> None:
    def write(frame: DataFrame, batch_id: int) -> None:
        raise ValueError(f"batch {batch_id} will not do")

    with pytest.raises(PipelineError, match=r"^batch 0 will not do$"):
        run_query(
            numbers,
            write,
            name="failing",
            checkpoint=tmp_path,
            trigger_seconds=0.05,
            stop_after_seconds=None,
            while_waiting=lambda: None,
        )


def test_a_batch_that_never_ends_is_a_sentence_and_is_not_committed(
    spark: SparkSession, numbers: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "BATCH_END_TIMEOUT_SECONDS", 0.2)
    stop_timeout = spark.conf.get("spark.sql.streaming.stopTimeout")
    spark.conf.set("spark.sql.streaming.stopTimeout", "200")
    stop, release, written = threading.Event(), threading.Event(), threading.Event()

    def write(frame: DataFrame, batch_id: int) -> None:
        stop.set()
        release.wait(120)
        written.set()

    try:
        with pytest.raises(PipelineError, match=r"did not end within 0.2 s .*nothing is lost"):
            run_query(
                numbers,
                write,
                name="blocked",
                checkpoint=tmp_path,
                trigger_seconds=0.05,
                stop_after_seconds=None,
                while_waiting=lambda: None,
                stop=stop,
            )
    finally:
        release.set()
        spark.conf.set("spark.sql.streaming.stopTimeout", stop_timeout or "30000")
    assert written.wait(60)
    assert not (tmp_path / "commits" / "0").exists()
