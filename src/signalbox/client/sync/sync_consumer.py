"""The consumer by assignment without an event loop, and what it shares with the group consumer: records, positions,
pauses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Generic, TypeVar

from signalbox.client.client_metrics import Metrics
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import Consumer, ConsumerSettings
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.sync.event_loop_thread import EventLoopThread
from signalbox.common.ids import TopicPartition

C = TypeVar("C", Consumer, GroupConsumer)


class SyncReader(Generic[C]):
    """Each method is that of the consumer, which runs in the event loop of `thread`."""

    def __init__(self, thread: EventLoopThread, consumer: C) -> None:
        self._thread = thread
        self._consumer: C = consumer

    def poll(self, timeout_ms: float = 1_000, max_records: int = 500) -> list[ConsumedRecord]:
        """The next records, at most `max_records`; empty when none arrived in time. An interrupt (Ctrl-C) loses no
        record: the next call returns it."""
        taken: list[ConsumedRecord] = []

        async def poll() -> list[ConsumedRecord]:
            taken.extend(await self._consumer.poll(timeout_ms, max_records))
            return taken

        try:
            return self._polled(poll)
        except BaseException:
            self._thread.schedule(self._consumer.give_back, taken)
            raise

    def _polled(self, poll: Callable[[], Awaitable[list[ConsumedRecord]]]) -> list[ConsumedRecord]:
        return self._thread.call(poll)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at `offset`, EARLIEST or LATEST. ValueError when the partition is not assigned."""
        self._thread.call(self._consumer.seek, partition, offset)

    def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that `poll` returns; KeyError while it is unknown."""
        return self._thread.run(self._consumer.position, partition)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no records of these partitions until `resume`. ValueError for one that is not assigned."""
        self._thread.run(self._consumer.pause, partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Return records of these partitions again. ValueError for one that is not assigned."""
        self._thread.run(self._consumer.resume, partitions)

    @property
    def paused(self) -> frozenset[TopicPartition]:
        return self._thread.run(lambda: self._consumer.paused)

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are read, paused ones included."""
        return self._thread.run(lambda: self._consumer.assignment)

    def metrics(self) -> Metrics:
        """Kafka's metrics of this consumer, by name."""
        return self._thread.run(self._consumer.metrics)


class SyncConsumer(SyncReader[Consumer]):
    """`with client.consumer() as consumer:`. For one thread at a time."""

    def __init__(self, thread: EventLoopThread, client: ClusterClient, settings: ConsumerSettings | None) -> None:
        super().__init__(thread, Consumer(client, settings))

    def __enter__(self) -> SyncConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """As Consumer.assign."""
        self._thread.call(self._consumer.assign, positions)

    def close(self) -> None:
        """As Consumer.close."""
        self._thread.call(self._consumer.close)
