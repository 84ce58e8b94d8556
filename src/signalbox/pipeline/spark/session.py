"""The only place that builds a Spark session.

Settings are a table of plain strings (`spark_settings`), so that a test can read them without a JVM; `build_session`
adds what must be set before the JVM starts: Java, this Python for the workers, a loopback address.
A JVM that runs already keeps its own Java settings: one process, one profile.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from signalbox.pipeline.spark.class_archive import class_archive_options
from signalbox.pipeline.spark.java import JavaRuntime, cache_directory, find_java
from signalbox.pipeline.spark.worker_modules import make_spark_home, write_package_zip

JVM_END_TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Settings that differ between sessions.

    `quick`: the JVM's first compiler only, for short runs. `scratch_directory`: Spark's own temporary files (None: the
    system's). `submitted`: the settings of spark-submit if it started the JVM; `master` and `jars` are its own then.
    """

    app_name: str = "signalbox-pipeline"
    master: str = "local[*]"
    memory: str = "1g"
    quick: bool = False
    jars: tuple[Path, ...] = ()
    scratch_directory: Path | None = None
    submitted: Mapping[str, str] | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")

    @property
    def cores(self) -> int:
        """Cores for which a shuffle is divided: those of local[N], else this machine's."""
        inside = self.master.partition("[")[2].rstrip("]").partition(",")[0]
        return int(inside) if inside.isdigit() else os.cpu_count() or 2


# Every batch here is small and has the same plan each time: optimizations for big single queries would only cost time.
_ALWAYS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Options with a login or a key stay out of plans, logs and Spark's pages; the first four are Spark's default.
    "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|jaas|client_options|keystore[.]key|key[.]pem",
    "spark.sql.redaction.options.regex": "(?i)url|secret|password|jaas|client_options|keystore[.]key",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.json.enablePartialResults": "true",
    "spark.sql.streaming.stopTimeout": "30000",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}

# Settings of spark-submit that take precedence over ours; the others decide what is in a table.
_OF_SUBMITTER = ("spark.ui.", "spark.local.dir", "spark.pyspark.", "spark.sql.shuffle.partitions")

_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # One task to read a table's state: the default of 50 halves the throughput of small tables on two cores.
    "spark.databricks.delta.snapshotPartitions": "1",
}


def driver_java_options(settings: SessionSettings, java: JavaRuntime) -> str:
    """The driver's JVM arguments: a small collector, the class archive, quiet logging."""
    options = ["-XX:+UseSerialGC", *class_archive_options(java)]
    if settings.quick:
        options.append("-XX:TieredStopAtLevel=1")
    options.append(f"-Dlog4j2.configurationFile={resources.files(__package__).joinpath('log4j2.properties')}")
    if settings.scratch_directory is not None:
        options.append(f"-Djava.io.tmpdir={settings.scratch_directory}")
    return " ".join(options)


def spark_settings(settings: SessionSettings, java: JavaRuntime | None) -> dict[str, str]:
    """Every Spark setting of a session, as strings. `java`: the Java to start; None = a JVM runs already."""
    table = dict(_ALWAYS)
    table["spark.sql.shuffle.partitions"] = str(settings.cores)
    table["spark.pyspark.python"] = sys.executable if settings.submitted is None else workers_python()
    table["spark.pyspark.driver.python"] = sys.executable
    if java is not None:
        table.update(_start_settings(settings, java))
    if settings.scratch_directory is not None:
        table["spark.local.dir"] = str(settings.scratch_directory)
        table["spark.sql.warehouse.dir"] = str(settings.scratch_directory / "warehouse")
    if settings.jars:
        table.update(_DELTA)
    table.update({key: value for key, value in (settings.submitted or {}).items() if key.startswith(_OF_SUBMITTER)})
    table.update(settings.extra)
    return table


def workers_python() -> str:
    """The Python of the workers that spark-submit's environment names, else this one."""
    return os.environ.get("PYSPARK_PYTHON", sys.executable)


def _start_settings(settings: SessionSettings, java: JavaRuntime) -> dict[str, str]:
    """What Spark reads before or while its JVM starts, and never again."""
    table = {
        "spark.driver.memory": settings.memory,
        "spark.driver.extraJavaOptions": driver_java_options(settings, java),
    }
    if settings.is_local:
        table["spark.driver.host"] = "127.0.0.1"
        table["spark.driver.bindAddress"] = "127.0.0.1"
    else:
        table["spark.submit.pyFiles"] = str(write_package_zip(cache_directory()))
    if settings.jars:
        table["spark.jars"] = ",".join(str(path) for path in settings.jars)
    return table


def build_session(settings: SessionSettings) -> SparkSession:
    """Starts Spark (or returns the session that this process has). Raises JavaNotFoundError without a Java."""
    java = find_java(cache_directory()) if settings.submitted is None else None
    if java is not None:
        os.environ["JAVA_HOME"] = str(java.home)
    # Otherwise workers and data sources run the first python3 on PATH, which lacks our packages.
    if settings.submitted is None or "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if settings.is_local:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ.setdefault("SPARK_HOME", str(make_spark_home(cache_directory())))
    if settings.scratch_directory is not None:
        settings.scratch_directory.mkdir(parents=True, exist_ok=True)
    builder = SparkSession.builder.master(settings.master).appName(settings.app_name)
    for key, value in spark_settings(settings, java).items():
        builder = builder.config(key, value)
    no_log_of_py4j()
    spark = builder.getOrCreate()
    if settings.submitted is not None and not settings.is_local:
        spark.sparkContext.addPyFile(str(write_package_zip(cache_directory())))
    _expect_the_end_of_the_jvm(spark)
    return spark


def _is_of_another_package(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def no_log_of_py4j() -> None:
    """py4j raises every failure, and logs some of them with a traceback before that, partly in the root logger: a
    command that ends in one line shows the one that was raised."""
    logging.getLogger("py4j").propagate = False
    logging.getLogger().addFilter(_is_of_another_package)


def _expect_the_end_of_the_jvm(spark: SparkSession) -> None:
    """A signal to the whole process group ends the JVM first. Then pyspark's accumulator server prints a traceback for
    the connection that has ended; the thread that runs the query reports it in one line."""
    server = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is None:
        return
    report = server.handle_error

    def report_unless_ended(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), (EOFError, ConnectionError)):
            report(request, client_address)

    server.handle_error = report_unless_ended


def end_session(spark: SparkSession) -> None:
    """Stops Spark and ends its JVM, so that its memory is free again and the next session starts with its own settings.

    `SparkSession.stop` alone leaves the JVM running until this process ends.
    """
    try:
        spark.stop()
    except (Py4JError, ConnectionError):  # the JVM ended first; what pyspark has cached of it must be cleared as well
        SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None
    gateway = SparkContext._gateway
    if gateway is None:
        return
    SparkContext._gateway = None
    SparkContext._jvm = None
    gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.stdin.close()
        process.wait(JVM_END_TIMEOUT_SECONDS)
