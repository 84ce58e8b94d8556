"""A standalone Spark cluster, one master and one worker, from the pip package alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from signalbox.testing.zookeeper import QUICK_JAVA

START_TIMEOUT_SECONDS = 60


@contextmanager
def _running(log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": " ".join(QUICK_JAVA),
        "SPARK_WORKER_DIR": str(log.parent / "work"),
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *arguments], env=environment, stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)


def _logged(log: Path, process: subprocess.Popen[bytes], pattern: str) -> str:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while (found := re.search(pattern, log.read_text())) is None:
        assert process.poll() is None, log.read_text()[-2000:]
        assert time.monotonic() < deadline, log.read_text()[-2000:]
        time.sleep(0.1)
    return found.group(1)


@contextmanager
def spark_cluster(directory: Path) -> Iterator[str]:
    """Runs the cluster on loopback with its files in `directory`; yields its spark:// address."""
    directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        log = directory / "master.log"
        master_class = "org.apache.spark.deploy.master.Master"
        ports = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = stack.enter_context(_running(log, master_class, *ports))
        address = _logged(log, master, r"Starting Spark master at (spark://\S+)")
        log = directory / "worker.log"
        worker_class = "org.apache.spark.deploy.worker.Worker"
        size = ("--host", "127.0.0.1", "--webui-port", "0", "-c", "2", "-m", "1g")
        worker = stack.enter_context(_running(log, worker_class, *size, address))
        _logged(log, worker, r"(Successfully registered with master)")
        yield address
