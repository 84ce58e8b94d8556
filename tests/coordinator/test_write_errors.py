from __future__ import annotations

import pytest

from signalbox.coordinator.write_errors import client_error_for
from signalbox.protocol.error_table import Error


@pytest.mark.parametrize(
    ("error", "client_error"),
    [
        (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_ENOUGH_REPLICAS, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.REQUEST_TIMED_OUT, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_COORDINATOR),
        (Error.FENCED_LEADER_EPOCH, Error.NOT_COORDINATOR),
        (Error.UNKNOWN_LEADER_EPOCH, Error.NOT_COORDINATOR),
        (Error.KAFKA_STORAGE_ERROR, Error.NOT_COORDINATOR),
        (Error.MESSAGE_TOO_LARGE, Error.UNKNOWN_SERVER_ERROR),
        (Error.UNKNOWN_MEMBER_ID, Error.UNKNOWN_MEMBER_ID),
        (Error.NONE, Error.NONE),
    ],
)
def test_errors_of_the_log_become_errors_of_a_coordinator(error: Error, client_error: Error) -> None:
    assert client_error_for(error) is client_error
