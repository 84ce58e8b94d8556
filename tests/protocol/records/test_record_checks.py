"""Records are checked against their header: counts, offset deltas, keys and timestamps, compressed or not."""

from __future__ import annotations

import random
import struct

import pytest
from crc32c import crc32c

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import HEADER_SIZE, BatchHeader, read_batch_header
from signalbox.protocol.records.compression import compression_name, decompress
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.records.record_checks import BatchRules, check_records
from signalbox.protocol.records.record_errors import InvalidRecords
from tests.protocol.records.poison import MISNUMBERED, UNREADABLE, batch_of, poisoned, raw_record

pytestmark = pytest.mark.spec("D1")

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


def checked(batch: bytes, rules: BatchRules, now_ms: int | None = NOW_MS) -> BatchHeader:
    header = read_batch_header(batch)
    records = decompress(compression_name(header.compression), batch[HEADER_SIZE:])
    return check_records(records, 0, header, rules, now_ms)


def error_of(batch: bytes, rules: BatchRules | None = None) -> Error | None:
    try:
        checked(batch, rules or BatchRules())
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
        checked(batch, rules)
    assert rejected.value.error is Error.INVALID_TIMESTAMP
    assert [index for index, _ in rejected.value.record_errors] == [1, 2]
    # The base timestamp is not the timestamp of a record: here it is out of range, and the records are not.
    batch = batch_of([raw_record(0, timestamp_delta=5_000), raw_record(1, timestamp_delta=5_900)], NOW_MS - 5_000)
    header = checked(batch, rules)
    assert header.max_timestamp == NOW_MS + 900, "the header is corrected, as Kafka does"
    assert checked(batch, rules, None).max_timestamp == NOW_MS + 900
    by_broker = BatchRules(log_append_time=True, timestamp_after_max_ms=0, timestamp_before_max_ms=0)
    assert checked(batch, by_broker)


@pytest.mark.parametrize("codec", ["none", *CODECS])
def test_a_compacted_topic_needs_keys(codec: str) -> None:
    rules = BatchRules(key_required=True)
    batch = batch_of([raw_record(0), raw_record(1, key=None), raw_record(2, key=None)], NOW_MS, codec)
    with pytest.raises(InvalidRecords) as rejected:
        checked(batch, rules)
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
def test_a_large_compressed_batch_is_counted_too(codec: str) -> None:
    for count, error in ((3, None), (2, Error.INVALID_RECORD), (4, Error.INVALID_RECORD)):
        assert error_of(claiming(count, 3, codec, size=20_000)) is error


@pytest.mark.parametrize("codec", ["none", *CODECS])
def test_records_of_compressed_batches_have_a_largest_size(codec: str) -> None:
    batch = claiming(3, 3, codec, size=993)  # attributes, deltas, lengths and the count of headers are 7 bytes more
    largest = BatchRules(max_unpacked_record_bytes=1_002)
    assert error_of(batch, largest) is None
    expected = None if codec == "none" else Error.INVALID_RECORD
    assert error_of(batch, BatchRules(max_unpacked_record_bytes=1_001)) is expected


def test_records_that_were_unpacked_are_checked_from_their_beginning() -> None:
    header = read_batch_header(batch_of([raw_record(0), raw_record(1)], NOW_MS))
    assert check_records(raw_record(0) + raw_record(1), 0, header, BatchRules(), NOW_MS) is header
    with pytest.raises(KafkaError, match="does not hold 2 records"):
        check_records(raw_record(0)[:13], 0, header, BatchRules(), NOW_MS)
