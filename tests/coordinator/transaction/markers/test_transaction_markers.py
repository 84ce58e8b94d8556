from __future__ import annotations

import pytest
from tests.coordinator.transaction.shards import P0, P1, TIMEOUT_MS

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.transaction.markers.transaction_markers import (
    EXPECTED_ERRORS,
    MarkerResult,
    TransactionMarkers,
    marker_result,
)
from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.coordinator.transaction.transactional_id import Transaction
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D5")


def markers_of(*partitions: TopicPartition, state: TransactionState, written: list[str]) -> TransactionMarkers:
    transaction = Transaction(
        producer_id=7,
        producer_epoch=3,
        timeout_ms=TIMEOUT_MS,
        state=state,
        partitions=frozenset(partitions),
        client_version=2,
    )
    return TransactionMarkers("orders", transaction, (5, 9), lambda: written.append("orders"))


def test_the_message_groups_partitions_by_topic() -> None:
    markers = markers_of(P1, P0, state=TransactionState.PREPARE_COMMIT, written=[])
    message = markers.message([P1, P0, TopicPartition("u", 4)])
    assert (message.producer_id, message.producer_epoch, message.coordinator_epoch) == (7, 3, 9)
    assert (message.transaction_result, message.transaction_version) == (True, 2)
    assert [(topic.name, topic.partition_indexes) for topic in message.topics] == [("t", [0, 1]), ("u", [4])]
    assert not markers_of(P0, state=TransactionState.PREPARE_ABORT, written=[]).message([P0]).transaction_result


def test_written_is_called_once_with_the_last_partition() -> None:
    written: list[str] = []
    markers = markers_of(P0, P1, state=TransactionState.PREPARE_COMMIT, written=written)
    markers.written([P0])
    assert written == []
    markers.written([P1])
    markers.written([P0, P1])
    assert written == ["orders"]


def test_a_stopped_transaction_is_never_written() -> None:
    written: list[str] = []
    markers = markers_of(P0, state=TransactionState.PREPARE_COMMIT, written=written)
    markers.stop()
    markers.written([P0])
    assert written == []


def test_the_delay_before_a_retry_grows() -> None:
    markers = markers_of(P0, state=TransactionState.PREPARE_COMMIT, written=[])
    assert [markers.next_delay_ms() for _ in range(8)] == [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]


def test_errors_are_retried_but_those_that_no_retry_resolves() -> None:
    assert marker_result(Error.NONE) is MarkerResult.WRITTEN
    assert {marker_result(error) for error in EXPECTED_ERRORS} == {MarkerResult.RETRY}
    assert marker_result(Error.UNKNOWN_SERVER_ERROR) is MarkerResult.RETRY
    assert marker_result(Error.INVALID_PRODUCER_EPOCH) is MarkerResult.RETRY_LATER
    assert marker_result(Error.TRANSACTION_COORDINATOR_FENCED) is MarkerResult.STOP
    assert marker_result(Error.UNSUPPORTED_VERSION) is MarkerResult.DROP
    assert marker_result(Error.UNSUPPORTED_FOR_MESSAGE_FORMAT) is MarkerResult.DROP
