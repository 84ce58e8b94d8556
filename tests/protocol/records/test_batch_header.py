from __future__ import annotations

import pytest
from aiokafka.record.default_records import DefaultRecordBatch

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import (
    HEADER_SIZE,
    check_crc,
    iter_batch_headers,
    patch_base_offset_and_epoch,
    patch_log_append_time,
    read_batch_header,
    write_batch_header,
)
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch

pytestmark = pytest.mark.spec("D1")

BATCH = encode_batch(
    [Record(value=b"one", timestamp=1000), Record(value=b"two", timestamp=1005)],
    base_offset=40,
    producer_id=77,
    producer_epoch=3,
    base_sequence=9,
    partition_leader_epoch=6,
    transactional=True,
)


def test_header_attributes() -> None:
    header = read_batch_header(b"before" + BATCH, 6)
    assert (header.base_offset, header.last_offset, header.next_offset) == (40, 41, 42)
    assert (header.position, header.size_bytes) == (6, len(BATCH))
    assert (header.base_timestamp, header.max_timestamp, header.record_count) == (1000, 1005, 2)
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence) == (77, 3, 9, 10)
    assert (header.partition_leader_epoch, header.magic, header.compression) == (6, 2, 0)
    assert header.is_transactional
    assert header.has_producer_id
    assert not header.is_control
    assert not header.is_log_append_time


def test_aiokafka_reads_the_same_header() -> None:
    ours, theirs = read_batch_header(BATCH), DefaultRecordBatch(BATCH)
    assert theirs.validate_crc()
    for name in ("base_offset", "magic", "crc", "attributes", "last_offset_delta", "next_offset", "producer_id"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.base_timestamp == theirs.first_timestamp
    assert ours.is_transactional == theirs.is_transactional


@pytest.mark.parametrize(("base", "last"), [(-1, -1), (0, 1), (2147483647, 0), (2147483646, 2147483647)])
def test_sequences_wrap_from_the_largest_to_0(base: int, last: int) -> None:
    assert read_batch_header(BATCH)._replace(base_sequence=base).last_sequence == last


def test_batches_lie_one_behind_the_other() -> None:
    headers = list(iter_batch_headers(memoryview(BATCH * 3)))
    assert [header.position for header in headers] == [0, len(BATCH), 2 * len(BATCH)]
    assert list(iter_batch_headers(b"")) == []


@pytest.mark.parametrize("cut", [1, 11, 12, 16, 17, 60, 61, len(BATCH) - 1])
def test_a_cut_tail_is_corrupt_unless_it_is_allowed(cut: int) -> None:
    buffer = BATCH + BATCH[:cut]
    with pytest.raises(KafkaError) as rejected:
        list(iter_batch_headers(buffer))
    assert rejected.value.error is Error.CORRUPT_MESSAGE
    assert len(list(iter_batch_headers(buffer, allow_partial_tail=True))) == 1


@pytest.mark.parametrize(
    ("position", "replacement", "error"),
    [
        (16, b"\x00", Error.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (16, b"\x01", Error.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (16, b"\x03", Error.CORRUPT_MESSAGE),
        (8, b"\xff\xff\xff\xff", Error.CORRUPT_MESSAGE),
        (8, b"\x00\x00\x00\x00", Error.CORRUPT_MESSAGE),
        (8, b"\x7f\xff\xff\xff", Error.CORRUPT_MESSAGE),
    ],
)
def test_headers_with_wrong_counts_or_lengths_are_rejected(position: int, replacement: bytes, error: Error) -> None:
    broken = BATCH[:position] + replacement + BATCH[position + len(replacement) :]
    with pytest.raises(KafkaError) as rejected:
        list(iter_batch_headers(broken))
    assert rejected.value.error is error


def test_old_formats_are_rejected_in_words() -> None:
    with pytest.raises(KafkaError, match="message format 1 is not supported"):
        read_batch_header(BATCH[:16] + b"\x01" + BATCH[17:])


def test_the_checksum_covers_everything_from_the_attributes_on() -> None:
    assert check_crc(BATCH, read_batch_header(BATCH))
    for position in (21, 30, 50, 60, len(BATCH) - 1):
        hurt = bytearray(BATCH)
        hurt[position] ^= 1
        assert not check_crc(hurt, read_batch_header(hurt))


def test_offset_and_leader_epoch_are_patched_in_place_without_touching_the_checksum() -> None:
    frame = bytearray(b"12345" + BATCH)
    patch_base_offset_and_epoch(memoryview(frame), 1 << 40, 12, position=5)
    header = read_batch_header(frame, 5)
    assert (header.base_offset, header.partition_leader_epoch) == (1 << 40, 12)
    assert check_crc(frame, header)
    assert frame[:5] == b"12345"


def test_log_append_time_updates_the_checksum() -> None:
    batch = bytearray(BATCH)
    patch_log_append_time(batch, read_batch_header(batch), 5000)
    header = read_batch_header(batch)
    assert header.is_log_append_time
    assert header.max_timestamp == 5000
    assert check_crc(batch, header)
    assert [record.timestamp for record in decode_records(batch)] == [5000, 5000]


def test_a_header_is_written_with_its_length_and_checksum() -> None:
    header = read_batch_header(BATCH)
    assert write_batch_header(header._replace(batch_length=0, crc=0), BATCH[HEADER_SIZE:]) == BATCH
