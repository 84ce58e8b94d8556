"""An idempotent producer (KIP-98): acks=all, in order per partition, no duplicates. It may have transactions.

Records wait in batches per partition; one task sends the batches that are ready, one Produce request per leader at a
time. A batch that was not acknowledged is retried with the same sequence numbers, whatever happened in between: a lost
connection, another leader, a rebootstrap. After the delivery timeout the batch fails, with the last failure as cause.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.application_rows import PRODUCER_CONFIG, field_values
from signalbox.client.client_metrics import Metrics
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ChannelClosed, ClientFailure
from signalbox.client.rejections import rejection_of
from signalbox.client.sender.partitioner import StickyPartitioner, partition_for_key
from signalbox.client.sender.produce_sender import ProduceSender
from signalbox.client.sender.producer_batch import PartitionQueue, ProducerBatch, RecordMetadata, size_of
from signalbox.client.transactions.transaction_calls import TransactionCalls
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata
from signalbox.client.transactions.transaction_sender import TransactionSender
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.records.record_batch import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """Fields are Kafka's producer keys. acks is always all, idempotence always on."""

    linger_ms: float = 5
    batch_size_bytes: int = 65_536
    compression_type: str = "none"
    delivery_timeout_ms: float = 120_000
    buffer_memory_bytes: int = 33_554_432
    max_request_size_bytes: int = 1_048_576
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> ProducerSettings:
        """Settings from Kafka's keys. ConfigRejected lists every fault at once; unknown keys are ignored."""
        return cls(**field_values(PRODUCER_CONFIG, properties, cls))


class Producer:
    """`async with Producer(client) as producer:`; `client` must be started, and is not closed here."""

    def __init__(self, client: ClusterClient, settings: ProducerSettings | None = None) -> None:
        self._client = client
        self._settings = settings or ProducerSettings()
        self._sticky = StickyPartitioner()
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._buffered_bytes = 0
        self._memory_freed = asyncio.Event()
        self._memory_freed.set()
        self._outstanding: set[asyncio.Future[RecordMetadata]] = set()
        self._transactions: TransactionSender | None = None
        if self._settings.transactional_id is not None:
            self._transactions = TransactionSender(
                client, self._queues, self._settings.transactional_id, self._settings.transaction_timeout_ms
            )
            self._calls = TransactionCalls(client, self._transactions)
        self._sender = ProduceSender(
            client, self._queues, self._settings.linger_ms, self._settings.compression_type, self._transactions
        )
        self._closed = False

    async def __aenter__(self) -> Producer:
        self._sender.start()
        if self._transactions is not None:
            self._transactions.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if self._transactions is None and kind is None:
                await self.flush()
        finally:
            await self.close()

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Queue a record; the future is its acknowledgement. Waits for the topic's metadata and for buffer memory.

        DeadlinePassed without metadata of the topic in time; KafkaError(MESSAGE_TOO_LARGE). The future: DeadlinePassed
        after the delivery timeout, KafkaError when the record cannot be encoded, or when the broker rejected it and a
        retry cannot succeed; ChannelClosed once the client is closed. With a transactional id: RuntimeError outside of
        a transaction, the failure of one that can only be aborted; after a failure of `send` itself it is such a one.
        """
        number = self._calls.begin_send() if self._transactions is not None else 0
        stamp = timestamp_ms if timestamp_ms is not None else time.time_ns() // 1_000_000
        record = Record(timestamp=stamp, key=key, value=value, headers=headers)
        size = size_of(record)
        try:
            count = await self._admit(topic, size)
        except ClientFailure as failure:
            if self._transactions is not None:
                self._calls.send_failed(number, failure)
            raise
        if partition is None:
            partition = self._sticky_partition(topic, count, size) if key is None else partition_for_key(key, count)
        return self._append(TopicPartition(topic, partition), record, size)

    async def _admit(self, topic: str, size: int) -> int:
        """Returns the topic's number of partitions once there is buffer memory for a record of `size` bytes."""
        if size > self._settings.max_request_size_bytes:
            raise rejection_of(Error.MESSAGE_TOO_LARGE, f"{size} bytes, max.request.size is lower")
        topic_view = self._client.view.topics.get(topic)
        if topic_view is None or not topic_view.partitions:
            topic_view = await self._client.topic(topic)
        while self._buffered_bytes and self._buffered_bytes + size > self._settings.buffer_memory_bytes:
            self._memory_freed.clear()
            await self._memory_freed.wait()
        if self._closed:
            raise ChannelClosed("the producer is closed")
        if self._sender.failure is not None:
            raise self._sender.failure
        return len(topic_view.partitions)

    def _sticky_partition(self, topic: str, count: int, size: int) -> int:
        """The topic's current partition, or the next one when its batch is full or has been sent."""
        partition = self._sticky.partition_of(topic, count)
        queue = self._queues.get(TopicPartition(topic, partition))
        batch = queue.batches[-1] if queue is not None and queue.batches else None
        if batch is not None and (batch.closed or not batch.has_room(size, self._settings.batch_size_bytes)):
            self._sticky.batch_closed(topic)
            partition = self._sticky.partition_of(topic, count)
        return partition

    def _append(self, partition: TopicPartition, record: Record, size: int) -> asyncio.Future[RecordMetadata]:
        if self._transactions is not None:
            self._transactions.manager.add_partition(partition)
            self._transactions.wake()
        loop = asyncio.get_running_loop()
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = PartitionQueue(partition)
        batch = queue.batches[-1] if queue.batches else None
        if batch is not None and not batch.has_room(size, self._settings.batch_size_bytes):
            batch.closed = True
        if batch is None or batch.closed:
            now = loop.time()
            batch = ProducerBatch(now, now + self._settings.delivery_timeout_ms / 1000)
            queue.batches.append(batch)
            self._sender.wake()
        acknowledged: asyncio.Future[RecordMetadata] = loop.create_future()
        batch.add(record, acknowledged)
        self._buffered_bytes += size
        self._outstanding.add(acknowledged)
        acknowledged.add_done_callback(lambda done: self._settled(done, size))
        return acknowledged

    def _settled(self, acknowledged: asyncio.Future[RecordMetadata], size: int) -> None:
        self._outstanding.discard(acknowledged)
        self._buffered_bytes -= size
        self._memory_freed.set()

    async def flush(self) -> None:
        """Send all queued records now; returns when each of them is acknowledged or has failed."""
        waiting = set(self._outstanding)
        if waiting:
            with self._sender.flushing():
                await asyncio.wait(waiting)

    async def init_transactions(self, *, timeout_ms: float | None = None) -> None:
        """Take the transactional id over, before everything else: earlier producers with it are fenced, and their open
        transaction is aborted. DeadlinePassed: call it again. AuthorizationFailed and other rejections are final."""
        await self._transactional().initialize(timeout_ms)

    def begin_transaction(self) -> None:
        """Begin a transaction; nothing is sent for it. RuntimeError while another one is open."""
        self._transactional().begin()

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, int | CommittedOffset],
        group_metadata: ConsumerGroupMetadata,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit these offsets, of the next records to read, for a group together with the transaction.
        `group_metadata` is that of GroupConsumer. CommitFailed when the member has lost its partitions."""
        await self._transactional().add_offsets(offsets, group_metadata, timeout_ms)

    async def commit_transaction(self, *, timeout_ms: float | None = None) -> None:
        """Send all queued records, and commit. Raises the first failure, after which the transaction can be aborted:
        TransactionFailed if a record was not acknowledged within the delivery timeout. ProducerFenced and other fatal
        failures are raised too, after which the producer can only be closed.

        After DeadlinePassed the result is not known: call it again, or abort. It never returns before the broker has
        accepted the commit."""
        await self._transactional().commit(timeout_ms)

    async def abort_transaction(self, *, timeout_ms: float | None = None) -> None:
        """Abort: records that were not sent fail with TransactionAborted, those in flight are waited for. A fatal
        failure is raised. After DeadlinePassed call it again. RuntimeError once a commit was sent."""
        await self._transactional().abort(timeout_ms)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Producer]:
        """`async with producer.transaction():` begins, and commits at the end; aborts after an exception, also after
        one of the commit, and raises it."""
        async with self._transactional().transaction():
            yield self

    def _transactional(self) -> TransactionCalls:
        if self._transactions is None:
            raise RuntimeError("the producer has no transactional.id")
        if self._closed:
            raise ChannelClosed("the producer is closed")
        return self._calls

    def metrics(self) -> Metrics:
        """Kafka's metrics of this producer, by name, beside those of the client (`ClusterClient.metrics`)."""
        total = self._settings.buffer_memory_bytes
        buffers = {"buffer-total-bytes": total, "buffer-available-bytes": max(0, total - self._buffered_bytes)}
        return {**self._sender.metrics.as_metrics(), **buffers}

    async def close(self, *, timeout_ms: float | None = None) -> None:
        """Stop at once; records that are not acknowledged fail with ChannelClosed. `flush` first to wait for them.

        An open transaction is aborted first, within `timeout_ms` (`default.api.timeout.ms`; 0: without waiting). One
        whose abort fails or takes longer is left to the coordinator, which aborts it after the transaction timeout."""
        self._closed = True
        self._memory_freed.set()
        try:
            if self._transactions is not None:
                await self._calls.abort_if_open(timeout_ms)
        finally:
            await self._stop()

    async def _stop(self) -> None:
        if self._transactions is not None:
            await self._transactions.stop()
        await self._sender.stop()
        for queue in self._queues.values():
            for batch in queue.batches:
                batch.fail(ChannelClosed("the producer was closed before the broker acknowledged the record"))
            queue.batches.clear()
