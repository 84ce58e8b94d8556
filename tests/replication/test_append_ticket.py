"""A ticket is finished once, and says so once."""

from __future__ import annotations

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.append_ticket import AppendTicket, refused
from signalbox.storage.append_info import LogAppendInfo


def test_the_outcome_of_a_write() -> None:
    ticket, seen = AppendTicket(None, 1), list[AppendTicket]()
    ticket.then(seen.append)
    ticket.written(LogAppendInfo(5, 7, 100, 2, 1_234), None)
    ticket.fail(Error.REQUEST_TIMED_OUT)
    assert seen == [ticket]
    assert (ticket.error, ticket.base_offset, ticket.log_append_time_ms, ticket.log_start_offset) == (0, 5, 1_234, 2)


def test_a_failed_write_promises_no_offset() -> None:
    ticket = AppendTicket(None, 1)
    ticket.written(LogAppendInfo(5, 7, 100, 2), KafkaError(Error.KAFKA_STORAGE_ERROR, "disk full"))
    assert (ticket.done, ticket.error, ticket.error_message) == (True, Error.KAFKA_STORAGE_ERROR, "disk full")
    assert ticket.base_offset == -1


def test_a_refusal_is_finished_from_the_start() -> None:
    ticket, seen = refused(None, Error.NOT_LEADER_OR_FOLLOWER), list[int]()
    ticket.then(lambda finished: seen.append(finished.error))
    assert seen == [Error.NOT_LEADER_OR_FOLLOWER]
