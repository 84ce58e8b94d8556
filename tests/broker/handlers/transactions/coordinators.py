"""A transaction coordinator that records its calls and returns what a test gave it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from signalbox.common.ids import TopicPartition
from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.transaction_coordinator import TransactionCoordinator
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_transactions import DescribeTransactionsResponse
from signalbox.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from signalbox.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse


class ScriptedCoordinator(TransactionCoordinator):
    def __init__(self, error: Error = Error.NONE) -> None:
        self.error = error
        self.calls: list[tuple[Any, ...]] = []

    def add_partitions(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: Iterable[TopicPartition],
        client_version: int,
    ) -> Promise[Error]:
        self.calls.append((transactional_id, producer, list(partitions), client_version))
        return Promise.of(self.error)

    def verify_partitions(
        self, transactional_id: str, producer: tuple[int, int], partitions: list[TopicPartition]
    ) -> Promise[dict[TopicPartition, Error]]:
        self.calls.append((transactional_id, producer, partitions, "verify"))
        return Promise.of(dict.fromkeys(partitions, self.error))

    def end_txn(self, request: EndTxnRequest, client_version: int) -> Promise[EndTxnResponse]:
        self.calls.append((request.transactional_id, request.committed, client_version))
        if self.error:
            return Promise.of(EndTxnResponse(error_code=self.error))
        return Promise.of(EndTxnResponse(producer_id=7, producer_epoch=4))

    def describe_transaction(self, transactional_id: str) -> Promise[DescribeTransactionsResponse.TransactionState]:
        topic = DescribeTransactionsResponse.TopicData
        topics = [topic(topic=name, partitions=[0]) for name in ("t", "secret")]
        return Promise.of(
            DescribeTransactionsResponse.TransactionState(transactional_id=transactional_id, topics=topics)
        )

    def list_transactions(
        self, request: ListTransactionsRequest, matches: Callable[[str], bool]
    ) -> ListTransactionsResponse:
        state = ListTransactionsResponse.TransactionState
        names = [name for name in ("orders-1", "orders-2", "bills") if matches(name)]
        return ListTransactionsResponse(transaction_states=[state(transactional_id=name) for name in names])
