"""The consumer by assignment without an event loop."""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import Consumer, ConsumerSettings
from signalbox.client.sync.event_loop_thread import EventLoopThread
from signalbox.client.sync.sync_reader import SyncReader
from signalbox.common.ids import TopicPartition


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
