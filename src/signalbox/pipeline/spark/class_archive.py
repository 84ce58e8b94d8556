"""A class-data archive for the driver's JVM: it halves the start of Spark.

An archive belongs to one Java and one pyspark. It is written once, by a process of its own (`write_class_archive`,
part of `fetch_jars`). Sessions use it if it exists. A JVM ignores an archive that does not fit.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pyspark

from signalbox.pipeline.spark.java import JavaRuntime, cache_directory, find_java
from signalbox.pipeline.spark.worker_modules import spark_home

WRITE_TIMEOUT_SECONDS = 300

_SCRIPT = """
import sys
from pathlib import Path
from signalbox.pipeline.spark.session import SessionSettings, build_session, end_session
target, scratch, *jars = sys.argv[1:]
spark = build_session(SessionSettings(
    app_name="signalbox-class-archive", master="local[1]", jars=tuple(Path(jar) for jar in jars),
    scratch_directory=Path(scratch),
    extra={"spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:ArchiveClassesAtExit={target}"},
))
table = f"{scratch}/table"
frame = spark.range(10).selectExpr("id", "cast(id as string) as text")
frame.write.mode("overwrite").parquet(table)
spark.read.parquet(table).groupBy("text").count().collect()
if jars:
    frame.write.format("delta").mode("append").save(f"{scratch}/delta")
query = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load() \\
    .writeStream.option("checkpointLocation", f"{scratch}/checkpoint") \\
    .trigger(availableNow=True).foreachBatch(lambda batch, batch_id: batch.count()).start()
query.awaitTermination(20)
query.stop()
end_session(spark)
"""


def class_archive_path(java: JavaRuntime) -> Path:
    """The path of the archive for this Java and this pyspark, whether or not it exists yet.

    The JVM accepts an archive only with the class path for which it was written. So the paths are part of the name: two
    environments with the same versions have an archive each.
    """
    places = hashlib.sha256(f"{java.home}\n{spark_home(cache_directory())}".encode()).hexdigest()[:8]
    return cache_directory() / f"classes-java{java.major_version}-pyspark{pyspark.__version__}-{places}.jsa"


def class_archive_options(java: JavaRuntime) -> list[str]:
    """The JVM arguments that use the archive; none if it has not been written."""
    path = class_archive_path(java)
    return (
        [f"-XX:SharedArchiveFile={path}", "-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
        if path.exists()
        else []
    )


def write_class_archive(jars: tuple[Path, ...] = ()) -> Path | None:
    """Writes the archive if it does not exist. Returns its path, None if this Java could not write one in time.

    One process writes at a time, the others wait for it: several at once would only make each other slower.
    """
    path = class_archive_path(find_java(cache_directory()))
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return path if path.exists() else None  # what another process could not write is not tried again
        return path if path.exists() else _write(path, jars)


def _write(path: Path, jars: tuple[Path, ...]) -> Path | None:
    fresh = path.with_suffix(f".{os.getpid()}")
    scratch = path.parent / f"archive-scratch-{os.getpid()}"
    command = [sys.executable, "-c", _SCRIPT, str(fresh), str(scratch), *(str(jar) for jar in jars)]
    try:
        subprocess.run(command, capture_output=True, timeout=WRITE_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        fresh.unlink(missing_ok=True)  # part of an archive
    subprocess.run(["rm", "-rf", str(scratch)], check=True)
    if not fresh.exists():
        return None
    fresh.replace(path)
    return path
