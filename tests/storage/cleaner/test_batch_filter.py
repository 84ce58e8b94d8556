"""Batches without the removed records, compared with a decoder of whole batches."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from signalbox.protocol.records.batch_header import (
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    check_crc,
    read_batch_header,
    write_batch_header,
)
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch
from signalbox.storage.cleaner.batch_filter import REMOVED, BatchFilter, Cleaned
from signalbox.storage.cleaner.batch_retention import DELETE_HORIZON_BIT, RetentionRules
from signalbox.storage.cleaner.cleaned_transactions import CleanedTransactions
from signalbox.storage.cleaner.offset_map import OffsetMap

pytestmark = pytest.mark.spec("D6")

NOW_MS = 10_000
LONG = b"long" * 20


def batch(*rows: tuple[bytes | None, bytes | None], codec: str = "none", **fields: Any) -> bytes:
    records = [Record(timestamp=1_000 + 10 * n, key=key, value=value) for n, (key, value) in enumerate(rows)]
    return encode_batch(records, base_offset=100, compression=codec, partition_leader_epoch=3, **fields)


def clean(
    data: bytes,
    last_offsets: dict[bytes, int],
    latest_offset: int = 999,
    upper_bound: int = 999,
    retention_ms: int = 500,
) -> Cleaned:
    offset_map = OffsetMap(1 << 20)
    offset_map.latest_offset = latest_offset
    for key, offset in last_offsets.items():
        offset_map.put(key, offset)
    rules = RetentionRules(NOW_MS, retention_ms, upper_bound, {7: (102, 0)})
    return BatchFilter(offset_map, CleanedTransactions(), rules).clean(memoryview(data), read_batch_header(data))


def rows(cleaned: Cleaned) -> list[tuple[int, int, bytes | None]]:
    return [(record.offset, record.timestamp, record.key) for record in decode_records(cleaned.data)]


def header(cleaned: Cleaned) -> BatchHeader:
    found = read_batch_header(cleaned.data)
    assert check_crc(cleaned.data, found)
    return found


def test_a_batch_that_keeps_all_records_is_the_same_bytes() -> None:
    data = batch((b"a", b"1"), (b"b", b"1"))
    cleaned = clean(data, {b"a": 100})
    assert cleaned == Cleaned(memoryview(data), 2, 1_010)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_that_stay_have_their_offsets_and_timestamps(codec: str) -> None:
    data = batch((b"a", b"1"), (LONG, b"1"), (b"c", b"1"), (b"d", b"1"), codec=codec, producer_id=7, base_sequence=5)
    cleaned = clean(data, {b"a": 200, LONG: 101, b"d": 200})
    assert rows(cleaned) == [(101, 1_010, LONG), (102, 1_020, b"c")]
    before, after = read_batch_header(data), header(cleaned)
    assert after.record_count == cleaned.kept == 2
    assert after.max_timestamp == cleaned.max_timestamp == 1_020
    unchanged = {"batch_length", "crc", "record_count", "max_timestamp"}
    for name in set(BatchHeader._fields) - unchanged:
        assert getattr(after, name) == getattr(before, name), name


def test_records_without_a_key_are_removed_and_those_behind_the_map_stay() -> None:
    cleaned = clean(batch((None, b"1"), (b"a", b"1"), (None, b"1")), {b"a": 500}, latest_offset=101)
    assert rows(cleaned) == [(102, 1_020, None)]


def test_a_tombstone_gets_a_horizon_and_the_batch_keeps_its_timestamps() -> None:
    cleaned = clean(batch((b"a", None), (b"b", b"1")), {})
    assert rows(cleaned) == [(100, 1_000, b"a"), (101, 1_010, b"b")]
    after = header(cleaned)
    assert after.attributes & DELETE_HORIZON_BIT
    assert (after.base_timestamp, after.max_timestamp) == (NOW_MS + 500, 1_010)
    again = clean(bytes(cleaned.data), {})
    assert again.data == cleaned.data  # the horizon does not move
    expired = bytes(write_batch_header(after._replace(base_timestamp=NOW_MS), bytes(cleaned.data)[61:]))
    assert [key for _, _, key in rows(clean(expired, {}))] == [b"b"]


def test_tombstones_may_be_kept_for_ever() -> None:
    cleaned = clean(batch((b"a", None), (b"b", b"1")), {}, retention_ms=2**63 - 1)
    assert header(cleaned).base_timestamp == 2**63 - 1
    assert rows(cleaned) == [(100, 1_000, b"a"), (101, 1_010, b"b")]


def test_a_batch_with_append_time_keeps_its_largest_timestamp() -> None:
    data = batch((b"a", b"1"), (b"b", b"1"))
    before = read_batch_header(data)
    data = write_batch_header(
        before._replace(attributes=before.attributes | TIMESTAMP_TYPE_BIT, max_timestamp=5_000), data[61:]
    )
    cleaned = clean(data, {b"b": 200})
    assert rows(cleaned) == [(100, 5_000, b"a")]
    assert cleaned.max_timestamp == 5_000


def test_many_small_records_need_little_memory() -> None:
    number = 50_000
    records = [Record(timestamp=1_000, key=b"%d" % n, value=b"1" * (1 + n % 2)) for n in range(number)]
    data = encode_batch(records, base_offset=100)
    del records
    tracemalloc.start()
    cleaned = clean(data, {b"7": 200_000}, latest_offset=200_000)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert cleaned.kept == number - 1
    assert peak_bytes < 8 * len(data)


def test_an_empty_batch_is_removed_unless_its_header_is_needed() -> None:
    data = batch((b"a", b"1"), (b"b", b"1"), (b"c", b"1"), codec="gzip", producer_id=7, producer_epoch=0)
    last_offsets = {b"a": 200, b"b": 200, b"c": 200}
    cleaned = clean(data, last_offsets)
    after = header(cleaned)
    assert (after.size_bytes, after.record_count, after.base_offset, after.last_offset) == (61, 0, 100, 102)
    assert (after.attributes, after.base_timestamp, after.max_timestamp) == (0, -1, 1_020)
    assert clean(bytes(cleaned.data), last_offsets).data == cleaned.data
    other = batch((b"a", b"1"), producer_id=8, producer_epoch=0)
    assert clean(other, last_offsets) == REMOVED
    assert clean(other, last_offsets, upper_bound=101).kept == 0
    assert len(clean(other, last_offsets, upper_bound=101).data) == 61
