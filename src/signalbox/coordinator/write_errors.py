"""Errors for clients when the coordinator could not write: maps errors of the log to those of a coordinator.

Clients handle NOT_COORDINATOR (find the coordinator again) and COORDINATOR_NOT_AVAILABLE (retry later). Errors of the
log must not be returned: a client would take them for errors of its own topics.
"""

from __future__ import annotations

from signalbox.protocol.error_table import Error

_CLIENT_ERRORS = {
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

# The batch is in the log and only its acknowledgement is missing: it is replayed, although the client gets an error.
WRITTEN_DESPITE_ERROR = frozenset((Error.REQUEST_TIMED_OUT, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND))


def client_error_for(error: Error) -> Error:
    """The error that the coordinator returns to a client for the log's `error`."""
    return _CLIENT_ERRORS.get(error, error)
