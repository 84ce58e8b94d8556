"""Positions of the tombstones of deleted keys, beside a table that is not needed for it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from signalbox.pipeline.sinks.deleted_keys import DeletedKeys, deleted_keys_path
from signalbox.pipeline.sinks.delta_log import is_table, read_table

pytestmark = pytest.mark.spec("P8")


def rows(*records: tuple[bytes, bytes | None, int, int, int]) -> pa.Table:
    """Records: key, value, partition, offset, timestamp in microseconds."""
    names = ("key", "value", "partition", "offset", "timestamp")
    types = (pa.binary(), pa.binary(), pa.int32(), pa.int64(), pa.timestamp("us", "UTC"))
    columns = zip(*records, strict=True)
    return pa.table({name: pa.array(column, kind) for name, kind, column in zip(names, types, columns, strict=True)})


def applied(table: Path, *records: tuple[bytes, bytes | None, int, int, int]) -> list[bytes]:
    kept: list[bytes] = DeletedKeys(table).apply(rows(*records)).column("key").to_pylist()
    return kept


def noted(table: Path) -> dict[bytes, int]:
    return {row["key"]: row["offset"] for row in read_table(deleted_keys_path(table)).to_pylist()}


def test_a_table_without_a_deletion_has_no_file(tmp_path: Path) -> None:
    assert applied(tmp_path / "t", (b"a", b"v", 0, 1, 1)) == [b"a"]
    assert not is_table(deleted_keys_path(tmp_path / "t"))


def test_records_older_than_the_deletion_are_left_out(tmp_path: Path) -> None:
    table = tmp_path / "t"
    assert applied(table, (b"a", None, 1, 5, 50), (b"b", b"v", 1, 6, 60)) == [b"a", b"b"]
    assert noted(table) == {b"a": 5}
    assert applied(table, (b"a", b"v", 0, 9, 49), (b"c", b"v", 0, 1, 1)) == [b"c"]
    assert applied(table, (b"a", None, 0, 10, 48)) == []
    assert noted(table) == {b"a": 5}


def test_a_repeated_batch_keeps_its_own_deletions(tmp_path: Path) -> None:
    table = tmp_path / "t"
    batch = ((b"a", None, 1, 5, 50), (b"b", None, 1, 6, 60))
    assert applied(table, *batch) == applied(table, *batch) == [b"a", b"b"]
    assert noted(table) == {b"a": 5, b"b": 6}


def test_a_key_with_a_newer_row_is_forgotten_and_can_be_deleted_again(tmp_path: Path) -> None:
    table = tmp_path / "t"
    applied(table, (b"a", None, 0, 5, 50), (b"b", None, 0, 6, 50))
    assert applied(table, (b"a", b"v", 0, 7, 1), (b"b", None, 0, 8, 60)) == [b"a", b"b"]
    assert noted(table) == {b"b": 8}
    applied(table, (b"a", None, 0, 9, 1))
    assert noted(table) == {b"a": 9, b"b": 8}
