"""A table that the pipeline wrote is read by other programs: the same rows in each.

The table has partitions, a column that was added later, files that upserts replaced, and was compacted. DuckDB reads
through Arrow, and the files themselves by the list in Delta's log: its own reader of Delta is not in its package.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.formats.format_options import FormatOptions
from signalbox.pipeline.options import Profile, TablesOptions
from signalbox.pipeline.profile import ProfileChoice
from signalbox.pipeline.sinks.maintain import maintain_table
from signalbox.pipeline.tables.run import run_tables
from tests.pipeline.topics import Topics

COLUMNS = ("key", "value", "partition", "offset", "timestamp", "id", "gate", "delay")
Rows = list[tuple[Any, ...]]
NARROW = 'syntax = "proto3"; message Flight { int32 id = 1; string gate = 2; }'
WIDE = 'syntax = "proto3"; message Flight { int64 id = 1; string gate = 2; double delay = 3; }'


def with_deltalake(path: Path) -> Rows:
    table = DeltaTable(str(path)).to_pyarrow_table(columns=list(COLUMNS))
    return [tuple(row[name] for name in COLUMNS) for row in table.to_pylist()]


def with_pandas(path: Path) -> Rows:
    frame = DeltaTable(str(path)).to_pandas(columns=list(COLUMNS))
    frame = frame.astype(object).where(frame.notna(), None)
    return [tuple(row) for row in frame.itertuples(index=False)]


def with_polars(path: Path) -> Rows:
    polars = pytest.importorskip("polars")
    frame = polars.read_delta(str(path)).select(COLUMNS)
    return [tuple(row) for row in frame.rows()]


def with_duckdb(path: Path) -> Rows:
    connection = pytest.importorskip("duckdb").connect()
    connection.register("flights", DeltaTable(str(path)).to_pyarrow_dataset())
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    return [tuple(row) for row in connection.execute(f"SELECT {names} FROM flights").fetchall()]


def with_duckdb_parquet(path: Path) -> Rows:
    """The partition's column is in no file: the log has its value for each."""
    connection = pytest.importorskip("duckdb").connect()
    rows: Rows = []
    names = ", ".join(f'"{name}"' for name in COLUMNS if name != "gate")
    for gate in ("A", "B", "C"):
        files = DeltaTable(str(path)).file_uris(file_pruning_predicate=[("gate", "=", gate)])
        query = f"SELECT {names} FROM read_parquet(?, union_by_name = true, hive_partitioning = false)"
        for row in connection.execute(query, [files]).fetchall() if files else ():
            rows.append((*row[:6], gate, *row[6:]))
    return rows


READERS: tuple[Callable[[Path], Rows], ...] = (
    with_pandas,
    with_polars,
    with_duckdb,
    with_duckdb_parquet,
)


def flight(number: int, gate: bytes, delay: bytes = b"") -> bytes:
    return b"\x08" + bytes([number]) + b"\x12\x01" + gate + (b"\x19" + delay if delay else b"")


@pytest.fixture(scope="module", params=list(Profile))
def table(
    request: pytest.FixtureRequest, spark: SparkSession, topics: Topics, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The table, written in each profile."""
    engine = Engine(spark, ProfileChoice(request.param, (), "as the test asks"))
    warehouse = tmp_path_factory.mktemp("warehouse")
    topic = topics.create("read", partitions=1)
    schema = warehouse / "flight.proto"
    formats = FormatOptions(value_format="protobuf", value_schema=schema)

    def write(partition_by: tuple[str, ...] = ()) -> None:
        options = TablesOptions(
            bootstrap_servers=topics.bootstrap,
            warehouse=warehouse,
            topic=topic,
            upsert=True,
            formats=formats,
            partition_by=partition_by,
        )
        run_tables(options, engine=engine, say=lambda _: None)

    schema.write_text(NARROW)
    topics.fill_records(topic, [(b"k%d" % n, flight(n, b"AB"[n % 2 :][:1]), None) for n in range(1, 7)])
    write(partition_by=("gate",))
    schema.write_text(WIDE)
    half = b"\0\0\0\0\0\0\xe0\x3f"
    topics.fill_records(topic, [(b"k1", flight(1, b"C", half), None), (b"k2", None, None)])
    write()
    maintain_table(warehouse, topic, say=lambda _: None)
    return warehouse / topic


def by_offset(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: row[3])


@pytest.mark.spec("P8", "P10")
def test_the_table_has_the_newest_rows_and_the_new_column(table: Path) -> None:
    rows = by_offset(with_deltalake(table))
    assert [(row[0], row[3], *row[5:]) for row in rows] == [
        (b"k3", 2, 3, "B", None),
        (b"k4", 3, 4, "A", None),
        (b"k5", 4, 5, "B", None),
        (b"k6", 5, 6, "A", None),
        (b"k1", 6, 1, "C", 0.5),
    ]


@pytest.mark.spec("P8", "P10")
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_finds_the_same_rows(table: Path, reader: Callable[[Path], Rows]) -> None:
    assert by_offset(reader(table)) == by_offset(with_deltalake(table))
