"""The markers of one prepared transaction, and what the errors of WriteTxnMarkers mean for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from signalbox.common.ids import TopicPartition, numbers_by_topic
from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.coordinator.transaction.transactional_id import Transaction
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.write_txn_markers import WriteTxnMarkersRequest

_Marker = WriteTxnMarkersRequest.WritableTxnMarker


RETRY_AFTER_MS = 100
MAX_RETRY_AFTER_MS = 5_000


class MarkerResult(Enum):
    WRITTEN = "the partition has its marker"
    RETRY = "send the marker again, to the leader of that time"
    RETRY_LATER = "the partition has a newer producer epoch: only an administrator can end its transaction"
    DROP = "the partition takes no markers, so it has no batch of the transaction either"
    STOP = "another coordinator took over: send no more markers of the transaction"


# Every other error is retried: the partition's transaction stays open until it has its marker.
_RESULTS: dict[Error, MarkerResult] = {
    Error.NONE: MarkerResult.WRITTEN,
    Error.TRANSACTION_COORDINATOR_FENCED: MarkerResult.STOP,
    Error.INVALID_PRODUCER_EPOCH: MarkerResult.RETRY_LATER,
    Error.UNSUPPORTED_VERSION: MarkerResult.DROP,
    Error.UNSUPPORTED_FOR_MESSAGE_FORMAT: MarkerResult.DROP,
}

EXPECTED_ERRORS = frozenset(
    (
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.NOT_ENOUGH_REPLICAS,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Error.REQUEST_TIMED_OUT,
        Error.KAFKA_STORAGE_ERROR,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.LEADER_NOT_AVAILABLE,
    )
)
"""Errors that pass when leadership or replicas are settled."""


def marker_result(error: Error) -> MarkerResult:
    """What the error of one partition means."""
    return _RESULTS.get(error, MarkerResult.RETRY)


class TransactionMarkers:
    """`place` = partition of `__transaction_state` and its leader epoch, which is the coordinator epoch of the markers.
    `on_written` is called once, when no partition is left."""

    __slots__ = (
        "_delay_ms",
        "_is_over",
        "_on_written",
        "coordinator_epoch",
        "left",
        "name",
        "state_partition",
        "transaction",
    )

    def __init__(
        self, name: str, transaction: Transaction, place: tuple[int, int], on_written: Callable[[], None]
    ) -> None:
        self.name = name
        self.transaction = transaction
        self.state_partition, self.coordinator_epoch = place
        self.left = set(transaction.partitions)
        self._on_written = on_written
        self._is_over = False
        self._delay_ms = RETRY_AFTER_MS

    def next_delay_ms(self) -> int:
        """The delay before the next retry: it doubles each time, up to MAX_RETRY_AFTER_MS."""
        delay_ms = self._delay_ms
        self._delay_ms = min(2 * delay_ms, MAX_RETRY_AFTER_MS)
        return delay_ms

    def written(self, partitions: Iterable[TopicPartition]) -> None:
        """These partitions have their marker, take none, or do not exist any more."""
        self.left.difference_update(partitions)
        if not self.left and not self._is_over:
            self._is_over = True
            self._on_written()

    def stop(self) -> None:
        """Send no more; `on_written` is not called."""
        self._is_over = True
        self.left.clear()

    def message(self, partitions: Iterable[TopicPartition]) -> _Marker:
        """The markers of these partitions, which have the same leader."""
        return _Marker(
            producer_id=self.transaction.producer_id,
            producer_epoch=self.transaction.producer_epoch,
            transaction_result=self.transaction.state is TransactionState.PREPARE_COMMIT,
            topics=[
                WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=topic, partition_indexes=numbers)
                for topic, numbers in numbers_by_topic(partitions).items()
            ],
            coordinator_epoch=self.coordinator_epoch,
            transaction_version=self.transaction.client_version,
        )
