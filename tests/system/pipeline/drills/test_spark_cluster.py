"""The same code on a Spark cluster that is started from the pip package; the Signalbox package is shipped as a zip."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.pipeline.spark.jars import fetch_jars
from signalbox.pipeline.spark.java import cache_directory, find_java
from signalbox.testing.zookeeper import QUICK_JAVA
from tests.pipeline.topics import Topics, json_values
from tests.system.pipeline.drivers import Driver
from tests.system.pipeline.spark_cluster import spark_cluster

PROGRAM = Path(__file__).parents[4] / "deploy" / "spark" / "pipeline.py"
RECORDS = 10_000
REPEATED = 500


@pytest.fixture(scope="module")
def cluster_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def master(cluster_directory: Path) -> Iterator[str]:
    with spark_cluster(cluster_directory) as address:
        yield address


@pytest.mark.spec("P8", "P11")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("profile", ["jars", "pypi"])
def test_a_cluster_makes_the_same_table(
    topics: Topics, tmp_path: Path, master: str, cluster_directory: Path, profile: str
) -> None:
    topic = topics.create("cluster", partitions=3)
    topics.fill(topic, [*json_values(0, RECORDS), b"bad"])
    topics.fill(topic, json_values(0, REPEATED))
    options: dict[str, Any] = {
        "bootstrap_servers": topics.bootstrap,
        "warehouse": str(tmp_path / "warehouse"),
        "topic": topic,
        "schema": "n BIGINT NOT NULL, text STRING",
        "watermark": "timestamp=1d",
        "deduplicate": ["n"],
        "max_records_per_batch": 4_000,
        "profile": profile,
        "master": master,
        "memory": "512m",
        "quick": True,
        "spark_options": {
            "spark.executor.memory": "512m",
            "spark.executor.cores": "2",
            "spark.executor.extraJavaOptions": " ".join(QUICK_JAVA),
        },
    }
    driver = Driver(tmp_path / "driver.log", options)
    result = driver.result()
    assert f"on {master}, profile {profile}" in driver.output()
    assert (result["profile"], result["rows"], result["dead_rows"]) == (profile, RECORDS, 1)
    assert (result["late_rows"], result["duplicate_rows"]) == (0, REPEATED)
    assert sorted(read_table(Path(result["table"]), ["n"]).column("n").to_pylist()) == list(range(RECORDS))
    assert list(cluster_directory.glob("work/app-*/*/signalbox-*.zip")), "our package was not shipped to the executors"


def submit(master: str, options: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """spark-submit of the deployment's program. It prints both outputs of the program on its standard output."""
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_HOME": str(find_java(cache_directory()).home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    java = " ".join(QUICK_JAVA)
    sizes = ["--driver-memory", "512m", "--executor-memory", "512m", "--driver-java-options", java]
    command = [str(home / "bin" / "spark-submit"), "--master", master, *sizes, *options, str(PROGRAM), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250, check=False)


@pytest.mark.spec("P9")
@pytest.mark.timeout(600)
def test_spark_submit_runs_it(topics: Topics, tmp_path: Path, master: str) -> None:
    topic = topics.create("submitted", partitions=2)
    topics.fill(topic, json_values(0, 100))
    table = ["tables", topic, "-b", topics.bootstrap, "--warehouse", str(tmp_path), "--schema", "n BIGINT", "--json"]

    wrong = submit(master, [], *table, "--profile", "jars", "--master", "local[1]")
    assert wrong.returncode == 2
    assert "--master has no effect under spark-submit" in wrong.stdout
    assert "add --jars " in wrong.stdout
    assert not (tmp_path / topic).exists()

    jars = ",".join(str(jar) for jar in fetch_jars())
    done = submit(master, ["--jars", jars], *table, "--profile", "jars")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert json.loads(done.stdout.strip().splitlines()[-1])["rows"] == 100
    assert f"on {master}, profile jars" in done.stdout

    topics.fill(topic, json_values(100, 150))
    without_jars = submit(master, [], *table, "--profile", "pypi", "--name", "python")
    assert without_jars.returncode == 0, without_jars.stdout[-3000:]
    assert json.loads(without_jars.stdout.strip().splitlines()[-1])["rows"] == 150
