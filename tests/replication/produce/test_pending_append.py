"""A pending append completes once, and calls its callback once."""

from __future__ import annotations

import pytest

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.record_errors import InvalidRecords
from signalbox.replication.produce.pending_append import PendingAppend, rejected
from signalbox.storage.append_queue import LogAppendInfo

pytestmark = pytest.mark.spec("D1")


def test_a_write_completes_once() -> None:
    pending, seen = PendingAppend(None, 1), list[PendingAppend]()
    pending.then(seen.append)
    pending.written(LogAppendInfo(5, 7, 100, 2, 1_234), None)
    pending.fail(Error.REQUEST_TIMED_OUT)
    assert seen == [pending]
    assert (pending.error, pending.base_offset, pending.log_append_time_ms, pending.log_start_offset) == (
        0,
        5,
        1_234,
        2,
    )


def test_a_failed_write_promises_no_offset() -> None:
    pending = PendingAppend(None, 1)
    pending.written(LogAppendInfo(5, 7, 100, 2), KafkaError(Error.KAFKA_STORAGE_ERROR, "disk full"))
    assert (pending.done, pending.error, pending.error_message) == (True, Error.KAFKA_STORAGE_ERROR, "disk full")
    assert pending.base_offset == -1


def test_a_rejection_is_finished_from_the_start() -> None:
    pending, seen = rejected(None, Error.NOT_LEADER_OR_FOLLOWER), list[int]()
    pending.then(lambda finished: seen.append(finished.error))
    assert seen == [Error.NOT_LEADER_OR_FOLLOWER]


def test_a_rejected_batch_names_its_bad_records() -> None:
    pending = PendingAppend(None, 1)
    pending.reject(InvalidRecords(Error.INVALID_RECORD, "one is bad", ((3, "no key"),)))
    assert (pending.done, pending.error, pending.error_message) == (True, Error.INVALID_RECORD, "one is bad")
    assert pending.record_errors == ((3, "no key"),)
    other = PendingAppend(None, 1)
    other.reject(KafkaError(Error.CORRUPT_MESSAGE))
    assert (other.error, other.record_errors) == (Error.CORRUPT_MESSAGE, ())
