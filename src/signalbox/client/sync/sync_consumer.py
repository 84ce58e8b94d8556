"""The consumer by assignment without an event loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from signalbox.client.client_metrics import Metrics
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import Consumer, ConsumerSettings
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.sync.event_loop_thread import EventLoopThread
from signalbox.common.ids import TopicPartition


class SyncConsumer:
    """`with client.consumer() as consumer:`. For one thread at a time."""

    def __init__(self, thread: EventLoopThread, client: ClusterClient, settings: ConsumerSettings | None) -> None:
        self._thread = thread
        self._consumer = Consumer(client, settings)

    def __enter__(self) -> SyncConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """As Consumer.assign."""
        self._thread.call(self._consumer.assign, positions)

    def poll(self, timeout_ms: float = 1_000, max_records: int = 500) -> list[ConsumedRecord]:
        """As Consumer.poll. An interrupt (Ctrl-C) loses no record: the next call returns it."""
        taken: list[ConsumedRecord] = []

        async def poll() -> list[ConsumedRecord]:
            taken.extend(await self._consumer.poll(timeout_ms, max_records))
            return taken

        try:
            return self._thread.call(poll)
        except BaseException:
            self._thread.schedule(self._consumer.give_back, taken)
            raise

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """As Consumer.seek."""
        self._thread.call(self._consumer.seek, partition, offset)

    def position(self, partition: TopicPartition) -> int:
        """As Consumer.position."""
        return self._thread.run(self._consumer.position, partition)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """As Consumer.pause."""
        self._thread.run(self._consumer.pause, partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """As Consumer.resume."""
        self._thread.run(self._consumer.resume, partitions)

    def metrics(self) -> Metrics:
        """As Consumer.metrics."""
        return self._thread.run(self._consumer.metrics)

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return self._thread.run(lambda: self._consumer.assignment)

    def close(self) -> None:
        """As Consumer.close."""
        self._thread.call(self._consumer.close)
