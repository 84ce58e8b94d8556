"""What a Produce request with transactional batches needs before its batches are appended (KIP-98, KIP-890).

All its transactional batches are of one producer epoch. Each partition in which the producer has no open transaction is
verified with the transaction coordinator; the batches wait for that. The errors depend on what the producer knows:

    from the coordinator                              Produce below 11       11                     12 and later
    -----------------------------------------------   --------------------   --------------------   ------------------
    TRANSACTION_ABORTABLE                             INVALID_TXN_STATE      TRANSACTION_ABORTABLE  the same
    CONCURRENT_TRANSACTIONS                           NOT_ENOUGH_REPLICAS    NOT_ENOUGH_REPLICAS    tried again for a
                                                                                                    while, then the same
    no connection, no coordinator, another one        NOT_ENOUGH_REPLICAS    NOT_ENOUGH_REPLICAS    NOT_ENOUGH_REPLICAS
    any other                                         the same               the same               the same

NOT_ENOUGH_REPLICAS makes every producer retry without new metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from signalbox.broker.transactions.transaction_verifier import Errors, ProducerTransaction, TransactionVerifier
from signalbox.common.ids import TopicPartition
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import HEADER_SIZE, MAGIC, TRANSACTIONAL_BIT, unpack_header
from signalbox.replication.produce.append import Batch
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.storage.producers.transaction_verification import ALREADY_ONGOING, SWITCHED_OFF, VerificationGuard

_ABORTABLE_FROM = 11
_ADDS_PARTITIONS_FROM = 12
_RETRIED_AS_NOT_ENOUGH_REPLICAS = frozenset(
    {
        Error.NETWORK_EXCEPTION,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
    }
)

ENDING_ERRORS = frozenset(
    {
        Error.INVALID_PRODUCER_ID_MAPPING,
        Error.INVALID_PRODUCER_EPOCH,
        Error.INVALID_TXN_STATE,
        Error.TRANSACTION_ABORTABLE,
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
"""After these no producer retries the batch."""

Entries = Iterable[tuple[tuple[str, int], Batch]]
ProducerBatches = Mapping[tuple[str, int], tuple[int, int, int]]  # producer id, epoch, first sequence by partition


@dataclass(slots=True)
class VerificationSettings:
    """Kafka's keys `transaction.partition.verification.enable`, which is dynamic, and
    `add.partitions.to.txn.retry.backoff.ms` and `.max.ms`. Producers that leave it to brokers to add partitions are
    always verified."""

    is_enabled: Callable[[], bool] = lambda: True
    retry_backoff_ms: int = 20
    retry_for_ms: int = 100


@dataclass(slots=True)
class Verified:
    """The guard of each partition that may be appended to, and the errors of the others."""

    guard_by_partition: dict[tuple[str, int], VerificationGuard] = field(default_factory=dict)
    errors: dict[tuple[str, int], KafkaError] = field(default_factory=dict)


def transactional_batches(entries: Entries) -> ProducerBatches:
    """The transactional batches among `entries`. INVALID_PRODUCER_ID_MAPPING if they are of more than one producer."""
    batches: dict[tuple[str, int], tuple[int, int, int]] = {}
    for key, batch in entries:
        if len(batch) >= HEADER_SIZE:
            header = unpack_header(batch, 0)
            if header[3] == MAGIC and header[5] & TRANSACTIONAL_BIT and header[9] >= 0:
                batches[key] = header[9], header[10], header[11]
    if len({(producer_id, epoch) for producer_id, epoch, _ in batches.values()}) > 1:
        raise KafkaError(Error.INVALID_PRODUCER_ID_MAPPING, "Transactional records contained more than one producer ID")
    return batches


class TransactionalProduce:
    """One per broker."""

    def __init__(
        self, replicas: ReplicaManager, verifier: TransactionVerifier, settings: VerificationSettings | None = None
    ) -> None:
        self.settings = settings or VerificationSettings()
        self._replicas = replicas
        self._verifier = verifier

    def verify(self, transactional_id: str, api_version: int, batches: ProducerBatches) -> Promise[Verified]:
        """The verification of `batches` (`transactional_batches`) of a Produce request of this version."""
        adds_partitions = api_version >= _ADDS_PARTITIONS_FROM
        if not (self.settings.is_enabled() or adds_partitions) or not batches:
            return Promise.of(Verified(dict.fromkeys(batches, SWITCHED_OFF)))
        producer_id, producer_epoch, _ = next(iter(batches.values()))
        transaction = ProducerTransaction(transactional_id, producer_id, producer_epoch, adds_partitions)
        result: Promise[Verified] = Promise()
        clock = self._replicas.scheduler.deadlines.clock
        give_up_at = clock.monotonic() + self.settings.retry_for_ms / 1000

        def ask() -> None:
            verified = self._start_verifications(batches, raises_epochs=adds_partitions)
            partitions = [
                TopicPartition(*key)
                for key, guard in verified.guard_by_partition.items()
                if guard is not ALREADY_ONGOING
            ]
            if partitions:
                self._verifier.verify(transaction, partitions).then(lambda errors: on_errors(verified, errors))
            else:
                result.complete(verified)

        def restart(verified: Verified) -> None:
            self._abandon(producer_id, verified, map(TopicPartition._make, verified.guard_by_partition))
            ask()

        def on_errors(verified: Verified, errors: Errors) -> None:
            # A marker of the previous transaction that is written meanwhile takes the guard back: a retry gets another.
            is_concurrent = adds_partitions and Error.CONCURRENT_TRANSACTIONS in errors.values()
            if is_concurrent and clock.monotonic() < give_up_at:
                self._replicas.scheduler.deadlines.add(self.settings.retry_backoff_ms, lambda: restart(verified))
            else:
                ended = [partition for partition, error in errors.items() if error in ENDING_ERRORS]
                self._abandon(producer_id, verified, ended)
                result.complete(_with_errors(verified, errors, api_version))

        ask()
        return result

    def _start_verifications(self, batches: ProducerBatches, *, raises_epochs: bool) -> Verified:
        verified, now_ms = Verified(), self._replicas.scheduler.clock.now_ms()
        for key, batch in batches.items():
            try:
                log = self._replicas.hosted.find(*key).local_log()
            except KafkaError as error:
                verified.errors[key] = error
            else:
                verified.guard_by_partition[key] = log.start_verification(*batch, now_ms, raises_epochs=raises_epochs)
        return verified

    def _abandon(self, producer_id: int, verified: Verified, partitions: Iterable[TopicPartition]) -> None:
        """Remove the verifications of `partitions`, which have failed for good or are started once more."""
        for partition in partitions:
            guard, replica = verified.guard_by_partition.get(partition), self._replicas.partition(*partition)
            if guard is not None and replica is not None and replica.log is not None:
                replica.log.abandon_verification(producer_id, guard)


def _with_errors(verified: Verified, errors: Errors, api_version: int) -> Verified:
    for partition, error in errors.items():
        key = (partition.topic, partition.partition)
        verified.guard_by_partition.pop(key, None)
        verified.errors[key] = _for_producer(error, api_version)
    return verified


def _for_producer(error: Error, api_version: int) -> KafkaError:
    if error is Error.TRANSACTION_ABORTABLE and api_version < _ABORTABLE_FROM:
        error = Error.INVALID_TXN_STATE
    if error is Error.INVALID_TXN_STATE:
        return KafkaError(error, "Partition was not added to the transaction")
    is_concurrent = error is Error.CONCURRENT_TRANSACTIONS and api_version < _ADDS_PARTITIONS_FROM
    if is_concurrent or error in _RETRIED_AS_NOT_ENOUGH_REPLICAS:
        return KafkaError(
            Error.NOT_ENOUGH_REPLICAS,
            f"Unable to verify the partition has been added to the transaction. Underlying error: {error.name}",
        )
    return KafkaError(error)
