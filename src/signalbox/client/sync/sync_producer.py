"""The producer without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.client_metrics import Metrics
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.sender.producer_batch import RecordMetadata
from signalbox.client.sync.event_loop_thread import EventLoopThread
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata
from signalbox.common.ids import TopicPartition


class SyncProducer:
    """`with client.producer() as producer:`; without an exception the end of the block waits for all records."""

    def __init__(self, thread: EventLoopThread, client: ClusterClient, settings: ProducerSettings | None) -> None:
        self._thread = thread
        self._producer = Producer(client, settings)
        self._thread.call(self._producer.__aenter__)

    def __enter__(self) -> SyncProducer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._thread.call(self._producer.__aexit__, kind)

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> Future[RecordMetadata]:
        """As Producer.send: returns when the record is queued; the future is its acknowledgement."""
        queued = self._thread.call(
            self._producer.send, topic, value, key, partition=partition, headers=headers, timestamp_ms=timestamp_ms
        )

        async def acknowledged() -> RecordMetadata:
            return await asyncio.shield(queued)

        return self._thread.submit(acknowledged)

    def init_transactions(self, *, timeout_ms: float | None = None) -> None:
        """As Producer.init_transactions."""
        self._thread.call(self._producer.init_transactions, timeout_ms=timeout_ms)

    def begin_transaction(self) -> None:
        """As Producer.begin_transaction."""
        self._thread.run(self._producer.begin_transaction)

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, int | CommittedOffset],
        group_metadata: ConsumerGroupMetadata,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """As Producer.send_offsets_to_transaction."""
        self._thread.call(self._producer.send_offsets_to_transaction, offsets, group_metadata, timeout_ms=timeout_ms)

    def commit_transaction(self, *, timeout_ms: float | None = None) -> None:
        """As Producer.commit_transaction."""
        self._thread.call(self._producer.commit_transaction, timeout_ms=timeout_ms)

    def abort_transaction(self, *, timeout_ms: float | None = None) -> None:
        """As Producer.abort_transaction."""
        self._thread.call(self._producer.abort_transaction, timeout_ms=timeout_ms)

    @contextmanager
    def transaction(self) -> Iterator[SyncProducer]:
        """As Producer.transaction."""
        transaction = self._producer.transaction()
        self._thread.call(transaction.__aenter__)
        try:
            yield self
        except BaseException as error:
            self._thread.call(transaction.__aexit__, type(error), error, error.__traceback__)
            raise
        self._thread.call(transaction.__aexit__, None, None, None)

    def flush(self) -> None:
        """As Producer.flush."""
        self._thread.call(self._producer.flush)

    def metrics(self) -> Metrics:
        """As Producer.metrics."""
        return self._thread.run(self._producer.metrics)

    def close(self, *, timeout_ms: float | None = None) -> None:
        """As Producer.close: records that are not acknowledged fail, `flush` first to wait for them; an open
        transaction is aborted."""
        self._thread.call(self._producer.close, timeout_ms=timeout_ms)
