"""Records are checked against their header: counts, offset deltas, keys and timestamps, compressed or not."""

from __future__ import annotations

import random
import struct

import pytest
from crc32c import crc32c

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import HEADER_SIZE, read_batch_header
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.records.record_checks import (
    COUNTED_COMPRESSED_BYTES,
    BatchRules,
    check_readable_records,
    check_records,
)
from signalbox.protocol.records.record_errors import InvalidRecords
from tests.protocol.records.poison import MISNUMBERED, UNREADABLE, batch_of, poisoned, raw_record

NOW_MS = 1_700_000_000_000
CODECS = ["gzip", "snappy", "lz4", "zstd"]


def claiming(count: int, of: int, compression: str = "none", size: int = 0) -> bytes:
    """A batch of `of` records whose header has the count `count`, with a valid checksum."""
    noise = random.Random(1)
    rows = [Record(value=b"v%d" % number + noise.randbytes(size)) for number in range(of)]
    return signed(bytearray(encode_batch(rows, timestamp_ms=NOW_MS, compression=compression)), count)


def signed(made: bytearray, count: int) -> bytes:
    struct.pack_into(">i", made, 8, len(made) - 12)
    struct.pack_into(">i", made, 23, count - 1)
    struct.pack_into(">i", made, 57, count)
    struct.pack_into(">I", made, 17, crc32c(memoryview(made)[21:]))
    return bytes(made)


def error_of(batch: bytes, rules: BatchRules | None = None) -> Error | None:
    try:
        check_readable_records(batch, read_batch_header(batch), rules or BatchRules(), NOW_MS)
    except KafkaError as rejected:
        return rejected.error
    return None


@pytest.mark.parametrize(("count", "of"), [(1, 2), (2, 1), (5, 1), (16, 3), (39, 40), (41, 40), (2**31 - 1, 1)])
@pytest.mark.parametrize("codec", ["none", *CODECS])
def test_a_batch_that_counts_wrong_is_rejected(count: int, of: int, codec: str) -> None:
    assert error_of(claiming(of, of, codec)) is None
    assert error_of(claiming(count, of, codec)) is Error.INVALID_RECORD


@pytest.mark.parametrize("record", [*MISNUMBERED.values(), *UNREADABLE.values()], ids=[*MISNUMBERED, *UNREADABLE])
@pytest.mark.parametrize("count", [3, 200])
def test_malformed_records_are_rejected_in_batches_of_any_size(record: bytes, count: int) -> None:
    assert error_of(poisoned(raw_record(1), NOW_MS, count=count)) is None
    assert error_of(poisoned(record, NOW_MS, count=count)) is Error.INVALID_RECORD
    assert error_of(poisoned(record, NOW_MS, "zstd")) is Error.INVALID_RECORD


def test_timestamps_are_checked_per_record_and_not_by_the_header() -> None:
    rules = BatchRules(timestamp_before_max_ms=1_000, timestamp_after_max_ms=1_000)
    batch = batch_of([raw_record(at, timestamp_delta=delta) for at, delta in enumerate((0, 1_001, -1_001))], NOW_MS)
    with pytest.raises(InvalidRecords) as rejected:
        check_readable_records(batch, read_batch_header(batch), rules, NOW_MS)
    assert rejected.value.error is Error.INVALID_TIMESTAMP
    assert [index for index, _ in rejected.value.record_errors] == [1, 2]
    # The base timestamp is not the timestamp of a record: here it is out of range, and the records are not.
    batch = batch_of([raw_record(0, timestamp_delta=5_000), raw_record(1, timestamp_delta=5_900)], NOW_MS - 5_000)
    header = check_readable_records(batch, read_batch_header(batch), rules, NOW_MS)
    assert header.max_timestamp == NOW_MS + 900, "the header is corrected, as Kafka does"
    assert check_readable_records(batch, read_batch_header(batch), rules, None).max_timestamp == NOW_MS + 900
    by_broker = BatchRules(log_append_time=True, timestamp_after_max_ms=0, timestamp_before_max_ms=0)
    assert check_readable_records(batch, read_batch_header(batch), by_broker, NOW_MS)


@pytest.mark.parametrize("codec", ["none", *CODECS])
def test_a_compacted_topic_needs_keys(codec: str) -> None:
    rules = BatchRules(key_required=True)
    batch = batch_of([raw_record(0), raw_record(1, key=None), raw_record(2, key=None)], NOW_MS, codec)
    with pytest.raises(InvalidRecords) as rejected:
        check_readable_records(batch, read_batch_header(batch), rules, NOW_MS)
    assert [index for index, _ in rejected.value.record_errors] == [1, 2]
    assert error_of(batch_of([raw_record(0)], NOW_MS, codec), rules) is None
    assert error_of(batch) is None


@pytest.mark.parametrize("codec", CODECS)
def test_a_small_compressed_batch_that_cannot_be_unpacked_is_corrupt(codec: str) -> None:
    good = bytearray(claiming(3, 3, codec))
    garbage = good[:HEADER_SIZE] + b"no codec has ever written this"
    assert error_of(signed(garbage, 3)) is Error.CORRUPT_MESSAGE
    assert error_of(signed(good[:-6], 3)) in (Error.CORRUPT_MESSAGE, Error.INVALID_RECORD)


@pytest.mark.parametrize("codec", CODECS)
def test_the_record_count_of_a_large_compressed_batch_is_limited_by_its_decompressed_size(codec: str) -> None:
    rules = BatchRules(max_unpacked_bytes=7_000)
    made = claiming(3, 3, codec, size=1_000)
    assert len(made) > COUNTED_COMPRESSED_BYTES
    for count, error in ((3, None), (5, None), (1_000, None), (1_001, Error.INVALID_RECORD)):
        assert error_of(signed(bytearray(made), count), rules) is error


def test_the_timestamps_of_a_large_compressed_batch_are_its_header_s() -> None:
    made = claiming(3, 3, "zstd", size=1_000)
    header = read_batch_header(made)
    for changes in ({"max_timestamp": NOW_MS + 3_600_001}, {"base_timestamp": NOW_MS - 101}):
        rules = BatchRules(timestamp_before_max_ms=100)
        with pytest.raises(KafkaError, match="INVALID_TIMESTAMP"):
            check_readable_records(made, header._replace(**changes), rules, NOW_MS)
        assert check_readable_records(made, header._replace(**changes), rules, None)


def test_a_small_batch_with_large_decompressed_size_is_not_checked() -> None:
    bomb = encode_batch([Record(value=bytes(8_000_000))], timestamp_ms=NOW_MS, compression="zstd")
    assert len(bomb) <= COUNTED_COMPRESSED_BYTES
    assert error_of(bomb) is None
    assert error_of(signed(bytearray(bomb), 5)) is None
    assert error_of(signed(bytearray(bomb), 2**31 - 1)) is Error.INVALID_RECORD


def test_records_that_were_unpacked_are_checked_from_their_beginning() -> None:
    header = read_batch_header(batch_of([raw_record(0), raw_record(1)], NOW_MS))
    assert check_records(raw_record(0) + raw_record(1), 0, header, BatchRules(), NOW_MS) is header
    with pytest.raises(KafkaError, match="does not hold 2 records"):
        check_records(raw_record(0)[:13], 0, header, BatchRules(), NOW_MS)
