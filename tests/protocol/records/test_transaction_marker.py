import struct

import pytest

from signalbox.protocol.records.batch_header import read_batch_header
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.records.transaction_marker import TransactionMarker, encode_marker, read_marker

pytestmark = pytest.mark.spec("D5")


@pytest.mark.parametrize("marker", [TransactionMarker(True, 42), TransactionMarker(False, 0)])
def test_a_marker_is_a_control_batch_without_a_sequence(marker: TransactionMarker) -> None:
    batch = encode_marker(7, 3, marker, 1000)
    header = read_batch_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.record_count) == (7, 3, -1, 1)
    assert header.max_timestamp == 1000
    assert read_marker(batch) == marker


def test_kafkas_bytes() -> None:
    """Key and value as Kafka's EndTransactionMarker writes them."""
    batch = encode_marker(7, 3, TransactionMarker(True, 42), 1000)
    assert bytes.fromhex("08 00000001 0c 00000000002a 00") in batch


def test_later_versions_may_add_fields() -> None:
    record = Record(key=struct.pack(">hhq", 1, 0, 5), value=struct.pack(">hiq", 1, 9, 5))
    assert read_marker(encode_batch([record], control=True, timestamp_ms=1)) == TransactionMarker(False, 9)


@pytest.mark.parametrize(
    "record",
    [
        Record(value=b"12345678"),
        Record(key=b"\0\0\0\1"),
        Record(key=b"1", value=b"123456"),
        Record(key=b"\0\0\0\1", value=b"1"),
        Record(key=b"\0\0\0\2", value=bytes(6)),  # a new KRaft leader
        Record(key=b"\xff\xff\0\1", value=bytes(6)),
    ],
)
def test_anything_else_is_no_marker(record: Record) -> None:
    assert read_marker(encode_batch([record], control=True, timestamp_ms=1)) is None


def test_a_corrupt_batch_is_no_marker() -> None:
    assert read_marker(bytes(70)) is None
