import struct

import pytest

from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.storage.producers.transaction_marker import read_coordinator_epoch

pytestmark = pytest.mark.spec("D2")


def test_the_coordinator_epoch_of_a_commit() -> None:
    record = Record(key=struct.pack(">hh", 0, 1), value=struct.pack(">hi", 0, 42))
    marker = encode_batch([record], producer_id=1, producer_epoch=0, transactional=True, control=True, timestamp_ms=1)
    assert read_coordinator_epoch(marker) == 42


@pytest.mark.parametrize("record", [Record(value=b"12345678"), Record(key=b"1234"), Record(key=b"1", value=b"123456")])
def test_anything_else_is_no_marker(record: Record) -> None:
    assert read_coordinator_epoch(encode_batch([record], control=True, timestamp_ms=1)) is None


def test_a_corrupt_marker_is_not_a_marker() -> None:
    assert read_coordinator_epoch(bytes(70)) is None
