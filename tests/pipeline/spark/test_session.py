"""The settings of a session, and its end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from signalbox.pipeline.spark.java import JavaRuntime
from signalbox.pipeline.spark.session import SessionSettings, spark_settings

JAVA = JavaRuntime(Path("/java"), 17, "system")


def test_workers_run_this_python_on_loopback_with_the_ui_off(tmp_path: Path) -> None:
    settings = spark_settings(SessionSettings(master="local[3]", scratch_directory=tmp_path), JAVA)
    assert settings["spark.pyspark.python"] == sys.executable
    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.ui.enabled"] == "false"
    assert settings["spark.sql.shuffle.partitions"] == "3"
    assert settings["spark.sql.adaptive.enabled"] == "false"
    assert settings["spark.local.dir"] == str(tmp_path)
    assert f"-Djava.io.tmpdir={tmp_path}" in settings["spark.driver.extraJavaOptions"]
    assert "spark.jars" not in settings


def test_jars_bring_delta_and_its_one_task_snapshot() -> None:
    settings = spark_settings(SessionSettings(jars=(Path("/a.jar"), Path("/b.jar"))), JAVA)
    assert settings["spark.jars"] == "/a.jar,/b.jar"
    assert settings["spark.databricks.delta.snapshotPartitions"] == "1"
    assert "delta" in settings["spark.sql.catalog.spark_catalog"]


def test_a_cluster_gets_our_package_as_a_zip() -> None:
    settings = spark_settings(SessionSettings(master="spark://127.0.0.1:7077"), JAVA)
    assert settings["spark.submit.pyFiles"].endswith(".zip")
    assert "spark.driver.bindAddress" not in settings


def test_the_callers_settings_win_and_quick_is_the_first_compiler_only() -> None:
    settings = spark_settings(SessionSettings(quick=True, extra={"spark.ui.enabled": "true"}), JAVA)
    assert settings["spark.ui.enabled"] == "true"
    assert "-XX:TieredStopAtLevel=1" in settings["spark.driver.extraJavaOptions"]


@pytest.mark.system
def test_an_ended_session_leaves_no_jvm_and_the_next_one_starts_afresh(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from pyspark import SparkContext
from signalbox.pipeline.spark.session import SessionSettings, build_session, end_session
for name in ("first", "second"):
    spark = build_session(
        SessionSettings(app_name=name, master="local[1]", quick=True, scratch_directory=Path(sys.argv[1]))
    )
    process = SparkContext._gateway.proc
    assert (spark.sparkContext.appName, spark.range(3).count()) == (name, 3)
    end_session(spark)
    assert process.poll() is not None
print("ended twice")
"""
    environment = {**os.environ, "PYTHONPATH": ""}
    command = [sys.executable, "-c", code, str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)
    assert answer.stdout == "ended twice\n", answer.stderr[-2000:]


@pytest.mark.parametrize("is_quiet", [True, False])
def test_a_command_that_the_end_of_the_jvm_cuts_off_is_not_logged(is_quiet: bool) -> None:
    """A JVM that ends while it executes a command: py4j's own traceback is seen without `no_log_of_py4j`."""
    code = """
import socket, struct, sys, threading
from py4j.java_gateway import GatewayClient, GatewayParameters
from py4j.protocol import ERROR
from signalbox.pipeline.spark.session import no_log_of_py4j
if sys.argv[1] == "True":
    no_log_of_py4j()

def jvm(listening):
    connection, _ = listening.accept()
    connection.recv(100)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()

with socket.create_server(("127.0.0.1", 0)) as listening:
    threading.Thread(target=jvm, args=[listening]).start()
    port = listening.getsockname()[1]
    assert GatewayClient(gateway_parameters=GatewayParameters(port=port)).send_command("command") == ERROR
"""
    answer = subprocess.run(
        [sys.executable, "-c", code, str(is_quiet)], capture_output=True, text=True, timeout=60, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert ("Traceback" in answer.stderr) is not is_quiet
