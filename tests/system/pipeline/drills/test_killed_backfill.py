"""A backfill is killed between the commit of the table and that of its batch: the next one has no double and no gap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.options import Profile
from signalbox.pipeline.positions.backfill_log import read_backfills
from signalbox.pipeline.sinks.delta_log import count_rows, read_table
from signalbox.pipeline.table_state import StateFolder, TableState
from signalbox.pipeline.topic_client import TopicClient
from tests.pipeline.topics import Topics, json_values
from tests.system.pipeline.drivers import Driver

RECORDS, BEGIN, PER_BATCH = 1_000, 800, 200


def begun(warehouse: Path, topics: Topics, topic: str) -> None:
    """A table that was begun at offset BEGIN, as its first run leaves it."""
    topic_ids, _ = TopicClient(topics.bootstrap, {}, "test").partitions([topic])
    begin = {f"{topic}:0": BEGIN}
    state = TableState(topic=topic, topic_id=topic_ids[topic], profile=Profile.PYPI, begin=begin, schema="n INT")
    StateFolder(warehouse, topic).write(state)


@pytest.mark.spec("P7")
@pytest.mark.timeout(400)
def test_a_killed_backfill_is_completed_by_the_next_one(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create("killed-backfill", partitions=1)
    topics.fill(topic, json_values(0, RECORDS))
    warehouse = tmp_path / "warehouse"
    begun(warehouse, topics, topic)
    options: dict[str, Any] = {
        "bootstrap_servers": topics.bootstrap,
        "warehouse": str(warehouse),
        "topic": topic,
        "profile": "pypi",
        "master": "local[2]",
        "memory": "512m",
        "quick": True,
        "max_records_per_batch": PER_BATCH,
    }
    kill_at = {"step": "table_committed", "table": topic, "batch_id": 1}
    killed = Driver(tmp_path / "1.log", options, kill_at, instead={"backfill": True})
    assert killed.wait() == -9, killed.output()[-3000:]
    assert count_rows(warehouse / topic) == 2 * PER_BATCH
    assert [each.done for each in read_backfills(StateFolder(warehouse, topic).path)] == [False]

    result = Driver(tmp_path / "2.log", options, instead={"backfill": True}).result()
    assert (result["complete"], result["rows"]) == (True, BEGIN - 2 * PER_BATCH)
    rows = read_table(warehouse / topic, ["offset", "n"]).to_pylist()
    assert sorted((row["offset"], row["n"]) for row in rows) == [(n, n) for n in range(BEGIN)]
