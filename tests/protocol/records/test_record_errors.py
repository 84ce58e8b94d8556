"""Every invalid record of a batch is named, with the error of Kafka's LogValidator."""

from __future__ import annotations

import pytest

from signalbox.common.limits import MAX_RECORD_ERRORS
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.record_errors import InvalidRecords, RecordRules, check_records_one_by_one
from tests.protocol.records.poison import MISNUMBERED, UNREADABLE, raw_record

pytestmark = pytest.mark.spec("D1")

BASE_MS = 1_700_000_000_000
IN_RANGE = RecordRules(earliest_ms=BASE_MS - 100, latest_ms=BASE_MS + 100)


def errors_of(records: list[bytes], rules: RecordRules | None = None, base: int = BASE_MS) -> InvalidRecords:
    with pytest.raises(InvalidRecords) as rejected:
        check_records_one_by_one(b"".join(records), 0, len(records), base, rules or RecordRules())
    return rejected.value


def test_good_records_give_their_highest_timestamp() -> None:
    records = [raw_record(index, timestamp_delta=delta) for index, delta in enumerate((0, 70, -9_000, 3))]
    assert check_records_one_by_one(b"?" + b"".join(records), 1, 4, BASE_MS, RecordRules()) == BASE_MS + 70
    assert check_records_one_by_one(b"".join(records), 0, 4, -1, RecordRules()) == 69
    assert check_records_one_by_one(raw_record(0), 0, 1, -1, IN_RANGE) == -1, "no timestamp is no fault"


@pytest.mark.parametrize("record", MISNUMBERED.values(), ids=MISNUMBERED.keys())
def test_a_record_with_another_number(record: bytes) -> None:
    rejected = errors_of([raw_record(0), record, raw_record(2)])
    assert rejected.error is Error.INVALID_RECORD
    [(index, message)] = rejected.record_errors
    assert index == 1
    assert message is not None
    assert message.startswith("Offset delta ")


@pytest.mark.parametrize("record", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_record_that_cannot_be_read(record: bytes) -> None:
    rejected = errors_of([raw_record(0), record, raw_record(2)])
    assert rejected.error is Error.INVALID_RECORD
    assert rejected.record_errors[0][0] in (1, 2)
    assert "cannot be read" in rejected.message


def test_all_keyless_records_of_a_compacted_topic_are_named() -> None:
    records = [raw_record(index, key=None if index % 3 else b"k") for index in range(7)]
    rejected = errors_of(records, RecordRules(key_required=True))
    assert [index for index, _ in rejected.record_errors] == [1, 2, 4, 5]
    assert "4 record errors in total" in rejected.message


def test_a_timestamp_among_the_errors_makes_it_invalid_timestamp() -> None:
    deltas = (0, 101, -100, -101, 100)
    records = [raw_record(index, timestamp_delta=delta) for index, delta in enumerate(deltas)]
    records.append(raw_record(5, offset_delta=9))
    rejected = errors_of(records, IN_RANGE)
    assert rejected.error is Error.INVALID_TIMESTAMP
    assert [index for index, _ in rejected.record_errors] == [1, 3, 5]
    assert rejected.message == "One or more records have been rejected due to invalid timestamp"


def test_no_more_errors_are_named_than_the_limit() -> None:
    records = [raw_record(index, key=None) for index in range(MAX_RECORD_ERRORS + 5)]
    assert len(errors_of(records, RecordRules(key_required=True)).record_errors) == MAX_RECORD_ERRORS


def test_bytes_behind_the_last_record() -> None:
    with pytest.raises(KafkaError, match="1 bytes follow the 1 records"):
        check_records_one_by_one(raw_record(0) + b"\0", 0, 1, BASE_MS, RecordRules())
