"""Counting a batch's records by their lengths: what an honest encoder writes passes, what lies does not."""

from __future__ import annotations

import random
import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import HEADER_SIZE
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.records.record_lengths import COUNTED_COMPRESSED_BYTES, COUNTED_RECORDS, lengths_agree
from signalbox.protocol.records.validate import BatchRules, validate_batches

RECORDS = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp=st.integers(-1, 2**40),
        key=st.none() | st.binary(max_size=80),
        value=st.none() | st.binary(max_size=300) | st.just(b"x" * 20_000),
        headers=st.just(()) | st.just((("h", b"v"),)),
    ),
    min_size=1,
    max_size=COUNTED_RECORDS,
)


CODECS = ["gzip", "snappy", "lz4", "zstd"]


def telling(count: int, of: int, compression: str = "none", size: int = 0) -> bytes:
    """A batch of `of` records that says it has `count`, signed."""
    noise = random.Random(1)
    rows = [Record(value=b"v%d" % number + noise.randbytes(size)) for number in range(of)]
    return signed(bytearray(encode_batch(rows, timestamp_ms=1, compression=compression)), count)


def signed(made: bytearray, count: int) -> bytes:
    struct.pack_into(">i", made, 8, len(made) - 12)
    struct.pack_into(">i", made, 23, count - 1)
    struct.pack_into(">i", made, 57, count)
    struct.pack_into(">I", made, 17, crc32c(memoryview(made)[21:]))
    return bytes(made)


@given(records=RECORDS)
def test_what_is_encoded_agrees_with_its_number_and_with_no_other(records: list[Record]) -> None:
    made = encode_batch(records, timestamp_ms=1)
    assert lengths_agree(made, len(records))
    assert lengths_agree(memoryview(made), len(records))
    assert not lengths_agree(made, len(records) + 1)
    assert not lengths_agree(made, len(records) - 1)
    assert not lengths_agree(made[:-1], len(records))
    assert not lengths_agree(made + b"\0", len(records))


@given(noise=st.binary(max_size=60), count=st.integers(1, COUNTED_RECORDS))
def test_noise_is_counted_without_a_fault_and_agrees_only_where_the_lengths_do(noise: bytes, count: int) -> None:
    if lengths_agree(bytes(HEADER_SIZE) + noise, count):
        assert len(noise) >= 7 * count


@pytest.mark.parametrize(
    "records",
    [
        b"",
        b"\xff",
        b"\xff\xff\xff\xff\xff\x01",
        b"\x80\x80\x80\x80\x80\x80\x01",
        b"\x01" + bytes(8),  # a length of -1
        b"\x02" + bytes(1),  # too short for a record
    ],
)
def test_a_length_that_cannot_be(records: bytes) -> None:
    assert not lengths_agree(bytes(HEADER_SIZE) + records, 1)


@pytest.mark.parametrize(("count", "of"), [(1, 2), (2, 1), (5, 1), (COUNTED_RECORDS, 3)])
def test_a_small_batch_that_counts_wrong_is_refused_as_apache_kafka_does(count: int, of: int) -> None:
    validate_batches(telling(of, of))
    with pytest.raises(KafkaError) as refused:
        validate_batches(telling(count, of))
    assert refused.value.error is Error.INVALID_RECORD


def refusal(batch: bytes, rules: BatchRules | None = None) -> Error | None:
    try:
        validate_batches(batch, rules or BatchRules())
    except KafkaError as refused:
        return refused.error
    return None


def test_a_larger_batch_may_not_count_more_than_there_is_room_for() -> None:
    """81 bytes that claim 2147483647 records moved a log's end by as much."""
    assert refusal(telling(2**31 - 1, 1)) is Error.INVALID_RECORD
    smallest = bytearray(encode_batch([Record(value=b"") for _ in range(40)], timestamp_ms=1))
    assert len(smallest) == HEADER_SIZE + 7 * 40
    assert refusal(signed(bytearray(smallest), 40)) is None
    assert refusal(signed(bytearray(smallest), 41)) is Error.INVALID_RECORD
    assert refusal(signed(bytearray(smallest), 39)) is None  # nobody counts so many: said in docs/conformance.toml


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("count", "of"), [(1, 2), (2, 1), (5, 3), (COUNTED_RECORDS, 3), (5_000, 30), (2**31 - 1, 1)])
def test_a_small_compressed_batch_is_unpacked_and_counted(codec: str, count: int, of: int) -> None:
    assert refusal(telling(of, of, codec)) is None
    assert refusal(telling(count, of, codec)) is Error.INVALID_RECORD


@pytest.mark.parametrize("codec", CODECS)
def test_a_small_compressed_batch_that_cannot_be_unpacked_is_corrupt(codec: str) -> None:
    good = bytearray(telling(3, 3, codec))
    garbage = good[:HEADER_SIZE] + b"no codec has ever written this"
    assert refusal(signed(garbage, 3)) is Error.CORRUPT_MESSAGE
    assert refusal(signed(good[:-6], 3)) in (Error.CORRUPT_MESSAGE, Error.INVALID_RECORD)


@pytest.mark.parametrize("codec", CODECS)
def test_a_large_compressed_batch_may_count_what_its_topic_would_unpack(codec: str) -> None:
    rules = BatchRules(max_unpacked_bytes=7_000)
    made = telling(3, 3, codec, size=1_000)
    assert len(made) > COUNTED_COMPRESSED_BYTES
    for count, error in ((3, None), (5, None), (1_000, None), (1_001, Error.INVALID_RECORD)):
        assert refusal(signed(bytearray(made), count), rules) is error


def test_a_small_batch_that_unpacks_to_much_is_not_looked_into() -> None:
    bomb = encode_batch([Record(value=bytes(8_000_000))], timestamp_ms=1, compression="zstd")
    assert len(bomb) <= COUNTED_COMPRESSED_BYTES
    assert refusal(bomb) is None
    assert refusal(signed(bytearray(bomb), 5)) is None
    assert refusal(signed(bytearray(bomb), 2**31 - 1)) is Error.INVALID_RECORD
