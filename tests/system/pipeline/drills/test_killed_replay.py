"""A replay of rejected records is killed between its two commits: each record becomes a row exactly once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from signalbox.pipeline.options import Profile
from signalbox.pipeline.rejected.listing import dead_path
from signalbox.pipeline.sinks.delta_log import count_rows, read_table
from signalbox.pipeline.table_state import StateFolder, TableState
from signalbox.pipeline.topic_client import RECORD_SCHEMA
from tests.system.pipeline.drivers import Driver

RECORDS = 1_000


def rejected_records(warehouse: Path) -> None:
    """A table that was begun and has only rejected records."""
    state = TableState(topic="t", topic_id="id", profile=Profile.PYPI, begin={"t:0": 0}, schema="n INT")
    StateFolder(warehouse, "t").write(state)
    row = {"key": None, "value": b"bad", "topic": "t", "partition": 0, "timestamp": datetime(2026, 1, 1, tzinfo=UTC)}
    rows = [{**row, "offset": offset, "headers": None, "reason": "not_json"} for offset in range(RECORDS)]
    schema = RECORD_SCHEMA.append(pa.field("reason", pa.string()))
    write_deltalake(str(dead_path(warehouse, "t")), pa.Table.from_pylist(rows, schema=schema))


@pytest.mark.spec("P3", "P6")
@pytest.mark.timeout(400)
def test_a_killed_replay_is_completed_by_the_next_one(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    rejected_records(warehouse)
    mended = tmp_path / "mended.jsonl"
    lines = [{"topic": "t", "partition": 0, "offset": n, "value": {"text": f'{{"n":{n}}}'}} for n in range(RECORDS - 1)]
    mended.write_text("\n".join(json.dumps(line) for line in lines))
    options = {
        "bootstrap_servers": "127.0.0.1:1",
        "warehouse": str(warehouse),
        "topic": "t",
        "profile": "pypi",
        "master": "local[2]",
        "memory": "512m",
        "quick": True,
    }
    kill_at = {"step": "table_committed", "table": "t"}
    assert Driver(tmp_path / "1.log", options, kill_at, instead={"replay": str(mended)}).wait() == -9, (
        tmp_path / "1.log"
    ).read_text()
    assert (count_rows(warehouse / "t"), count_rows(dead_path(warehouse, "t"))) == (RECORDS - 1, RECORDS)

    nothing = tmp_path / "nothing.jsonl"
    nothing.write_text("")
    result = Driver(tmp_path / "2.log", options, instead={"replay": str(nothing)}).result()
    assert result == {"replayed": 0, "rejected": 1, "completed": RECORDS - 1, "duplicates": 0}
    assert sorted(read_table(warehouse / "t", ["n"]).column("n").to_pylist()) == list(range(RECORDS - 1))
    assert read_table(dead_path(warehouse, "t"), ["offset"]).column("offset").to_pylist() == [RECORDS - 1]
