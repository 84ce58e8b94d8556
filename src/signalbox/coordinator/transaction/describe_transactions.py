"""DescribeTransactions 0 and ListTransactions 0–2: the transactional ids of a shard, as tools see them (KIP-664)."""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.cooperative_task import yielding
from signalbox.common.ids import numbers_by_topic
from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.coordinator.transaction.transactional_id import TransactionalId
from signalbox.coordinator.transaction.transactional_ids import TransactionalIds
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_transactions import DescribeTransactionsResponse
from signalbox.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

_Described = DescribeTransactionsResponse.TransactionState
_Listed = ListTransactionsResponse.TransactionState


STATE_NAMES = frozenset(state.value for state in TransactionState)


class DescribeTransactions:
    def __init__(self, ids: TransactionalIds, now_ms: Callable[[], int]) -> None:
        self._ids = ids
        self._now_ms = now_ms

    def describe(self, name: str) -> _Described:
        """Raises KafkaError(TRANSACTIONAL_ID_NOT_FOUND), also for an id that is expiring."""
        entry = self._ids.get(name)
        if entry is None or entry.pending is TransactionState.DEAD:
            raise KafkaError(Error.TRANSACTIONAL_ID_NOT_FOUND)
        transaction = entry.current
        described = _Described(
            transactional_id=name,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            transaction_state=transaction.state.value,
            transaction_timeout_ms=transaction.timeout_ms,
            transaction_start_time_ms=transaction.started_ms,
        )
        described.topics = [
            DescribeTransactionsResponse.TopicData(topic=topic, partitions=numbers)
            for topic, numbers in numbers_by_topic(transaction.partitions).items()
        ]
        return described

    def list(self, request: ListTransactionsRequest, matches: Callable[[str], bool]) -> list[_Listed]:
        """The transactional ids that pass the request's filters and for which `matches` is true. A filter on states
        has only names that exist or nothing passes it. Yields."""
        return [
            _Listed(
                transactional_id=entry.name,
                producer_id=entry.current.producer_id,
                transaction_state=entry.current.state.value,
            )
            for entry in yielding(self._ids)
            if entry.pending is not TransactionState.DEAD and self._passes(entry, request) and matches(entry.name)
        ]

    def _passes(self, entry: TransactionalId, request: ListTransactionsRequest) -> bool:
        transaction = entry.current
        if request.state_filters and transaction.state.value not in request.state_filters:
            return False
        if request.producer_id_filters and transaction.producer_id not in request.producer_id_filters:
            return False
        # An id that has had no transaction yet is older than any duration, as in Kafka.
        age_ms = self._now_ms() - transaction.started_ms
        return request.duration_filter < 0 or age_ms > request.duration_filter
