from __future__ import annotations

from typing import Any

import pytest

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import (
    CONTROL_BIT,
    HEADER_SIZE,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    read_batch_header,
    write_batch_header,
)
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.records.record_checks import BatchRules, check_records
from signalbox.protocol.records.validate import check_batches

pytestmark = pytest.mark.spec("D1")

NOW_MS = 1_700_000_000_000
GOOD = encode_batch([Record(key=b"k", value=b"v"), Record(key=b"l", value=b"w")], timestamp_ms=NOW_MS)
HEADER = read_batch_header(GOOD)


def changed(**fields: Any) -> bytes:
    """The valid batch with changed header fields and a new checksum."""
    return write_batch_header(HEADER._replace(**fields), GOOD[61:])


IN_TRANSACTION = changed(attributes=TRANSACTIONAL_BIT, producer_id=5, producer_epoch=0, base_sequence=0)


def validated(
    buffer: bytes | memoryview, rules: BatchRules | None = None, *, now_ms: int | None = None, **options: Any
) -> list[BatchHeader]:
    """The headers after the checks of the batches and of their records."""
    rules = rules or BatchRules()
    return [
        check_records(buffer[header.position : header.position + header.size_bytes], HEADER_SIZE, header, rules, now_ms)
        for header in check_batches(buffer, rules, now_ms=now_ms, **options)
    ]


def rejection(buffer: bytes, rules: BatchRules | None = None, **options: Any) -> Error:
    with pytest.raises(KafkaError) as rejected:
        validated(buffer, rules, **options)
    return rejected.value.error


def test_a_good_batch_passes_and_its_header_comes_back() -> None:
    assert validated(memoryview(GOOD), now_ms=NOW_MS) == [HEADER]
    assert len(validated(GOOD * 3, one_batch_only=False)) == 3


@pytest.mark.parametrize(
    ("buffer", "error"),
    [
        (b"", Error.INVALID_RECORD),
        (GOOD + GOOD, Error.INVALID_RECORD),
        (GOOD[:-1], Error.CORRUPT_MESSAGE),
        (GOOD[:-1] + b"?", Error.CORRUPT_MESSAGE),
        (GOOD[:16] + b"\x00" + GOOD[17:], Error.INVALID_RECORD),
        (GOOD[:16] + b"\x01" + GOOD[17:], Error.INVALID_RECORD),
        (bytes(16) + b"\x01" + bytes(9), Error.INVALID_RECORD),  # message formats 0 and 1 have shorter headers
        (GOOD[:16] + b"\x03" + GOOD[17:], Error.CORRUPT_MESSAGE),
        (changed(record_count=0), Error.INVALID_RECORD),
        (changed(record_count=-3), Error.INVALID_RECORD),
        (changed(record_count=3), Error.INVALID_RECORD),
        (changed(last_offset_delta=7), Error.INVALID_RECORD),
        (changed(last_offset_delta=-1), Error.INVALID_RECORD),
        (changed(attributes=5), Error.CORRUPT_MESSAGE),
        (changed(attributes=CONTROL_BIT), Error.INVALID_RECORD),
        (changed(attributes=TRANSACTIONAL_BIT), Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (changed(producer_id=5, producer_epoch=0, base_sequence=-1), Error.INVALID_RECORD),
        (changed(producer_id=5, producer_epoch=-1, base_sequence=0), Error.INVALID_RECORD),
    ],
)
def test_batches_that_producers_may_not_send(buffer: bytes, error: Error) -> None:
    assert rejection(buffer) is error


def test_size_is_checked_before_anything_expensive() -> None:
    assert rejection(GOOD[:-1] + b"?", BatchRules(max_message_bytes=len(GOOD) - 1)) is Error.MESSAGE_TOO_LARGE
    assert validated(GOOD, BatchRules(max_message_bytes=len(GOOD)))


def test_timestamps_out_of_range() -> None:
    ahead = encode_batch([Record(value=b"v")], timestamp_ms=NOW_MS + 3_600_001)
    behind = encode_batch([Record(value=b"v")], timestamp_ms=NOW_MS - 101)
    brokers_own = changed(attributes=TIMESTAMP_TYPE_BIT)
    for batch, rules in (
        (ahead, BatchRules()),
        (behind, BatchRules(timestamp_before_max_ms=100)),
        (brokers_own, BatchRules()),
    ):
        assert rejection(batch, rules, now_ms=NOW_MS) is Error.INVALID_TIMESTAMP
        assert validated(batch, rules)
        by_broker = BatchRules(log_append_time=True, timestamp_before_max_ms=rules.timestamp_before_max_ms)
        assert validated(batch, by_broker, now_ms=NOW_MS)


def test_timestamps_at_the_edge_pass() -> None:
    rules = BatchRules(timestamp_before_max_ms=100)
    for timestamp_ms in (NOW_MS - 100, NOW_MS + 3_600_000):
        assert validated(encode_batch([Record(value=b"v")], timestamp_ms=timestamp_ms), rules, now_ms=NOW_MS)


def test_the_highest_timestamp_is_the_records_own() -> None:
    """Retention and the time index depend on it. Kafka corrects it, too."""
    for claimed in (NOW_MS + 86_400_000, -1, NOW_MS - 5):
        [header] = validated(changed(max_timestamp=claimed), now_ms=NOW_MS)
        assert header == read_batch_header(changed(max_timestamp=claimed))._replace(max_timestamp=NOW_MS)


def test_the_header_alone() -> None:
    [header] = check_batches(changed(max_timestamp=5), BatchRules(), now_ms=NOW_MS)
    assert header.max_timestamp == 5
    assert len(check_batches(GOOD * 2, BatchRules(), now_ms=None, one_batch_only=False)) == 2


def test_a_transactional_batch_needs_a_producer() -> None:
    assert validated(IN_TRANSACTION)
    assert rejection(changed(attributes=TRANSACTIONAL_BIT)) is Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_only_a_coordinators_records_have_a_producer_and_no_sequence() -> None:
    batch = encode_batch([Record(key=b"k", timestamp=NOW_MS)], producer_id=3, producer_epoch=0, transactional=True)
    assert rejection(batch) is Error.INVALID_RECORD
    assert validated(batch, BatchRules(control_allowed=True))


def test_coordinators_may_write_control_records() -> None:
    batch = encode_batch([Record(key=b"\0\0\0\1")], control=True, producer_id=3, producer_epoch=0)
    assert rejection(batch) is Error.INVALID_RECORD
    assert validated(batch, BatchRules(control_allowed=True))
