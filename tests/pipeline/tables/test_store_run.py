"""A table in an S3 store through its life, in both profiles: appended, backfilled, replayed, maintained, read back."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from signalbox.pipeline import commands
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.positions.backfill import run_backfill
from signalbox.pipeline.rejected.replay import replay_rejected
from signalbox.pipeline.sinks.delta_log import count_rows, read_table
from signalbox.pipeline.table_state import StateError, StateFolder
from signalbox.pipeline.tables.run import run_tables
from tests.pipeline.object_store.store_server import StoreServer, compiled_server
from tests.pipeline.topics import Topics, json_values

NEEDS = (compiled_server,)
pytestmark = pytest.mark.spec("P8", "P10")


def quiet(_: str) -> None:
    """Discards the progress lines."""


def numbers(table: S3Location) -> list[Any]:
    return sorted(read_table(table, ["n"]).column("n").to_pylist())


def test_a_table_lives_in_a_store(
    engine: Engine, topics: Topics, store_warehouse: S3Location, store: StoreServer, tmp_path: Path
) -> None:
    topic = topics.create("stored", partitions=1)
    topics.fill(topic, [*json_values(0, 10), b"bad"])
    options = TablesOptions(
        bootstrap_servers=topics.bootstrap,
        warehouse=store_warehouse,
        checkpoint_location=tmp_path / "state",
        topic=topic,
        schema="n BIGINT, text STRING",
        partition_by=("text",),
    )
    table, dead = store_warehouse / topic, store_warehouse / f"{topic}_dead"
    result = run_tables(replace(options, starting=f"{topic}:0:4"), engine=engine, say=quiet)
    assert (result.rows, result.dead_rows, result.table) == (6, 1, table)
    assert result.as_json()["table"] == str(table)
    assert run_tables(options, engine=engine, say=quiet).rows == 0
    assert run_backfill(options, engine=engine, say=quiet).rows == 4
    assert numbers(table) == list(range(10))

    assert [row["reason"] for row in commands.list_rejected(store_warehouse, topic)] == ["not_json"]
    [shown] = commands.show_rejected(store_warehouse, topic, 9, None, None)
    mended = tmp_path / "mended.jsonl"
    mended.write_text(json.dumps({**shown, "value": {"text": '{"n": 10, "text": "row 10"}'}}))
    assert replay_rejected(options, mended, engine=engine, say=quiet).replayed == 1
    assert (numbers(table), count_rows(dead)) == (list(range(11)), 0)

    _age(store.folder / table.bucket / table.key)
    before = len(DeltaTable(str(table), storage_options=store.storage_options()).file_uris())
    orphan = store.folder / table.bucket / table.key / "batches" / "orphan.parquet"
    orphan.write_bytes(b"of a killed batch")
    _age(orphan.parent)
    [maintained, _] = commands.maintain_table(store_warehouse, topic, 128, 1, quiet)
    assert (maintained.files_before, orphan.exists()) == (before, False)
    assert numbers(table) == list(range(11))
    assert run_tables(options, engine=engine, say=quiet).table_rows == 11


def _age(folder: Path) -> None:
    """Makes the objects older than any retention."""
    for file in folder.rglob("*.parquet"):
        os.utime(file, (1_700_000_000, 1_700_000_000))


def test_a_second_pipeline_with_a_state_of_its_own_is_rejected(
    engine: Engine, topics: Topics, store_warehouse: S3Location, tmp_path: Path
) -> None:
    topic = topics.create("owned", partitions=1)
    topics.fill(topic, json_values(0, 3))
    options = TablesOptions(
        bootstrap_servers=topics.bootstrap,
        warehouse=store_warehouse,
        checkpoint_location=tmp_path / "first",
        topic=topic,
    )
    run_tables(options, engine=engine, say=quiet)
    with pytest.raises(StateError, match="was begun with another checkpoint location than"):
        run_tables(replace(options, checkpoint_location=tmp_path / "second"), engine=engine, say=quiet)
    assert StateFolder(tmp_path / "second", topic).read() is None
    assert run_tables(options, engine=engine, say=quiet).table_rows == 3


def test_repeated_rows_of_the_store_are_dropped(
    engine: Engine, topics: Topics, store_warehouse: S3Location, tmp_path: Path
) -> None:
    topic = topics.create("unique", partitions=1)
    options = TablesOptions(
        bootstrap_servers=topics.bootstrap,
        warehouse=store_warehouse,
        checkpoint_location=tmp_path / "state",
        topic=topic,
        schema="n BIGINT, text STRING",
        partition_by=("text",),
        watermark="timestamp=1d",
        deduplicate=("n", "text"),
    )
    topics.fill(topic, json_values(0, 4))
    assert run_tables(options, engine=engine, say=quiet).rows == 4
    topics.fill(topic, [*json_values(2, 6), b'{"n": 3}', b'{"n": 3, "text": ""}'])
    again = run_tables(options, engine=engine, say=quiet)
    assert (again.rows, again.duplicate_rows) == (3, 3)
    assert numbers(store_warehouse / topic) == [0, 1, 2, 3, 3, 4, 5]


def test_a_checkpoint_location_serves_folders_too(
    engine: Engine, topics: Topics, warehouse: Path, tmp_path: Path
) -> None:
    topic = topics.create("apart", partitions=1)
    topics.fill(topic, json_values(0, 3))
    options = TablesOptions(
        bootstrap_servers=topics.bootstrap, warehouse=warehouse, checkpoint_location=tmp_path / "state", topic=topic
    )
    assert run_tables(options, engine=engine, say=quiet).rows == 3
    assert run_tables(options, engine=engine, say=quiet).rows == 0
    assert not (warehouse / ".signalbox").exists()
    for other in (None, tmp_path / "second"):
        with pytest.raises(StateError, match="was begun with another checkpoint location than"):
            run_tables(replace(options, checkpoint_location=other), engine=engine, say=quiet)
    shutil.move(tmp_path / "state", tmp_path / "moved")
    assert run_tables(replace(options, checkpoint_location=tmp_path / "moved"), engine=engine, say=quiet).rows == 0
