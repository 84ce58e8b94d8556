"""What a client is told when the coordinator could not write: the log's words become the coordinator's.

A client knows NOT_COORDINATOR (look the coordinator up again) and COORDINATOR_NOT_AVAILABLE (try again later);
errors of the log below it must not leak, or it would look for them in its own topics.
"""

from __future__ import annotations

from signalbox.protocol.error_table import Error

_ANSWER_FOR = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.FENCED_LEADER_EPOCH: Error.NOT_COORDINATOR,
    Error.UNKNOWN_LEADER_EPOCH: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
    Error.MESSAGE_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.RECORD_LIST_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.INVALID_FETCH_SIZE: Error.UNKNOWN_SERVER_ERROR,
}

# The batch is in the log and only its acknowledgement is missing: it counts, whatever the client is told.
WRITTEN_ALL_THE_SAME = frozenset((Error.REQUEST_TIMED_OUT, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND))

# An offset commit that does not fit is the client's own doing and has a word of its own.
TOO_LARGE = frozenset((Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE, Error.INVALID_FETCH_SIZE))


def answer_for(error: Error) -> Error:
    """The error a client of the coordinator sees for `error` of the log."""
    return _ANSWER_FOR.get(error, error)
