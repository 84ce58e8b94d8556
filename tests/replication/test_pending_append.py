"""A pending append completes once, and calls its callback once."""

from __future__ import annotations

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.record_errors import InvalidRecords
from signalbox.replication.pending_append import PendingAppend, rejected
from signalbox.storage.append_info import LogAppendInfo


def test_the_outcome_of_a_write() -> None:
    ticket, seen = PendingAppend(None, 1), list[PendingAppend]()
    ticket.then(seen.append)
    ticket.written(LogAppendInfo(5, 7, 100, 2, 1_234), None)
    ticket.fail(Error.REQUEST_TIMED_OUT)
    assert seen == [ticket]
    assert (ticket.error, ticket.base_offset, ticket.log_append_time_ms, ticket.log_start_offset) == (0, 5, 1_234, 2)


def test_a_failed_write_promises_no_offset() -> None:
    ticket = PendingAppend(None, 1)
    ticket.written(LogAppendInfo(5, 7, 100, 2), KafkaError(Error.KAFKA_STORAGE_ERROR, "disk full"))
    assert (ticket.done, ticket.error, ticket.error_message) == (True, Error.KAFKA_STORAGE_ERROR, "disk full")
    assert ticket.base_offset == -1


def test_a_rejection_is_finished_from_the_start() -> None:
    ticket, seen = rejected(None, Error.NOT_LEADER_OR_FOLLOWER), list[int]()
    ticket.then(lambda finished: seen.append(finished.error))
    assert seen == [Error.NOT_LEADER_OR_FOLLOWER]


def test_a_rejected_batch_names_its_bad_records() -> None:
    ticket = PendingAppend(None, 1)
    ticket.reject(InvalidRecords(Error.INVALID_RECORD, "one is bad", ((3, "no key"),)))
    assert (ticket.done, ticket.error, ticket.error_message) == (True, Error.INVALID_RECORD, "one is bad")
    assert ticket.record_errors == ((3, "no key"),)
    other = PendingAppend(None, 1)
    other.reject(KafkaError(Error.CORRUPT_MESSAGE))
    assert (other.error, other.record_errors) == (Error.CORRUPT_MESSAGE, ())
