"""The transaction coordinator's entry point: a method per API, with promises of responses.

Errors of the write are mapped to those of a coordinator (`write_errors.py`); every other error is that of the decision,
also PRODUCER_FENCED, which the handlers map to INVALID_PRODUCER_EPOCH for the versions that do not have it. The
handlers check authorization and whether the partitions exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from signalbox.common.ids import TopicPartition
from signalbox.common.internal_topics import TRANSACTIONS_TOPIC
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.config_rows import TransactionSettings
from signalbox.coordinator.decision import Decision, R
from signalbox.coordinator.group_coordinator import partition_for
from signalbox.coordinator.ports import ProducerIds
from signalbox.coordinator.runtime import CoordinatorRuntime
from signalbox.coordinator.transaction.end_transaction import ProducerIdNeeded
from signalbox.coordinator.transaction.markers.marker_sender import MarkerSender
from signalbox.coordinator.transaction.markers.transaction_markers import TransactionMarkers
from signalbox.coordinator.transaction.transaction_shard import TransactionShard
from signalbox.coordinator.transaction.transactional_id import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TransactionalId
from signalbox.coordinator.write_errors import client_error_for
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import MetadataImage, deleted_topics
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_transactions import DescribeTransactionsResponse
from signalbox.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from signalbox.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

Producer = tuple[int, int]  # producer id and epoch


class TransactionCoordinator:
    """One per broker."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[TransactionShard],
        markers: MarkerSender,
        producer_ids: ProducerIds,
        settings: TransactionSettings,
        cache: MetadataCache,
    ) -> None:
        self._runtime = runtime
        self._markers = markers
        self._producer_ids = producer_ids
        self._partition_count = settings.partition_count
        self._max_timeout_ms = settings.max_timeout_ms
        self._stopped = False
        self._sweeping: set[int] = set()
        cache.subscribe(self._image_changed)

    # --- leadership and metadata

    def partition_for(self, transactional_id: str) -> int:
        return partition_for(transactional_id, self._partition_count)

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        self._markers.elected(partition)
        loaded = self._runtime.on_elected(partition, leader_epoch)
        loaded.when_done(lambda: self._runtime.sweep(partition, lambda shard: shard.prepared.write_again()))

    def on_resigned(self, partition: int, leader_epoch: int | None = None) -> None:
        self._runtime.on_resigned(partition, leader_epoch)
        if self._runtime.leader_epoch(partition) < 0:
            self._markers.remove(partition)

    def _image_changed(self, old: MetadataImage, new: MetadataImage, changed_topics: set[str]) -> None:
        topic = new.topics.get(TRANSACTIONS_TOPIC)
        if topic is not None and topic.partitions and TRANSACTIONS_TOPIC in changed_topics:
            self._partition_count = len(topic.partitions)
        deleted = deleted_topics(old, new, changed_topics)
        if deleted:
            self._markers.topics_deleted(deleted)

    def abort_timed_out_every(self, interval_ms: int, deadlines: Deadlines) -> None:
        """Abort transactions that have timed out, again and again until `stop`. A partition whose last sweep is not
        over is left out: with very many transactional ids a sweep may take longer than the interval."""

        def sweep() -> None:
            if self._stopped:
                return
            for partition in self._runtime.partitions():
                self._runtime.sweep(partition, partial(self._abort_timed_out, partition))
            self.abort_timed_out_every(interval_ms, deadlines)

        deadlines.add(interval_ms, sweep)

    def _abort_timed_out(self, partition: int, shard: TransactionShard) -> Iterator[Decision[None]]:
        if partition in self._sweeping:
            return
        self._sweeping.add(partition)
        try:
            yield from shard.abort_timed_out(self._abort_with_producer_id)
        finally:
            self._sweeping.discard(partition)

    def _abort_with_producer_id(self, transactional_id: str) -> None:
        """Abort a transaction that has timed out at the last epoch of its producer id. After an error the next sweep
        does it again."""
        self._write_with_producer_id(transactional_id, lambda shard, new: shard.expiry.abort(transactional_id, new))

    def stop(self) -> Promise[None]:
        """Resign all partitions; done when the waiting requests are rejected."""
        self._stopped = True
        self._markers.close()
        return self._runtime.stop()

    # --- markers

    def send_markers(self, partition: int, entry: TransactionalId) -> None:
        """Have the markers of `entry`, whose prepared state is committed, written, and then complete the transaction.
        `partition` is that of `__transaction_state`."""
        prepared = entry.current

        def complete() -> None:
            self._runtime.write_background(partition, lambda shard: shard.prepared.complete(entry.name, prepared))

        place = (partition, self._runtime.leader_epoch(partition))
        self._markers.send(TransactionMarkers(entry.name, prepared, place, complete))

    # --- producers

    def init_producer_id(self, request: InitProducerIdRequest) -> Promise[InitProducerIdResponse]:
        """`request.transactional_id` is not empty."""

        def rejected(rejection: KafkaError) -> InitProducerIdResponse:
            return InitProducerIdResponse(
                error_code=client_error_for(rejection.error), producer_epoch=NO_PRODUCER_EPOCH
            )

        # Before anything of the id is known, as in Kafka: a wrong timeout is an error on every broker.
        if not 0 < request.transaction_timeout_ms <= self._max_timeout_ms:
            return Promise.of(rejected(KafkaError(Error.INVALID_TRANSACTION_TIMEOUT)))
        initialized = self._write_with_producer_id(
            request.transactional_id or "", lambda shard, new: shard.init_producer_id.init(request, new)
        )
        return initialized.recover(KafkaError, rejected)

    def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition], client_version: int
    ) -> Promise[Error]:
        """NONE, or the error of all partitions."""
        if not transactional_id:
            return Promise.of(Error.INVALID_REQUEST)
        added = self._runtime.write(
            self.partition_for(transactional_id),
            lambda shard: shard.add_partitions.add(transactional_id, producer, partitions, client_version),
        )
        return added.map(lambda _: Error.NONE).recover(KafkaError, lambda rejection: client_error_for(rejection.error))

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: list[TopicPartition]
    ) -> Promise[dict[TopicPartition, Error]]:
        """Whether the partitions are in the producer's transaction (KIP-890): the error of each."""
        if not transactional_id:
            return Promise.of(dict.fromkeys(partitions, Error.INVALID_REQUEST))
        verified = self._runtime.read(
            self.partition_for(transactional_id),
            lambda shard: shard.add_partitions.verify(transactional_id, producer, partitions),
        )
        return verified.recover(
            KafkaError, lambda rejection: dict.fromkeys(partitions, client_error_for(rejection.error))
        )

    def end_txn(self, request: EndTxnRequest, client_version: int) -> Promise[EndTxnResponse]:
        if not request.transactional_id:
            return Promise.of(EndTxnResponse(error_code=Error.INVALID_REQUEST))
        ended = self._write_with_producer_id(
            request.transactional_id, lambda shard, new: shard.end_transaction.end(request, client_version, new)
        )
        return ended.recover(KafkaError, lambda rejection: EndTxnResponse(error_code=client_error_for(rejection.error)))

    def _write_with_producer_id(
        self, transactional_id: str, decide: Callable[[TransactionShard, int], Decision[R]]
    ) -> Promise[R]:
        """Write the decision; if it needs a new producer id, take it again when there is one."""
        partition = self.partition_for(transactional_id)
        try:
            return self._runtime.write(partition, lambda shard: decide(shard, NO_PRODUCER_ID))
        except ProducerIdNeeded:
            written: Promise[R] = Promise()
        allocated = self._producer_ids.next()

        def write() -> None:
            if allocated.error is not None:
                written.fail(allocated.error)
                return
            second = self._runtime.write(partition, lambda shard: decide(shard, allocated.result()))
            second.when_done(lambda: _pass_on(second, written))

        allocated.when_done(write)
        return written

    # --- tools

    def describe_transaction(self, transactional_id: str) -> Promise[DescribeTransactionsResponse.TransactionState]:
        def rejected(rejection: KafkaError) -> DescribeTransactionsResponse.TransactionState:
            return DescribeTransactionsResponse.TransactionState(
                transactional_id=transactional_id, error_code=client_error_for(rejection.error)
            )

        if not transactional_id:
            return Promise.of(rejected(KafkaError(Error.INVALID_REQUEST)))
        described = self._runtime.read(
            self.partition_for(transactional_id), lambda shard: shard.describe_transactions.describe(transactional_id)
        )
        return described.recover(KafkaError, rejected)

    def list_transactions(
        self, request: ListTransactionsRequest, matches: Callable[[str], bool]
    ) -> ListTransactionsResponse:
        """The transactional ids of all partitions that this broker coordinates; an error while one loads. Yields."""
        response = ListTransactionsResponse()
        for partition in self._runtime.partitions():
            listed = self._runtime.read(partition, lambda shard: shard.describe_transactions.list(request, matches))
            if listed.error is None:
                response.transaction_states.extend(listed.result())
            elif isinstance(listed.error, KafkaError) and listed.error.error is not Error.NOT_COORDINATOR:
                return ListTransactionsResponse(error_code=listed.error.error)
        return response


def _pass_on(source: Promise[R], target: Promise[R]) -> None:
    """Settle `target` as `source`, which is done."""
    if source.error is not None:
        target.fail(source.error)
    else:
        target.complete(source.result())
