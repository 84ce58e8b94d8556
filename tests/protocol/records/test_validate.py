from __future__ import annotations

from typing import Any

import pytest

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import (
    CONTROL_BIT,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    read_batch_header,
    write_batch_header,
)
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.records.validate import BatchRules, inspect_records, validate_batches

NOW_MS = 1_700_000_000_000
GOOD = encode_batch([Record(key=b"k", value=b"v"), Record(key=b"l", value=b"w")], timestamp_ms=NOW_MS)
HEADER = read_batch_header(GOOD)


def changed(**fields: Any) -> bytes:
    """The good batch with header fields changed and signed again."""
    return write_batch_header(HEADER._replace(**fields), GOOD[61:])


IN_TRANSACTION = changed(attributes=TRANSACTIONAL_BIT, producer_id=5, producer_epoch=0, base_sequence=0)


def refusal(buffer: bytes, rules: BatchRules | None = None, **options: Any) -> Error:
    with pytest.raises(KafkaError) as refused:
        validate_batches(buffer, rules or BatchRules(), **options)
    return refused.value.error


def test_a_good_batch_passes_and_its_header_comes_back() -> None:
    assert validate_batches(memoryview(GOOD), now_ms=NOW_MS) == [HEADER]
    assert len(validate_batches(GOOD * 3, one_batch_only=False)) == 3


@pytest.mark.parametrize(
    ("buffer", "error"),
    [
        (b"", Error.INVALID_RECORD),
        (GOOD + GOOD, Error.INVALID_RECORD),
        (GOOD[:-1], Error.CORRUPT_MESSAGE),
        (GOOD[:-1] + b"?", Error.CORRUPT_MESSAGE),
        (GOOD[:16] + b"\x00" + GOOD[17:], Error.INVALID_RECORD),
        (GOOD[:16] + b"\x01" + GOOD[17:], Error.INVALID_RECORD),
        (bytes(16) + b"\x01" + bytes(9), Error.INVALID_RECORD),  # formats 0 and 1 have shorter headers
        (GOOD[:16] + b"\x03" + GOOD[17:], Error.CORRUPT_MESSAGE),
        (changed(record_count=0), Error.INVALID_RECORD),
        (changed(record_count=-3), Error.INVALID_RECORD),
        (changed(record_count=3), Error.INVALID_RECORD),
        (changed(last_offset_delta=7), Error.INVALID_RECORD),
        (changed(last_offset_delta=-1), Error.INVALID_RECORD),
        (changed(attributes=5), Error.CORRUPT_MESSAGE),
        (changed(attributes=CONTROL_BIT), Error.INVALID_RECORD),
        (changed(attributes=TRANSACTIONAL_BIT), Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (IN_TRANSACTION, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (changed(producer_id=5, producer_epoch=0, base_sequence=-1), Error.INVALID_RECORD),
        (changed(producer_id=5, producer_epoch=-1, base_sequence=0), Error.INVALID_RECORD),
    ],
)
def test_what_a_producer_may_not_send(buffer: bytes, error: Error) -> None:
    assert refusal(buffer) is error


def test_size_is_checked_before_anything_expensive() -> None:
    assert refusal(GOOD[:-1] + b"?", BatchRules(max_message_bytes=len(GOOD) - 1)) is Error.MESSAGE_TOO_LARGE
    assert validate_batches(GOOD, BatchRules(max_message_bytes=len(GOOD)))


@pytest.mark.parametrize(
    ("fields", "rules", "error"),
    [
        ({"max_timestamp": NOW_MS + 3_600_001}, BatchRules(), Error.INVALID_TIMESTAMP),
        ({"base_timestamp": NOW_MS - 101}, BatchRules(timestamp_before_max_ms=100), Error.INVALID_TIMESTAMP),
        ({"attributes": TIMESTAMP_TYPE_BIT}, BatchRules(), Error.INVALID_TIMESTAMP),
    ],
)
def test_timestamps_out_of_range(fields: dict[str, Any], rules: BatchRules, error: Error) -> None:
    assert refusal(changed(**fields), rules, now_ms=NOW_MS) is error
    assert validate_batches(changed(**fields), rules)
    by_broker = BatchRules(
        log_append_time=True,
        timestamp_before_max_ms=rules.timestamp_before_max_ms,
    )
    assert validate_batches(changed(**fields), by_broker, now_ms=NOW_MS)


def test_timestamps_at_the_edge_pass() -> None:
    rules = BatchRules(timestamp_before_max_ms=100)
    assert validate_batches(changed(base_timestamp=NOW_MS - 100), rules, now_ms=NOW_MS)
    assert validate_batches(changed(max_timestamp=NOW_MS + 3_600_000), rules, now_ms=NOW_MS)


def test_a_coordinator_may_write_in_a_transaction_but_not_without_a_producer() -> None:
    rules = BatchRules(transactional_allowed=True)
    assert validate_batches(IN_TRANSACTION, rules)
    assert refusal(changed(attributes=TRANSACTIONAL_BIT), rules) is Error.INVALID_RECORD


def test_coordinators_may_write_control_records() -> None:
    batch = encode_batch([Record(key=b"\0\0\0\1")], control=True, producer_id=3, producer_epoch=0)
    assert refusal(batch) is Error.INVALID_RECORD
    assert validate_batches(batch, BatchRules(control_allowed=True))


def inspection(batch: bytes, rules: BatchRules) -> Error | None:
    try:
        inspect_records(batch, read_batch_header(batch), rules)
    except KafkaError as refused:
        return refused.error
    return None


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_are_counted_and_numbered(compression: str) -> None:
    rows = [Record(offset=0, value=b"a", timestamp=1), Record(offset=2, value=b"b", timestamp=1)]
    gap = encode_batch(rows, keep_offsets=True, compression=compression)
    assert inspection(gap, BatchRules()) is Error.INVALID_RECORD
    assert inspection(encode_batch(rows, compression=compression), BatchRules()) is None


def test_a_compacted_topic_needs_keys() -> None:
    keyless = encode_batch([Record(value=b"a")])
    assert inspection(keyless, BatchRules()) is None
    assert inspection(keyless, BatchRules(key_required=True)) is Error.INVALID_RECORD
