"""Asks transaction coordinators whether partitions are in a producer's open transaction, or adds them (KIP-890).

AddPartitionsToTxn, versions 4 and later, between brokers. One request is in flight per coordinator; the transactions
that arrive meanwhile share the next one. Two requests of the same producer epoch are combined. If a producer comes with
a later epoch, its waiting earlier request gets INVALID_PRODUCER_EPOCH. A waiting request of another producer id, or one
that adds partitions while the other only asks, gets NETWORK_EXCEPTION. Nothing is retried here: the producers retry.
A coordinator of a release without these versions cannot be asked: the transactions go on without verification, as in
Kafka. Those whose partitions would have been added get NETWORK_EXCEPTION: they would never get a marker.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from signalbox.broker.ports import CoordinatorChannels
from signalbox.client.failures import VersionUnsupported
from signalbox.common.clock import Clock, SystemClock
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.common.metrics import Histogram, MetricName, Metrics
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse

logger = logging.getLogger(__name__)

_Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
_Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic

Errors = Mapping[TopicPartition, Error]  # the partitions that are not verified
_SYSTEM_CLOCK = SystemClock()
CoordinatorOf = Callable[[str], int | None]  # the broker id of a transactional id's coordinator, None if there is none


@dataclass(frozen=True, slots=True)
class ProducerTransaction:
    """A transaction as a Produce request has it. `adds_partitions`: from Produce 12 on (transaction version 2) the
    producer does not add partitions itself, so the leader does; otherwise the leader only asks."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    adds_partitions: bool

    def epochs_ahead_of(self, other: ProducerTransaction) -> int:
        """By how much the producer epoch is higher; 0 for another producer id, whose epochs cannot be compared."""
        return self.producer_epoch - other.producer_epoch if self.producer_id == other.producer_id else 0


@dataclass(slots=True)
class _Waiting:
    """A transaction that will be in the next request, or is in the present one."""

    transaction: ProducerTransaction
    partitions: dict[TopicPartition, None] = field(default_factory=dict)
    promises: list[tuple[Promise[Errors], tuple[TopicPartition, ...]]] = field(default_factory=list)

    def complete(self, errors: Errors) -> None:
        for promise, partitions in self.promises:
            own = {partition: errors[partition] for partition in partitions if partition in errors}
            # Another request's partitions kept the coordinator from these. The error is final for producers: they retry
            # after this one, alone.
            if len(self.promises) > 1 and set(own.values()) == {Error.OPERATION_NOT_ATTEMPTED}:
                own = dict.fromkeys(own, Error.NETWORK_EXCEPTION)
            promise.complete(own)

    def fail(self, error: Error) -> None:
        self.complete(dict.fromkeys(self.partitions, error))


@dataclass(slots=True)
class _Coordinator:
    """The requests to one coordinator."""

    waiting: dict[str, _Waiting] = field(default_factory=dict)
    is_in_flight: bool = False
    cannot_verify: bool = False  # by its last response


class TransactionVerifier:
    """One per broker. `failures`: partitions that were not verified."""

    def __init__(
        self, channels: CoordinatorChannels, coordinator_of: CoordinatorOf, clock: Clock = _SYSTEM_CLOCK
    ) -> None:
        self._channels = channels
        self._coordinator_of = coordinator_of
        self._clock = clock
        self._coordinators: dict[int, _Coordinator] = {}
        self._request_ms = Histogram()
        self.failures = 0

    def register_metrics(self, metrics: Metrics) -> None:
        """Under Kafka's names."""
        group, type_ = "kafka.server", "AddPartitionsToTxnManager"
        self._request_ms = metrics.histogram(MetricName(group, type_, "VerificationTimeMs"))
        metrics.counter_from(MetricName(group, type_, "VerificationFailureRate"), lambda: self.failures)

    def verify(self, transaction: ProducerTransaction, partitions: Iterable[TopicPartition]) -> Promise[Errors]:
        """The errors of the partitions that are not in the transaction, or could not be verified; completes later, or
        at once if there is no coordinator."""
        partitions = tuple(partitions)
        broker_id = self._coordinator_of(transaction.transactional_id)
        if broker_id is None:
            return Promise.of(dict.fromkeys(partitions, Error.COORDINATOR_NOT_AVAILABLE))
        coordinator = self._coordinators.setdefault(broker_id, _Coordinator())
        waiting = self._waiting(coordinator, transaction)
        if waiting is None:
            return Promise.of(dict.fromkeys(partitions, Error.INVALID_PRODUCER_EPOCH))
        promise: Promise[Errors] = Promise()
        waiting.partitions.update(dict.fromkeys(partitions))
        waiting.promises.append((promise, partitions))
        self._send(broker_id, coordinator)
        return promise

    def _waiting(self, coordinator: _Coordinator, transaction: ProducerTransaction) -> _Waiting | None:
        """The entry to which a transaction is added; None if a later epoch of its producer waits already."""
        waiting = coordinator.waiting.get(transaction.transactional_id)
        if waiting is not None and waiting.transaction == transaction:
            return waiting
        epochs_ahead = 0 if waiting is None else transaction.epochs_ahead_of(waiting.transaction)
        if epochs_ahead < 0:
            return None
        coordinator.waiting[transaction.transactional_id] = later = _Waiting(transaction)
        if waiting is not None:
            waiting.fail(Error.INVALID_PRODUCER_EPOCH if epochs_ahead else Error.NETWORK_EXCEPTION)
        return later

    def _send(self, broker_id: int, coordinator: _Coordinator) -> None:
        if coordinator.is_in_flight or not coordinator.waiting:
            return
        sent, coordinator.waiting = coordinator.waiting, {}
        coordinator.is_in_flight = True
        sent_at = self._clock.monotonic()

        def on_response(response: AddPartitionsToTxnResponse | Exception) -> None:
            coordinator.is_in_flight = False
            self._request_ms.record((self._clock.monotonic() - sent_at) * 1000)
            self._send(broker_id, coordinator)
            if isinstance(response, VersionUnsupported) and not coordinator.cannot_verify:
                logger.warning("Transactions not verified (coordinator=%d): %s", broker_id, response)
            coordinator.cannot_verify = isinstance(response, VersionUnsupported)
            self.failures += _complete(sent, response)

        request = AddPartitionsToTxnRequest(transactions=[_encoded(waiting) for waiting in sent.values()])
        self._channels.send(broker_id, request, on_response)


def _encoded(waiting: _Waiting) -> AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction:
    transaction = waiting.transaction
    by_topic: dict[str, list[int]] = {}
    for partition in waiting.partitions:
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    return _Transaction(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        verify_only=not transaction.adds_partitions,
        topics=[_Topic(name=name, partitions=indexes) for name, indexes in by_topic.items()],
    )


def _complete(sent: Mapping[str, _Waiting], response: AddPartitionsToTxnResponse | Exception) -> int:
    """The number of partitions that are rejected. Yields."""
    if isinstance(response, VersionUnsupported):
        return _go_on_without(sent.values())
    if isinstance(response, Exception) or response.error_code:
        error = Error.NETWORK_EXCEPTION if isinstance(response, Exception) else Error.of(response.error_code)
        if error is Error.CLUSTER_AUTHORIZATION_FAILED:  # the producer can do nothing about it
            error = Error.INVALID_TXN_STATE
        for waiting in sent.values():
            waiting.fail(error)
        return sum(len(waiting.partitions) for waiting in sent.values())
    failures = 0
    results = {result.transactional_id: result for result in response.results_by_transaction}
    for transactional_id, waiting in sent.items():
        yield_if_due()
        result = results.get(transactional_id)
        if result is None:
            waiting.fail(Error.UNKNOWN_SERVER_ERROR)
            failures += len(waiting.partitions)
        else:
            errors = _errors(result)
            waiting.complete(errors)
            failures += len(errors)
    return failures


def _go_on_without(sent: Iterable[_Waiting]) -> int:
    """The number of partitions that are rejected since they cannot be added."""
    failures = 0
    for waiting in sent:
        if waiting.transaction.adds_partitions:
            waiting.fail(Error.NETWORK_EXCEPTION)
            failures += len(waiting.partitions)
        else:
            waiting.complete({})
    return failures


def _errors(result: AddPartitionsToTxnResponse.AddPartitionsToTxnResult) -> Errors:
    errors = {}
    for topic in result.topic_results:
        for partition in topic.results_by_partition:
            if partition.partition_error_code:
                error = Error.of(partition.partition_error_code)
                if error is Error.PRODUCER_FENCED:  # Produce has had another code for it since 2.7
                    error = Error.INVALID_PRODUCER_EPOCH
                errors[TopicPartition(topic.name, partition.partition_index)] = error
    return errors
