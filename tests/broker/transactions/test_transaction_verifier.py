"""Requests to transaction coordinators: batching, producers with a later epoch, errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.broker.transactions.transaction_verifier import ProducerTransaction, TransactionVerifier
from signalbox.client.failures import VersionUnsupported
from signalbox.common.clock import ManualClock
from signalbox.common.ids import TopicPartition
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from tests.metric_values import metric_values

pytestmark = pytest.mark.spec("D5")

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
VERSION = 5


class RecordedChannels:
    """Requests in the order of their sending, as the coordinator reads them; the test answers them."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, Any, Callable[[Any], None]]] = []

    def send(self, broker_id: int, request: Any, on_response: Callable[[Any], None]) -> None:
        arrived = AddPartitionsToTxnRequest.decode(request.encode(VERSION), VERSION)
        self.sent.append((broker_id, arrived, on_response))

    def answer(self, number: int, errors: Mapping[TopicPartition, Error]) -> None:
        """A response with these errors, and none for the other partitions."""
        _, request, on_response = self.sent[number]
        kind = AddPartitionsToTxnResponse
        results = [
            kind.AddPartitionsToTxnResult(
                transactional_id=transaction.transactional_id,
                topic_results=[
                    kind.AddPartitionsToTxnTopicResult(
                        name=topic.name,
                        results_by_partition=[
                            kind.AddPartitionsToTxnPartitionResult(
                                partition_index=index,
                                partition_error_code=errors.get(TopicPartition(topic.name, index), Error.NONE),
                            )
                            for index in topic.partitions
                        ],
                    )
                    for topic in transaction.topics
                ],
            )
            for transaction in request.transactions
        ]
        on_response(kind.decode(kind(results_by_transaction=results).encode(VERSION), VERSION))

    def transactions(self, number: int) -> list[tuple[str, int, int, bool, list[TopicPartition]]]:
        _, request, _ = self.sent[number]
        return [
            (
                row.transactional_id,
                row.producer_id,
                row.producer_epoch,
                row.verify_only,
                [TopicPartition(topic.name, index) for topic in row.topics for index in topic.partitions],
            )
            for row in request.transactions
        ]


def transaction(name: str = "t", epoch: int = 0, *, adds: bool = False) -> ProducerTransaction:
    return ProducerTransaction(name, 5, epoch, adds)


def test_requests_are_timed_and_partitions_that_are_not_verified_are_counted() -> None:
    channels, clock, registry = RecordedChannels(), ManualClock(), MetricRegistry()
    asking = TransactionVerifier(channels, {"t": 1, "u": 1}.get, clock)
    asking.register_metrics(registry)
    asking.verify(transaction(), [A0, A1])
    clock.advance(20)
    channels.answer(0, {A1: Error.TRANSACTION_ABORTABLE})
    asking.verify(transaction("u"), [A0, B0])
    clock.advance(5)
    channels.sent[1][2](ConnectionError())
    values = metric_values(registry)
    assert values[("VerificationFailureRate",)] == 3
    assert values[("VerificationTimeMs_count",)] == 2
    assert values[("VerificationTimeMs_sum",)] == pytest.approx(25)


def verifier(channels: RecordedChannels, coordinators: Mapping[str, int] | None = None) -> TransactionVerifier:
    return TransactionVerifier(channels, ({"t": 1, "u": 1, "v": 2} if coordinators is None else coordinators).get)


def result(promise: Promise[Mapping[TopicPartition, Error]]) -> dict[TopicPartition, Error]:
    return dict(promise.result())


def test_transactions_that_arrive_during_a_request_share_the_next_one() -> None:
    channels = RecordedChannels()
    verifying = verifier(channels)
    first = verifying.verify(transaction(), [A0])
    second = verifying.verify(transaction(), [A1])
    third = verifying.verify(transaction("u", adds=True), [B0, A0])
    other = verifying.verify(transaction("v"), [A0])
    assert [broker_id for broker_id, _, _ in channels.sent] == [1, 2]
    assert channels.transactions(0) == [("t", 5, 0, True, [A0])]
    channels.answer(0, {})
    assert result(first) == {}
    assert channels.transactions(2) == [("t", 5, 0, True, [A1]), ("u", 5, 0, False, [B0, A0])]
    channels.answer(2, {A0: Error.TRANSACTION_ABORTABLE})
    assert result(second) == {}
    assert result(third) == {A0: Error.TRANSACTION_ABORTABLE}
    assert not other.is_done
    channels.answer(1, {})
    assert result(other) == {}
    assert len(channels.sent) == 3


def test_requests_of_the_same_producer_epoch_are_combined() -> None:
    channels = RecordedChannels()
    verifying = verifier(channels)
    verifying.verify(transaction("u"), [A0])
    one, two = verifying.verify(transaction(), [A0, A1]), verifying.verify(transaction(), [A1, B0])
    channels.answer(0, {})
    assert channels.transactions(1) == [("t", 5, 0, True, [A0, A1, B0])]
    channels.answer(1, {A0: Error.TRANSACTION_ABORTABLE, B0: Error.NOT_COORDINATOR})
    assert result(one) == {A0: Error.TRANSACTION_ABORTABLE}
    assert result(two) == {B0: Error.NOT_COORDINATOR}


def test_a_request_whose_partitions_are_not_at_fault_is_retried_by_its_producer() -> None:
    channels = RecordedChannels()
    verifying = verifier(channels)
    verifying.verify(transaction("u"), [A0])
    partly, innocent, verified = (verifying.verify(transaction(), rows) for rows in ([A0, B0], [A1], ()))
    channels.answer(0, {})
    unattempted = dict.fromkeys([A0, A1], Error.OPERATION_NOT_ATTEMPTED)
    channels.answer(1, {**unattempted, B0: Error.UNKNOWN_TOPIC_OR_PARTITION})
    assert result(partly) == {A0: Error.OPERATION_NOT_ATTEMPTED, B0: Error.UNKNOWN_TOPIC_OR_PARTITION}
    assert (result(innocent), result(verified)) == ({A1: Error.NETWORK_EXCEPTION}, {})
    alone = verifying.verify(transaction(), [A0])
    channels.answer(2, unattempted)
    assert result(alone) == {A0: Error.OPERATION_NOT_ATTEMPTED}


def test_a_coordinator_that_cannot_verify_is_gone_on_without_but_partitions_are_not_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    channels = RecordedChannels()
    verifying = verifier(channels)
    for _ in range(2):
        promises = [
            verifying.verify(transaction("u"), [B0]),
            verifying.verify(transaction(), [A0, A1]),
            verifying.verify(transaction("u", adds=True), [A0]),
        ]
        channels.sent[-1][2](VersionUnsupported("no version 4"))
        channels.sent[-1][2](VersionUnsupported("no version 4"))
        assert [result(promise) for promise in promises] == [{}, {}, {A0: Error.NETWORK_EXCEPTION}]
    assert verifying.failures == 2
    assert caplog.text.count("Transactions not verified (coordinator=1)") == 1


def test_the_latest_epoch_of_a_producer_is_verified() -> None:
    channels = RecordedChannels()
    verifying = verifier(channels)
    verifying.verify(transaction("u"), [A0])
    old = verifying.verify(transaction(epoch=1), [A0])
    new = verifying.verify(transaction(epoch=2), [A0])
    late = verifying.verify(transaction(epoch=1), [A1])
    assert result(old) == {A0: Error.INVALID_PRODUCER_EPOCH}
    assert result(late) == {A1: Error.INVALID_PRODUCER_EPOCH}
    channels.answer(0, {})
    assert channels.transactions(1) == [("t", 5, 2, True, [A0])]
    channels.answer(1, {})
    assert result(new) == {}


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (ProducerTransaction("t", 5, 32_766, True), ProducerTransaction("t", 6, 0, True)),  # a new producer id
        (ProducerTransaction("t", 5, 1, False), ProducerTransaction("t", 5, 1, True)),
    ],
)
def test_a_request_that_cannot_be_compared_is_retried_by_its_producer(
    earlier: ProducerTransaction, later: ProducerTransaction
) -> None:
    channels = RecordedChannels()
    verifying = verifier(channels)
    verifying.verify(transaction("u"), [A0])
    replaced, verified = verifying.verify(earlier, [A0]), verifying.verify(later, [A0])
    assert result(replaced) == {A0: Error.NETWORK_EXCEPTION}
    channels.answer(0, {})
    channels.answer(1, {})
    assert result(verified) == {}


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (ConnectionError("lost"), Error.NETWORK_EXCEPTION),
        (AddPartitionsToTxnResponse(error_code=Error.CLUSTER_AUTHORIZATION_FAILED), Error.INVALID_TXN_STATE),
        (AddPartitionsToTxnResponse(error_code=Error.UNKNOWN_SERVER_ERROR), Error.UNKNOWN_SERVER_ERROR),
        (AddPartitionsToTxnResponse(), Error.UNKNOWN_SERVER_ERROR),  # the transaction is missing
    ],
)
def test_a_request_that_fails_as_a_whole(response: Any, error: Error) -> None:
    channels = RecordedChannels()
    verifying = verifier(channels)
    promise, waiting = verifying.verify(transaction(), [A0, A1]), verifying.verify(transaction("u"), [A0])
    channels.sent[0][2](response)
    assert result(promise) == {A0: error, A1: error}
    channels.answer(1, {A0: Error.PRODUCER_FENCED})
    assert result(waiting) == {A0: Error.INVALID_PRODUCER_EPOCH}


def test_without_a_coordinator() -> None:
    channels = RecordedChannels()
    promise = verifier(channels, {}).verify(transaction(), [A0])
    assert result(promise) == {A0: Error.COORDINATOR_NOT_AVAILABLE}
    assert channels.sent == []
