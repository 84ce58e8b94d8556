"""The producer without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future

from signalbox.client.client_metrics import Metrics
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.sender.producer_batch import RecordMetadata
from signalbox.client.sync.event_loop_thread import EventLoopThread


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

    def flush(self) -> None:
        """As Producer.flush."""
        self._thread.call(self._producer.flush)

    def metrics(self) -> Metrics:
        """As Producer.metrics."""
        return self._thread.run(self._producer.metrics)

    def close(self) -> None:
        """As Producer.close: records that are not acknowledged fail. `flush` first to wait for them."""
        self._thread.call(self._producer.close)
