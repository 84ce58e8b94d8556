"""A table with a watermark across SIGKILL of the driver: its rows are those of a model in plain Python."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.checkpoint_files import batch_end, committed_batches
from signalbox.pipeline.sinks.delta_log import read_table
from tests.pipeline.topics import Topics
from tests.system.pipeline.drivers import Driver

RECORDS = 12_000
PER_BATCH = 2_000
DELAY_SECONDS = 300
_numbers = random.Random(12)
# A record per second, a quarter of them up to half an hour older; an id comes twice about every fourth time.
SECONDS = [at - _numbers.choice([0, 0, 0, _numbers.randrange(1_800)]) for at in range(RECORDS)]
IDS = [_numbers.choice([number, number, number, max(0, number - _numbers.randrange(900))]) for number in range(RECORDS)]


@pytest.fixture(scope="module")
def topic(topics: Topics) -> str:
    name = topics.create("killed-watermark", partitions=1)
    times = (datetime.fromtimestamp(seconds, UTC).isoformat() for seconds in SECONDS)
    topics.fill(name, [json.dumps({"id": n, "at": at}).encode() for n, at in zip(IDS, times)])
    return name


def model(batch_ends: list[int]) -> tuple[list[int], list[int]]:
    """The offsets of the rows and of the late records."""
    rows: list[int] = []
    late: list[int] = []
    greatest: float = float("-inf")
    start = 0
    for end in batch_ends:
        watermark = greatest - DELAY_SECONDS
        seen = {IDS[offset] for offset in rows if SECONDS[offset] >= watermark - DELAY_SECONDS}
        for offset in range(start, end):
            if SECONDS[offset] < watermark:
                late.append(offset)
                continue
            if IDS[offset] not in seen:
                rows.append(offset)
            seen.add(IDS[offset])
            greatest = max(greatest, SECONDS[offset])
        start = end
    return rows, late


@pytest.mark.spec("P3", "P8")
@pytest.mark.timeout(500)
@pytest.mark.parametrize(("profile", "commit"), [("jars", "spark"), ("pypi", "rs")])
def test_a_repeated_batch_has_the_same_watermark_and_drops_the_same_rows(
    topics: Topics, topic: str, tmp_path: Path, profile: str, commit: str
) -> None:
    warehouse = tmp_path / "warehouse"
    options: dict[str, Any] = {
        "bootstrap_servers": topics.bootstrap,
        "warehouse": str(warehouse),
        "topic": topic,
        "name": "rows",
        "schema": "id INT NOT NULL, at TIMESTAMP",
        "watermark": f"at={DELAY_SECONDS}s",
        "deduplicate": ["id"],
        "profile": profile,
        "commit": commit,
        "master": "local[2]",
        "memory": "512m",
        "quick": True,
        "max_records_per_batch": PER_BATCH,
    }
    for number, kill_at in enumerate(
        (
            # The watermark is stored, nothing of the batch is committed.
            {"step": "batch_read", "batch_id": 1},
            # The late records are committed, the rows are not.
            {"step": "table_committed", "table": "rows_dead", "batch_id": 2},
            # Both are committed, Spark's own commit is not there.
            {"step": "table_committed", "table": "rows", "batch_id": 3},
        )
    ):
        driver = Driver(tmp_path / f"{number}.log", options, kill_at)
        assert driver.wait() == -9, driver.output()[-3000:]
    driver = Driver(tmp_path / "last.log", options)
    result = driver.result()
    assert "batch 3  rows holds it already" in driver.output()

    checkpoint = warehouse / ".signalbox" / "rows" / "checkpoint"
    ends = [batch_end(checkpoint, batch)[f"{topic}:0"] for batch in committed_batches(checkpoint)]
    rows, late = model(ends)
    assert (ends[-1], len(ends)) == (RECORDS, RECORDS // PER_BATCH)
    assert sorted(read_table(warehouse / "rows", ["offset"]).column("offset").to_pylist()) == rows
    assert sorted(read_table(warehouse / "rows_dead", ["offset"]).column("offset").to_pylist()) == late
    assert len(rows) > RECORDS / 2
    assert len(late) > 100
    assert RECORDS - len(rows) - len(late) > 100
    assert result["table_rows"] == len(rows)
    assert result["dead_table_rows"] == len(late)
