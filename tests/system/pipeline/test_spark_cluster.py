"""The same code on a Spark cluster that is started from the pip package; the Signalbox package is shipped as a zip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.testing.zookeeper import QUICK_JAVA
from tests.pipeline.topics import Topics, json_values
from tests.system.pipeline.drivers import Driver
from tests.system.pipeline.spark_cluster import spark_cluster

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
