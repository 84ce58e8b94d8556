"""Group members over an in-process cluster: each polls in a task of its own and notes its rebalances and records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster.metadata_updater import MetadataUpdater
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import ConsumerSettings
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings, RebalanceListener
from signalbox.client.producer import Producer
from signalbox.common.ids import TopicPartition
from signalbox.protocol.messages.metadata import MetadataRequest
from tests.waiting import until_answered, until_true

EARLIEST = ConsumerSettings(auto_offset_reset="earliest", fetch_max_wait_ms=50)


def numbers(partitions: frozenset[TopicPartition]) -> str:
    """The partitions of a test's only topic, `0 1 2`."""
    return " ".join(str(row.partition) for row in sorted(partitions))


class Member(RebalanceListener):
    """`events` are the calls of the listener, `assigned 0 1`."""

    def __init__(self, consumer: GroupConsumer) -> None:
        self.consumer = consumer
        self.events: list[str] = []
        self.records: list[ConsumedRecord] = []
        self.failure: BaseException | None = None
        self._task: asyncio.Task[None] | None = None

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        self.events.append(f"assigned {numbers(partitions)}")

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        self.events.append(f"revoked {numbers(partitions)}")

    async def on_lost(self, partitions: frozenset[TopicPartition]) -> None:
        self.events.append(f"lost {numbers(partitions)}")

    @property
    def values(self) -> list[bytes]:
        return [row.value or b"" for row in self.records]

    @property
    def has(self) -> str:
        return numbers(self.consumer.assignment)

    def start(self, *topics: str) -> None:
        """Subscribe, if topics are given, and poll until `pause_polling`."""
        if topics:
            self.consumer.subscribe(topics, self)
        self._task = asyncio.get_running_loop().create_task(self._poll())

    async def _poll(self) -> None:
        try:
            while True:
                self.records += await self.consumer.poll(200)
        except Exception as error:
            self.failure = error

    async def pause_polling(self) -> None:
        """As an application that is busy or dead: no poll, no close."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def leave(self) -> None:
        await self.pause_polling()
        await self.consumer.close()


class Group:
    """Members of one group, which all leave at the end of the test."""

    def __init__(self, bootstrap: str, group_id: str, client: ClusterClient) -> None:
        self.bootstrap = bootstrap
        self.group_id = group_id
        self.client = client
        self.members: list[Member] = []
        self._clients: list[ClusterClient] = []

    async def member(self, **fields: Any) -> Member:
        given = {"heartbeat_interval_ms": 50, "session_timeout_ms": 10_000, "fetch": EARLIEST, **fields}
        client = ClusterClient(ClientSettings.of(self.bootstrap, retry_backoff_ms=20))
        client.start()
        self._clients.append(client)
        made = Member(GroupConsumer(client, GroupConsumerSettings(group_id=self.group_id, **given)))
        self.members.append(made)
        return made

    def updater(self, member: Member) -> MetadataUpdater:
        """The metadata updater of a member's client."""
        return self._clients[self.members.index(member)].metadata_updater

    def refresh(self, member: Member) -> None:
        """As when `metadata.max.age.ms` has passed."""
        self.updater(member).refresh_soon()

    async def close(self) -> None:
        for member in self.members:
            await member.leave()
        for client in self._clients:
            await client.close()

    async def create(self, topic: str, partitions: int) -> None:
        (await AdminClient(self.client).create_topics([NewTopic(name=topic, num_partitions=partitions)]))[
            topic
        ].raise_for_error()
        for node_id in list(self.client.view.nodes):
            await self._known_by(node_id, topic, partitions)

    async def _known_by(self, node_id: int, topic: str, partitions: int) -> None:
        """Wait until a broker names the topic: older metadata gives a member nothing at first."""
        names = [MetadataRequest.MetadataRequestTopic(name=topic)]
        request = MetadataRequest(topics=names, allow_auto_topic_creation=False)

        async def knows() -> bool:
            response = await self.client.request(node_id, request)
            return len(response.topics[0].partitions) == partitions

        await until_answered(knows)

    async def produce(self, topic: str, values: list[bytes], partitions: int) -> None:
        """Value number i goes to partition i modulo `partitions`."""
        async with Producer(self.client) as producer:
            for index, value in enumerate(values):
                await producer.send(topic, value, partition=index % partitions)

    async def settled(self, *expected: str) -> None:
        """Wait until the members, in order of their creation, have these partitions."""
        await until_true(lambda: [member.has for member in self.members] == list(expected))


@asynccontextmanager
async def group(bootstrap: str, group_id: str) -> AsyncIterator[Group]:
    async with ClusterClient(ClientSettings.of(bootstrap)) as client:
        made = Group(bootstrap, group_id, client)
        try:
            yield made
        finally:
            await made.close()


def with_group(bootstrap: str, group_id: str, test: Callable[[Group], Awaitable[None]]) -> None:
    async def run() -> None:
        async with group(bootstrap, group_id) as made:
            await test(made)

    asyncio.run(run())
