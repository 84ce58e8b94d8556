"""Exactly once across SIGKILL of the driver: real kills, at the worst moments and at random ones, in both profiles."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.checkpoint_files import committed_batches, planned_batches
from signalbox.pipeline.sinks.delta_log import count_rows, read_table
from tests.pipeline.topics import Topics, json_values
from tests.system.pipeline.drivers import Driver

RECORDS = 20_000
BAD_EVERY = 1_000
PER_BATCH = 3_000


@pytest.fixture(scope="module")
def topic(topics: Topics) -> str:
    name = topics.create("killed", partitions=3)
    values = json_values(0, RECORDS)
    values[::BAD_EVERY] = [b"bad %d" % number for number in range(0, RECORDS, BAD_EVERY)]
    topics.fill(name, values, **{"compression.type": "lz4"})
    return name


@contextmanager
def started(log: Path, options: dict[str, Any], kill_at: dict[str, Any] | None = None) -> Iterator[Driver]:
    driver = Driver(log, options, kill_at)
    try:
        yield driver
    finally:
        if driver.process.poll() is None:
            driver.kill()


def killed_at(log: Path, options: dict[str, Any], **where: Any) -> None:
    """A run that is killed at a step of a batch."""
    with started(log, options, where) as driver:
        assert driver.wait() == -9, driver.output()[-3000:]
        assert driver.output().rstrip().endswith("KILLED")


@pytest.mark.spec("P3", "P6")
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("profile", "commit"), [("jars", "spark"), ("pypi", "rs")])
def test_nothing_is_lost_or_repeated_whenever_the_driver_is_killed(
    topics: Topics, topic: str, tmp_path: Path, profile: str, commit: str
) -> None:
    warehouse = tmp_path / "warehouse"
    options = {
        "bootstrap_servers": topics.bootstrap,
        "warehouse": str(warehouse),
        "topic": topic,
        "name": "rows",
        "schema": "n BIGINT NOT NULL, text STRING",
        "profile": profile,
        "commit": commit,
        "master": "local[2]",
        "memory": "512m",
        "quick": True,
        "max_records_per_batch": PER_BATCH,
    }
    checkpoint = warehouse / ".signalbox" / "rows" / "checkpoint"

    # Between the table's commit and Spark's own: the batch must not be repeated.
    killed_at(tmp_path / "1.log", options, step="table_committed", table="rows", batch_id=1)
    assert (planned_batches(checkpoint)[-1], committed_batches(checkpoint)[-1]) == (1, 0)
    in_table = count_rows(warehouse / "rows")

    # Between the dead records' commit and the good rows' commit: only the good rows must be written again.
    killed_at(tmp_path / "2.log", options, step="table_committed", table="rows_dead", batch_id=3)
    assert "batch 1  rows holds it already" in (tmp_path / "2.log").read_text()
    assert count_rows(warehouse / "rows") > in_table
    assert committed_batches(checkpoint)[-1] == 2

    # At any moment, from outside: while a batch is being read or written.
    with started(tmp_path / "3.log", options) as driver:
        deadline = time.monotonic() + 120
        while len(planned_batches(checkpoint)) < 6 and driver.process.poll() is None:
            assert time.monotonic() < deadline, driver.output()[-3000:]
            time.sleep(0.005)
        driver.kill()
    assert "batch 3  rows_dead holds it already" in driver.output(), driver.output()[-3000:]

    with started(tmp_path / "4.log", options) as driver:
        result = driver.result()
    assert result["profile"] == profile
    rows = read_table(warehouse / "rows", ["n", "partition", "offset"])
    dead = read_table(warehouse / "rows_dead").to_pylist()
    wanted = [number for number in range(RECORDS) if number % BAD_EVERY]
    assert sorted(rows.column("n").to_pylist()) == wanted
    assert sorted(row["value"] for row in dead) == sorted(b"bad %d" % n for n in range(0, RECORDS, BAD_EVERY))
    assert {row["reason"] for row in dead} == {"not_json"}
    where = set(zip(rows.column("partition").to_pylist(), rows.column("offset").to_pylist()))
    where |= {(row["partition"], row["offset"]) for row in dead}
    assert len(where) == RECORDS
