"""The client under test, as the drill sees it; and Signalbox's own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from signalbox.client.producer import ProducerSettings
from signalbox.client.sync.sync_client import SyncClient
from signalbox.testing.kafka_cluster.client_config import ClientConfig

TOPIC = "drill"
PARTITIONS = 3
_SENDERS = 12


class DrillClient(Protocol):
    """A producer of the topic `drill`, which has the partitions 0 to 2. It is neither restarted nor replaced during a
    story; acks=all and idempotence are expected of it."""

    def send(self, partition: int, value: bytes) -> Future[Any]:
        """Returns at once. The future has a result when the record is acknowledged, an exception when it has failed."""
        ...

    def close(self) -> None:
        """Ends the client; records that are not acknowledged may be dropped."""
        ...


StartClient = Callable[[ClientConfig], DrillClient]
"""Makes a client for the bootstrap servers of the configuration."""


class SignalboxProducer:
    """Signalbox's producer, which keeps to the cluster of its first connection (`signalbox.cluster.id.policy`)."""

    def __init__(self, config: ClientConfig) -> None:
        settings = config.settings(signalbox_cluster_id_policy="pin-first", request_timeout_ms="2000")
        self._client = SyncClient(settings)
        self._producer = self._client.producer(ProducerSettings(delivery_timeout_ms=60_000, linger_ms=0))
        self._senders = ThreadPoolExecutor(_SENDERS, thread_name_prefix="drill")

    def send(self, partition: int, value: bytes) -> Future[Any]:
        # The producer's `send` waits for the topic's metadata, so it is called in a thread.
        return self._senders.submit(lambda: self._producer.send(TOPIC, value, partition=partition).result())

    def close(self) -> None:
        self._producer.close()
        self._client.close()
        self._senders.shutdown(cancel_futures=True)
