"""The group consumer without an event loop.

A listener's methods are called in the thread that calls `poll` or `close`, as in the Java client, so that they can call
`commit` and `seek`: the event loop hands each call to that thread and waits for its end.
"""

from __future__ import annotations

import asyncio
import queue
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings, RebalanceListener
from signalbox.client.sync.event_loop_thread import EventLoopThread
from signalbox.client.sync.sync_consumer import SyncReader
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata
from signalbox.common.ids import TopicPartition

T = TypeVar("T")

_Partitions = frozenset[TopicPartition]
_Call = tuple[Callable[[_Partitions], None], _Partitions, "asyncio.Future[None]"]


class SyncRebalanceListener:
    """As RebalanceListener, with methods that may block."""

    def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """New partitions."""

    def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Partitions that this member gives up; it can still commit their offsets."""

    def on_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """Partitions that another member may have by now."""


class _HandedOver(RebalanceListener):
    """Hands the calls of a listener to the thread that waits in `poll` or `close`."""

    def __init__(self, listener: SyncRebalanceListener, hand_over: Callable[[_Call], None]) -> None:
        self._listener = listener
        self._put = hand_over

    async def on_assigned(self, partitions: _Partitions) -> None:
        await self._hand_over(self._listener.on_assigned, partitions)

    async def on_revoked(self, partitions: _Partitions) -> None:
        await self._hand_over(self._listener.on_revoked, partitions)

    async def on_lost(self, partitions: _Partitions) -> None:
        await self._hand_over(self._listener.on_lost, partitions)

    async def _hand_over(self, method: Callable[[_Partitions], None], partitions: _Partitions) -> None:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._put((method, partitions, ended))
        await ended


class SyncGroupConsumer(SyncReader[GroupConsumer]):
    """`with client.group_consumer(settings) as consumer:`. For one thread at a time. `client` is its own."""

    def __init__(self, thread: EventLoopThread, client: ClusterClient, settings: GroupConsumerSettings) -> None:
        super().__init__(thread, GroupConsumer(client, settings, owns_client=True))
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._in_use = threading.Lock()
        self._in_loop = asyncio.Lock()  # an interrupted call may still be ending when the next one begins
        self._thread.call(self._consumer.__aenter__)

    def __enter__(self) -> SyncGroupConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def subscribe(self, topics: Iterable[str] | re.Pattern[str], listener: SyncRebalanceListener | None = None) -> None:
        """As GroupConsumer.subscribe."""
        handed_over = _HandedOver(listener, lambda call: self._calls.put(call)) if listener is not None else None
        self._thread.run(self._consumer.subscribe, topics, handed_over)

    def unsubscribe(self, *, timeout_ms: float = 30_000) -> None:
        """As GroupConsumer.unsubscribe."""
        self._call_with_listener(lambda: self._consumer.unsubscribe(timeout_ms=timeout_ms))

    def _polled(self, poll: Callable[[], Awaitable[list[ConsumedRecord]]]) -> list[ConsumedRecord]:
        return self._call_with_listener(poll)

    def commit(
        self,
        offsets: Mapping[TopicPartition, int | CommittedOffset] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """As GroupConsumer.commit."""
        self._thread.call(self._consumer.commit, offsets, timeout_ms=timeout_ms)

    def committed(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, CommittedOffset]:
        """As GroupConsumer.committed."""
        return self._thread.call(self._consumer.committed, partitions, timeout_ms=timeout_ms)

    def group_metadata(self) -> ConsumerGroupMetadata:
        """As GroupConsumer.group_metadata."""
        return self._thread.run(self._consumer.group_metadata)

    @property
    def subscription(self) -> frozenset[str]:
        """As GroupConsumer.subscription."""
        return self._thread.run(lambda: self._consumer.subscription)

    @property
    def member_id(self) -> str:
        """As GroupConsumer.member_id."""
        return self._thread.run(lambda: self._consumer.member_id)

    @property
    def generation(self) -> int:
        """As GroupConsumer.generation."""
        return self._thread.run(lambda: self._consumer.generation)

    def close(self, *, timeout_ms: float = 30_000) -> None:
        """As GroupConsumer.close."""
        self._call_with_listener(lambda: self._consumer.close(timeout_ms=timeout_ms))

    def _call_with_listener(self, method: Callable[[], Awaitable[T]]) -> T:
        """The result of a call, during which this thread executes the calls of the listener. RuntimeError while another
        thread, or this one further up, is in such a call."""

        async def run() -> T:
            async with self._in_loop:
                return await method()

        if not self._in_use.acquire(blocking=False):
            raise RuntimeError("another call is under way: a consumer is for one thread at a time")
        try:
            return self._wait_for(run)
        finally:
            self._in_use.release()

    def _wait_for(self, method: Callable[[], Awaitable[T]]) -> T:
        calls = self._calls = queue.SimpleQueue()  # a new one: an interrupted call may have left its end in the old one
        future = self._thread.submit(method)
        future.add_done_callback(lambda _: calls.put(None))
        try:
            while (call := calls.get()) is not None:
                self._execute(*call)
            return self._thread.result_of(future)
        except BaseException:
            future.cancel()
            raise

    def _execute(
        self, method: Callable[[_Partitions], None], partitions: _Partitions, ended: asyncio.Future[None]
    ) -> None:
        """One call of the listener; its exception ends `poll` or `close`."""
        try:
            method(partitions)
        except Exception as error:
            self._thread.schedule(_fail, ended, error)
        else:
            self._thread.schedule(_succeed, ended)


def _succeed(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


def _fail(ended: asyncio.Future[None], error: Exception) -> None:
    if not ended.done():
        ended.set_exception(error)
