"""Tables in an S3 store by processes of their own: exactly once across SIGKILL, on a Spark cluster, and what a user
sees of a store that fails."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.checkpoint_files import committed_batches, planned_batches
from signalbox.pipeline.object_store.location import S3Location
from signalbox.testing.zookeeper import QUICK_JAVA
from tests.pipeline.object_store.flaky_store import flaky_store
from tests.pipeline.object_store.store_server import BUCKET, SECRET_KEY, StoreServer, compiled_server
from tests.pipeline.topics import Topics, json_values
from tests.system.pipeline.drivers import Driver
from tests.system.pipeline.spark_cluster import spark_cluster
from tests.waiting import until

pytestmark = [pytest.mark.spec("P3", "P10"), pytest.mark.timeout(600)]
NEEDS = (compiled_server,)
RECORDS, BAD_EVERY, PER_BATCH = 6_000, 1_000, 1_000


def options_of(topics: Topics, topic: str, state: Path, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": topics.bootstrap,
        "warehouse": f"s3://{BUCKET}/{topic}",
        "checkpoint_location": str(state),
        "topic": topic,
        "name": "rows",
        "schema": "n BIGINT NOT NULL, text STRING",
        "master": "local[2]",
        "memory": "512m",
        "quick": True,
        "max_records_per_batch": PER_BATCH,
        **more,
    }


def column(store: StoreServer, topic: str, table: str, name: str) -> list[Any]:
    values: list[Any] = (
        store.table(S3Location(BUCKET, topic) / table).to_pyarrow_table(columns=[name]).column(name).to_pylist()
    )
    return sorted(values)


@pytest.fixture
def environment(store: StoreServer) -> dict[str, str]:
    return {**os.environ, **store.environment}


def filled(topics: Topics) -> str:
    topic = topics.create("stored", partitions=3)
    values = json_values(0, RECORDS)
    values[::BAD_EVERY] = [b"bad %d" % number for number in range(0, RECORDS, BAD_EVERY)]
    topics.fill(topic, values)
    return topic


@pytest.mark.parametrize("profile", ["jars", "pypi"])
def test_nothing_is_lost_or_repeated_whenever_the_driver_is_killed(
    topics: Topics, store: StoreServer, environment: dict[str, str], tmp_path: Path, profile: str
) -> None:
    topic = filled(topics)
    options = options_of(topics, topic, tmp_path / "state", profile=profile)
    checkpoint = tmp_path / "state" / ".signalbox" / "rows" / "checkpoint"

    # Between the table's commit and Spark's own.
    killed = Driver(
        tmp_path / "1.log", options, {"step": "table_committed", "table": "rows", "batch_id": 1}, environment
    )
    assert killed.wait(300) == -9, killed.output()[-3000:]
    assert (planned_batches(checkpoint)[-1], committed_batches(checkpoint)[-1]) == (1, 0)

    # While a batch is read or its files are written.
    killed = Driver(tmp_path / "2.log", options, None, environment)
    until(lambda: planned_batches(checkpoint)[-1] >= 3, "a later batch begins", 300)
    killed.kill()
    assert "batch 1  rows holds it already" in killed.output(), killed.output()[-3000:]

    driver = Driver(tmp_path / "3.log", options, None, environment)
    driver.wait(300)
    assert driver.result()["profile"] == profile
    assert column(store, topic, "rows", "n") == [number for number in range(RECORDS) if number % BAD_EVERY]
    assert column(store, topic, "rows_dead", "value") == sorted(b"bad %d" % n for n in range(0, RECORDS, BAD_EVERY))
    assert SECRET_KEY not in "".join((tmp_path / f"{number}.log").read_text() for number in (1, 2, 3))


def test_the_executors_of_a_cluster_write_the_files(
    topics: Topics, store: StoreServer, environment: dict[str, str], tmp_path: Path
) -> None:
    """They do not have the driver's environment."""
    topic = filled(topics)
    executors = {
        "spark.executor.memory": "512m",
        "spark.executor.cores": "2",
        "spark.executor.extraJavaOptions": " ".join(QUICK_JAVA),
    }
    with spark_cluster(tmp_path / "cluster") as master:
        options = options_of(topics, topic, tmp_path / "state", profile="pypi", master=master, spark_options=executors)
        driver = Driver(tmp_path / "driver.log", options, None, environment)
        driver.wait(300)
        assert driver.result()["rows"] == RECORDS - RECORDS // BAD_EVERY
    assert column(store, topic, "rows", "n") == [number for number in range(RECORDS) if number % BAD_EVERY]


def test_a_store_that_stays_overloaded_ends_the_run_and_the_next_one_goes_on(
    topics: Topics, store: StoreServer, environment: dict[str, str], tmp_path: Path
) -> None:
    topic = filled(topics)
    options = options_of(topics, topic, tmp_path / "state", profile="pypi")
    killed = Driver(tmp_path / "1.log", options, {"step": "batch_done", "batch_id": 1}, environment)
    assert killed.wait(300) == -9, killed.output()[-3000:]
    with flaky_store(store.port) as proxy:
        proxy.set(failing_puts=True)
        through = {**environment, "AWS_ENDPOINT_URL": proxy.address, "AWS_MAX_ATTEMPTS": "3"}
        failed = Driver(tmp_path / "2.log", options, None, through)
        assert failed.wait(300) == 1
        assert f"PipelineError: s3://{BUCKET}/{topic}/rows" in failed.output(), failed.output()[-3000:]
        assert "the store answers with errors" in failed.output()
        proxy.set()
        driver = Driver(tmp_path / "3.log", options, None, through)
        driver.wait(300)
        assert driver.result()["table_rows"] == RECORDS - RECORDS // BAD_EVERY
    assert column(store, topic, "rows", "n") == [number for number in range(RECORDS) if number % BAD_EVERY]
