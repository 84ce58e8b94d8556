"""Counting a batch's records by their lengths: what an honest encoder writes passes, what lies does not."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import HEADER_SIZE
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.records.record_lengths import COUNTED_RECORDS, lengths_agree
from signalbox.protocol.records.validate import validate_batches

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


def telling(count: int, of: int) -> bytes:
    """A batch of `of` records that says it has `count`, signed."""
    made = bytearray(encode_batch([Record(value=b"v%d" % number) for number in range(of)], timestamp_ms=1))
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
