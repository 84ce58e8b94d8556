"""A client of one cluster for programs without an event loop: `call` for admin, and producers and consumers.

with SyncClient.of("host:9092") as client:
    client.call(client.admin.create_topics, [NewTopic(name="t", num_partitions=3)])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

from signalbox.client.admin import AdminClient
from signalbox.client.client_metrics import Metrics
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import ConsumerSettings
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.producer import ProducerSettings
from signalbox.client.sync.event_loop_thread import EventLoopThread
from signalbox.client.sync.sync_consumer import SyncConsumer
from signalbox.client.sync.sync_group_consumer import SyncGroupConsumer
from signalbox.client.sync.sync_producer import SyncProducer

P = ParamSpec("P")
T = TypeVar("T")


class SyncClient:
    """Started when it is created; `close`, or a `with` block, ends it. Close its producers and consumers first: records
    that are not acknowledged fail, and a group waits for the session timeout of a member that is left open."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._thread = EventLoopThread("signalbox client")
        self._client = ClusterClient(settings)
        self._clients: WeakSet[ClusterClient] = WeakSet([self._client])  # and those of group consumers
        self.admin = AdminClient(self._client)
        self._thread.run(self._client.start)

    @classmethod
    def of(cls, bootstrap_servers: str, **fields: Any) -> SyncClient:
        """A client with defaults; `fields` are fields of ClientSettings."""
        return cls(ClientSettings.of(bootstrap_servers, **fields))

    def __enter__(self) -> SyncClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a method of `admin`."""
        return self._thread.call(method, *args, **kwargs)

    def metrics(self) -> Metrics:
        """As ClusterClient.metrics: of `admin`, the producers and the consumers by assignment."""
        return self._thread.run(self._client.metrics)

    def producer(self, settings: ProducerSettings | None = None) -> SyncProducer:
        return SyncProducer(self._thread, self._client, settings)

    def consumer(self, settings: ConsumerSettings | None = None) -> SyncConsumer:
        """A consumer by assignment."""
        return SyncConsumer(self._thread, self._client, settings)

    def group_consumer(self, settings: GroupConsumerSettings) -> SyncGroupConsumer:
        """A member of a group, with connections of its own."""
        client = ClusterClient(self._settings)
        self._clients.add(client)
        return SyncGroupConsumer(self._thread, client, settings)

    def close(self) -> None:
        """Close the connections and end the thread; a second call does nothing. Calls of other threads end with
        ChannelClosed."""
        if not self._thread.is_closed:
            self._thread.close(self._close_clients)

    async def _close_clients(self) -> None:
        for client in tuple(self._clients):
            await client.close()
