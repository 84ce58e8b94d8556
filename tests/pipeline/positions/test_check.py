"""Repeats from whatever cause are found, in the table and between it and the rejected records."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.options import Profile, TablesOptions
from signalbox.pipeline.positions.backfill import run_backfill
from signalbox.pipeline.positions.backfill_log import add_backfills
from signalbox.pipeline.positions.check import check_table
from signalbox.pipeline.positions.coverage import Span
from signalbox.pipeline.positions.lost_records import note_gap
from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.pipeline.table_state import StateError, StateFolder, TableState
from signalbox.pipeline.tables.run import run_tables
from tests.pipeline.topics import Topics, json_values

pytestmark = pytest.mark.spec("P3")
POSITION = pa.schema([("partition", pa.int32()), ("offset", pa.int64())])


def begun(warehouse: Path, ends: dict[str, int]) -> StateFolder:
    """The state of a table that has read each partition of topic t from offset 10 to its end."""
    folder = StateFolder(warehouse, "t")
    folder.write(TableState(topic="t", topic_id="id", profile=Profile.PYPI, begin=dict.fromkeys(ends, 10)))
    offsets = folder.checkpoint / "offsets" / "0"
    offsets.parent.mkdir(parents=True)
    offsets.write_text("\n".join(["v1", "{}", json.dumps({"t": "id", **ends})]))
    return folder


def rows(warehouse: Path, name: str, *positions: tuple[int, int]) -> None:
    columns = dict(zip(POSITION.names, zip(*positions)))
    write_deltalake(str(warehouse / name), pa.table(columns, schema=POSITION), mode="append")


def test_a_table_with_each_record_once_has_no_finding(tmp_path: Path) -> None:
    folder = begun(tmp_path, {"t:0": 13, "t:1": 12})
    add_backfills(folder.path, [Span({"t:0": 2}, {"t:0": 4})])
    note_gap(folder.path, "checkpoint/0", {"t:1": (10, 11)})
    rows(tmp_path, "t", (0, 10), (0, 12), (1, 11), (0, 2), (0, 3))
    rows(tmp_path, "t_dead", (0, 11))
    check = check_table(tmp_path, "t")
    assert check.findings == []
    assert (check.rows, check.rejected, check.without_row, check.gap_offsets) == (5, 1, 1, 1)


def test_repeats_and_rows_from_elsewhere_are_found(tmp_path: Path) -> None:
    begun(tmp_path, {"t:0": 20, "t:1": 20})
    rows(tmp_path, "t", *((1, offset) for offset in range(10, 18)), (0, 10))
    rows(tmp_path, "t", *((1, offset) for offset in range(10, 17)), (0, 9), (0, 20), (2, 0))
    rows(tmp_path, "t_dead", (0, 10))
    check = check_table(tmp_path, "t")
    assert (check.repeated_count, check.outside, check.without_row) == (8, 3, 11)
    assert check.repeated[0] == {"partition": 0, "offset": 10, "rows": 2}
    assert check.findings == [
        "8 records are in it more than once: partition 0, offset 10; partition 1, offset 10; partition 1, offset 11; "
        "partition 1, offset 12; partition 1, offset 13 and more",
        "3 rows are at positions that no run of this table has read",
    ]


def test_what_is_no_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="there is no table t in"):
        check_table(tmp_path, "t")


@pytest.mark.spec("P7")
def test_the_table_of_runs_and_a_backfill_and_then_with_rows_inserted_again(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    topic = topics.create("checked", partitions=1)
    topics.fill(topic, [*json_values(0, 6), b"bad"])
    options = TablesOptions(
        bootstrap_servers=topics.bootstrap,
        warehouse=warehouse,
        topic=topic,
        schema="n INT",
        starting=f"{topic}:0:4",
    )
    run_tables(options, engine=engine, say=lambda _: None)
    run_backfill(TablesOptions(bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic), engine=engine)
    check = check_table(warehouse, topic)
    assert (check.findings, check.rows, check.rejected, check.without_row) == ([], 6, 1, 0)
    write_deltalake(str(warehouse / topic), read_table(warehouse / topic).slice(0, 2), mode="append")
    assert check_table(warehouse, topic).repeated_count == 2
