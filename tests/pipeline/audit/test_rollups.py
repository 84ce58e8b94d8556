"""Roll-ups are renewed from the new events; the states that are lost are made again."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import Mock

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from signalbox.pipeline.audit.rollup_state import RollupStates
from signalbox.pipeline.audit.rollup_table import ROLLUPS, STATES, rollup_path
from tests.pipeline.audit.rolled_events import EventTable, gaps

pytestmark = pytest.mark.spec("P2")


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> EventTable:
    return EventTable(spark, tmp_path)


def some_events(random: Random, count: int) -> list[dict[str, Any]]:
    kinds = ("rollup", "forwarded", "admin", "misrouted", "denied", "connection_open")
    return [
        {
            "seq": random.randrange(count),
            "broker_epoch": random.choice((7, 8)),
            "kind": random.choice(kinds),
            "client_id": random.choice("ab"),
            "connection_id": random.choice(("", "c1", "c2")),
            "error": random.choice(("", "NONE", "TIMED_OUT")),
            "duration_us": random.choice((-1, 5, 700)),
            "count": random.choice((1, 3)),
            "timestamp_ms": random.randrange(40_000),
        }
        for _ in range(count)
    ]


def test_rollups_of_parts_equal_those_of_the_whole(spark: SparkSession, tmp_path: Path) -> None:
    """Repeated and late events included."""
    random = Random(5)
    written = some_events(random, 120)
    in_parts = EventTable(spark, tmp_path / "parts")
    for first in range(0, len(written), 40):
        assert in_parts.added(*written[first : first + 40]) == 1, "only the new file is read"
    at_once = EventTable(spark, tmp_path / "once")
    at_once.added(*written)
    for name in ROLLUPS:
        assert in_parts.rows(name) == at_once.rows(name), name


def test_a_renewal_that_ended_early_is_repeated(table: EventTable, monkeypatch: pytest.MonkeyPatch) -> None:
    table.added({"seq": 0})
    with monkeypatch.context() as patched:
        patched.setattr(RollupStates, "commit", Mock(side_effect=OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            table.added({"seq": 1})
    assert table.added({"seq": 2}) == 2
    assert [(row["events"], row["requests"]) for row in table.rows("kinds")] == [(3, 3)]
    assert table.renew() == 0
    assert {path.name for path in table.states.iterdir()} == {f"{name}-3.parquet" for name in STATES} | {"rollups.json"}


def test_lost_states_and_tables_are_made_again(table: EventTable) -> None:
    table.added({"seq": 0})
    (table.states / "kinds-1.parquet").unlink()
    assert table.added({"seq": 1}) == 2
    shutil.rmtree(str(rollup_path(table.path, "kinds")))
    assert table.renew() == 0
    assert [row["events"] for row in table.rows("kinds")] == [2]


def test_maintenance_changes_nothing_and_removed_events_leave_the_rollups(table: EventTable) -> None:
    for seq in range(3):
        table.added({"seq": seq})
    table.append({"seq": 3})
    DeltaTable(str(table.path)).optimize.compact()
    assert table.renew() == 1
    assert [row["events"] for row in table.rows("kinds")] == [4]
    DeltaTable(str(table.path)).delete("seq = 1")
    table.renew()
    assert [row["events"] for row in table.rows("kinds")] == [3]
    assert gaps(table) == [(7, 1, 1)]
