"""Clusters, producers and consumers for tests of transactions; and connections that are cut at a chosen request."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from signalbox.client.aborted_transactions import READ_COMMITTED
from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.offset_admin import EARLIEST, OffsetAdmin
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.connection import ClientConnection
from signalbox.client.connection.node import parse_bootstrap_servers
from signalbox.client.connection.wire_frames import api_key_of
from signalbox.client.consumer import Consumer, ConsumerSettings
from signalbox.client.failures import ConnectionLost
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey

COMMITTED = ConsumerSettings(isolation_level="read_committed", fetch_max_wait_ms=50)
EVERYTHING = ConsumerSettings(fetch_max_wait_ms=50)


def settings(bootstrap: str) -> ClientSettings:
    return ClientSettings(bootstrap=parse_bootstrap_servers(bootstrap), retry_backoff_ms=20, retry_backoff_max_ms=200)


@asynccontextmanager
async def client_of(bootstrap: str, **topics: int) -> AsyncIterator[ClusterClient]:
    """A client; `topics` with these numbers of partitions exist afterwards, on every broker."""
    async with ClusterClient(settings(bootstrap)) as client:
        new = [NewTopic(name=name, num_partitions=count) for name, count in topics.items()]
        for result in (await AdminClient(client).create_topics(new)).values():
            result.raise_for_error()
        for name in topics:
            await client.topic(name)
        yield client


def producer_of(client: ClusterClient, transactional_id: str, **fields: Any) -> Producer:
    return Producer(client, ProducerSettings(transactional_id=transactional_id, linger_ms=1, **fields))


async def values(
    client: ClusterClient,
    topic: str,
    partitions: int = 1,
    settings: ConsumerSettings = COMMITTED,
    *,
    is_open: bool = False,
) -> list[list[bytes]]:
    """All values by partition, up to the last stable offset or the high watermark. Unless a transaction `is_open`, when
    the markers of all transactions are written, which the coordinator does after its response."""
    consumer = Consumer(client, settings)
    rows = [TopicPartition(topic, index) for index in range(partitions)]
    offsets = OffsetAdmin(client)
    async with asyncio.timeout(60):
        while not is_open and await offsets.list_offsets(rows) != await offsets.list_offsets(
            rows, isolation_level=READ_COMMITTED
        ):
            await client.pause(1, client.deadline())
    await consumer.assign(dict.fromkeys(rows, EARLIEST))
    ends = {row: await consumer.offset_at(row, -1) for row in rows}
    found: list[list[bytes]] = [[] for _ in rows]
    async with asyncio.timeout(60):
        while any(consumer.position(row) < ends[row] for row in rows):
            for record in await consumer.poll(200):
                found[record.partition].append(record.value or b"")
    await consumer.close()
    return found


class Cuts:
    """Closes the connection of a request: `executed` after the response has arrived at the connection, which loses it,
    else when the request was written. `when(n)`: whether the n-th request of the kind is cut, from 1."""

    def __init__(self, api_key: ApiKey, *, executed: bool, when: Callable[[int], bool]) -> None:
        self.api_key = api_key
        self.executed = executed
        self.when = when
        self.requests = 0
        self.cuts = 0
        self.lost_responses = 0  # of requests that were certainly executed

    def is_due(self, message: Any) -> bool:
        """Whether the request with this message is cut."""
        if api_key_of(message) != self.api_key or getattr(message, "transactions", None):
            return False  # another kind, or AddPartitionsToTxn of a broker
        self.requests += 1
        due = self.when(self.requests)
        self.cuts += due
        return due


class RandomCuts(Cuts):
    """Cuts requests of all these kinds, before or after they are executed, each with a probability."""

    def __init__(self, seed: int, api_keys: Collection[ApiKey], probability: float) -> None:
        super().__init__(ApiKey.PRODUCE, executed=True, when=lambda _: True)
        self._random = random.Random(seed)
        self._api_keys = api_keys
        self._probability = probability

    def is_due(self, message: Any) -> bool:
        if api_key_of(message) not in self._api_keys or getattr(message, "transactions", None):
            return False
        self.executed = self._random.random() < 0.5
        due = self._random.random() < self._probability
        self.cuts += due
        return due


@contextmanager
def cutting(cuts: Cuts) -> Iterator[Cuts]:
    """Inside this context the connections of this process are cut."""
    request = ClientConnection.request

    async def cut_request(self: ClientConnection, message: Any, **fields: Any) -> Any:
        if not cuts.is_due(message):
            return await request(self, message, **fields)
        executed, sent = cuts.executed, asyncio.ensure_future(request(self, message, **fields))
        if executed:
            await sent
            cuts.lost_responses += 1
            self.close("cut by the test")
            raise ConnectionLost(self.address, "cut by the test")
        await asyncio.sleep(0)
        self.close("cut by the test")
        return await sent

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClientConnection, "request", cut_request)
        yield cuts
