"""Complete batches, compared with aiokafka, an independent implementation of the same format."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import check_crc, read_batch_header, write_batch_header
from signalbox.protocol.records.compression import CODES, NAMES
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch, records_of

pytestmark = pytest.mark.spec("D1")

ANY_RECORD = st.builds(
    Record,
    timestamp=st.integers(0, 1 << 42),
    key=st.none() | st.binary(max_size=20),
    value=st.none() | st.binary(max_size=200),
    headers=st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=5), st.none() | st.binary(max_size=5))),
)


@settings(max_examples=60, deadline=None, database=None)
@given(records=st.lists(ANY_RECORD, min_size=1, max_size=6), compression=st.sampled_from(NAMES))
def test_there_and_back_and_through_aiokafka(records: list[Record], compression: str) -> None:
    batch = encode_batch(records, base_offset=100, compression=compression)
    expected = [record._replace(offset=100 + index) for index, record in enumerate(records)]
    assert list(decode_records(batch)) == expected
    aiokafka_batch = DefaultRecordBatch(batch)
    assert aiokafka_batch.validate_crc()
    seen = [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in aiokafka_batch]
    assert seen == [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in expected]


@pytest.mark.parametrize("compression", NAMES)
def test_batches_of_aiokafka_are_read(compression: str) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=CODES[compression],
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    for index in range(50):
        builder.append(index, 1000 + index, b"key", b"value" * index, [("h", b"x")])
    batch = bytes(builder.build())
    assert check_crc(batch, read_batch_header(batch))
    records = list(decode_records(batch))
    assert [record.offset for record in records] == list(range(50))
    assert records[9] == Record(9, 1009, b"key", b"value" * 9, [("h", b"x")])


def test_by_hand() -> None:
    """One record: length 10, attributes, both deltas 0, key "k", value "vv", no headers."""
    batch = encode_batch([Record(timestamp=5, key=b"k", value=b"vv")])
    assert batch[61:].hex(" ") == "12 00 00 00 02 6b 04 76 76 00"
    assert batch[:8] == bytes(8)
    assert batch[12:17].hex(" ") == "ff ff ff ff 02"


def test_records_without_a_timestamp_take_the_batchs() -> None:
    batch = encode_batch([Record(value=b"x"), Record(value=b"y", timestamp=9)], timestamp_ms=7)
    assert [record.timestamp for record in decode_records(batch)] == [7, 9]
    assert read_batch_header(batch).max_timestamp == 9


def test_gaps_as_after_compaction_are_kept() -> None:
    rows = [Record(offset=10, timestamp=1, value=b"a"), Record(offset=14, timestamp=1, value=b"b")]
    batch = encode_batch(rows, base_offset=10, keep_offsets=True)
    assert [record.offset for record in decode_records(batch)] == [10, 14]
    assert read_batch_header(batch).last_offset == 14


def test_control_and_producer_marks() -> None:
    header = read_batch_header(encode_batch([Record(key=b"\0\0\0\1")], control=True, transactional=True, producer_id=4))
    assert (header.is_control, header.is_transactional, header.producer_id) == (True, True, 4)


def test_several_batches_and_a_cut_tail() -> None:
    first = encode_batch([Record(value=b"1")])
    second = encode_batch([Record(value=b"2")], base_offset=1, compression="zstd")
    buffer = first + second + first[:30]
    assert [r.value for r in decode_records(buffer, allow_partial_tail=True)] == [b"1", b"2"]
    with pytest.raises(KafkaError):
        list(decode_records(buffer))


def test_an_empty_batch_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        encode_batch([])


def test_a_bare_header_left_by_compaction_has_no_records() -> None:
    header = read_batch_header(encode_batch([Record(value=b"1")], compression="gzip"))
    bare = write_batch_header(header._replace(record_count=0), b"")
    assert list(decode_records(bare)) == []


GOOD = encode_batch([Record(timestamp=1, key=b"key", value=b"value", headers=[("h", b"x")]) for _ in range(3)])


def with_records(records: bytes, **changes: Any) -> bytes:
    return write_batch_header(read_batch_header(GOOD)._replace(**changes), records)


@pytest.mark.parametrize(
    "broken",
    [
        with_records(GOOD[61:], record_count=4),
        with_records(GOOD[61:], record_count=2),
        with_records(GOOD[61:], record_count=-1),
        with_records(GOOD[61:], record_count=2147483647),
        with_records(GOOD[61:-1]),
        with_records(b"\xff" * 30),
        with_records(b""),
        with_records(b"\x01" + GOOD[62:]),
        with_records(bytes.fromhex("0a 00 00 00 01 7e") + bytes(40), record_count=1),
        with_records(bytes.fromhex("10 00 00 00 01 01 02 01 00"), record_count=1),
        with_records(GOOD[61:], attributes=5),
        with_records(GOOD[61:], attributes=1),
        with_records(GOOD[61:], attributes=4),
    ],
)
def test_batches_with_wrong_counts_or_lengths_are_corrupt(broken: bytes) -> None:
    with pytest.raises(KafkaError) as rejected:
        list(decode_records(broken))
    assert rejected.value.error is Error.CORRUPT_MESSAGE


@settings(max_examples=300, deadline=None, database=None)
@given(place=st.integers(61, len(GOOD) - 1), byte=st.integers(0, 255))
def test_a_changed_byte_inside_is_read_or_corrupt(place: int, byte: int) -> None:
    hurt = GOOD[:place] + bytes([byte]) + GOOD[place + 1 :]
    try:
        result: object = len(list(records_of(memoryview(hurt), read_batch_header(hurt))))
    except KafkaError as rejected:
        result = rejected.error
    assert result in (3, Error.CORRUPT_MESSAGE)


def test_a_header_name_that_is_not_utf_8_is_read_with_replacement_characters() -> None:
    batch = bytearray(encode_batch([Record(value=b"x", headers=[("ab", b"y")])]))
    batch[batch.index(b"ab")] = 0xFF
    [record] = decode_records(bytes(batch))
    assert record.headers == [("\ufffdb", b"y")]
