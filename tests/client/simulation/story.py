"""One run of a client in the simulated network: a producer, a consumer and admin calls beside faults drawn by a seed.

Node 3 and its address have no faults. The faults end before the run does, so that everything can be delivered.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from random import Random
from typing import Any

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.offset_admin import EARLIEST
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import Address
from signalbox.client.consumer import Consumer, ConsumerSettings
from signalbox.client.failures import ClientFailure
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.sender.producer_batch import RecordMetadata
from signalbox.common.ids import TopicPartition
from signalbox.protocol.messages.metadata import MetadataRequest
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.client.simulation.network import Network, Route
from tests.client.simulation.virtual_loop import pass_time

HEALTHY = 3
FAULTY = (1, 2)
LEADERS = (1, 2, 3, 1, 2, 3)
FAULTS_END_S, SEND_EVERY_S = 12.0, 0.05
CONNECT_TIMEOUT_MS = 500
_READ_S = 300.0  # then what has not been read is lost


class Story:
    """`acknowledged_at`: the times of the acknowledgements of each partition; `overruns_s`: by how much each call has
    missed its deadline; `rounds`: the largest number of rounds over the bootstrap servers at a time."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.network = Network(self.random)
        self.cluster, self.foreign = LoopbackCluster("cluster-A"), LoopbackCluster("cluster-B")
        self.sent: dict[int, list[bytes]] = {index: [] for index in range(len(LEADERS))}
        self.failures: list[BaseException] = []
        self.acknowledged_at: dict[int, list[float]] = {index: [] for index in self.sent}
        self.consumed: list[ConsumedRecord] = []
        self.overruns_s: list[float] = []
        self.faults: list[str] = []
        self._elsewhere = itertools.cycle([self.foreign, self.cluster])
        self.rounds = self.rebootstraps = 0
        self._rounds_now = 0
        for number, cluster in ((0, self.cluster), (10, self.foreign)):
            for node_id in (1, 2, 3):
                cluster.brokers[node_id] = LoopbackBroker(node_id, cluster)
                cluster.advertised[node_id] = (f"10.0.0.{number + node_id}", 9092)
        self.cluster.add_topic("t", *LEADERS)
        self.routes = {node_id: Route(broker) for node_id, broker in self.cluster.brokers.items()}
        self.network.routes = {Address(*self.cluster.advertised[node_id]): one for node_id, one in self.routes.items()}

    async def run(self) -> None:
        settings = ClientSettings.of(
            self.cluster.bootstrap,
            cluster_id_policy="pin-first",
            connect_timeout_ms=CONNECT_TIMEOUT_MS,
            request_timeout_ms=2_000,
            api_timeout_ms=10_000,
        )
        async with ClusterClient(settings) as client:
            self._count_rounds(client)
            async with asyncio.TaskGroup() as tasks:
                faults = tasks.create_task(self._cause_faults())
                tasks.create_task(self._call(client, faults))
                tasks.create_task(self._produce(client, faults))
                tasks.create_task(self._consume(client, faults))
            self.rebootstraps = client.rebootstraps

    def _count_rounds(self, client: ClusterClient) -> None:
        seeds = client.metadata_updater.seeds
        ask = seeds.ask

        async def counted(request: MetadataRequest, timeout_ms: float) -> AsyncGenerator[tuple[Address, Any], None]:
            self._rounds_now += 1
            self.rounds = max(self.rounds, self._rounds_now)
            try:
                async for answer in ask(request, timeout_ms):
                    yield answer
            finally:
                self._rounds_now -= 1

        seeds.ask = counted  # type: ignore[method-assign]

    # -- the workload

    async def _produce(self, client: ClusterClient, faults: asyncio.Task[None]) -> None:
        loop, number = asyncio.get_running_loop(), 0

        def acknowledged(done: asyncio.Future[RecordMetadata]) -> None:
            if done.exception() is not None:
                self.failures.append(done.exception() or RuntimeError())
            else:
                self.acknowledged_at[done.result().topic_partition.partition].append(loop.time())

        async with Producer(client, ProducerSettings(delivery_timeout_ms=120_000)) as producer:
            while not faults.done():
                index, value = number % len(LEADERS), b"%d" % number
                (await producer.send("t", value, partition=index)).add_done_callback(acknowledged)
                self.sent[index].append(value)
                number += 1
                await pass_time(SEND_EVERY_S)

    async def _consume(self, client: ClusterClient, faults: asyncio.Task[None]) -> None:
        consumer = Consumer(client, ConsumerSettings(fetch_max_wait_ms=50))
        partitions = [TopicPartition("t", index) for index in self.sent]
        await consumer.assign(dict.fromkeys(partitions, 0))
        loop = asyncio.get_running_loop()
        give_up = loop.time() + _READ_S
        while not faults.done() or len(self.consumed) < sum(map(len, self.sent.values())):
            began, timeout_ms = loop.time(), self.random.choice([0, 50, 1_000])
            if began > give_up:
                return
            self.consumed += await consumer.poll(timeout_ms)
            self.overruns_s.append(loop.time() - began - timeout_ms / 1000)
            await pass_time(0.05)
        await consumer.close()

    async def _call(self, client: ClusterClient, faults: asyncio.Task[None]) -> None:
        admin, loop = AdminClient(client), asyncio.get_running_loop()
        calls: list[Callable[[float], Any]] = [
            lambda timeout_ms: admin.list_topics(timeout_ms=timeout_ms),
            lambda timeout_ms: admin.list_offsets([TopicPartition("t", 0)], EARLIEST, timeout_ms=timeout_ms),
            lambda timeout_ms: client.topic("t", timeout_ms=timeout_ms),
            lambda timeout_ms: client.request_any(MetadataRequest(topics=[]), timeout_ms=timeout_ms),
        ]
        while not faults.done():
            began, timeout_ms = loop.time(), self.random.choice([20, 300, 3_000])
            with suppress(ClientFailure):
                await self.random.choice(calls)(timeout_ms)
            self.overruns_s.append(loop.time() - began - timeout_ms / 1000)
            await pass_time(0.1)

    # -- the faults

    async def _cause_faults(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + FAULTS_END_S
        wirings = [self._swap, self._misroute, self._heal]
        kinds = [*wirings, self._swallow, self._take_down, self._delay, self._sever, self._move]
        while loop.time() < end:
            await pass_time(self.random.expovariate(2.0))
            kind = self.random.choice(kinds)
            kind(self.random.choice(FAULTY))
            self.faults.append(f"{end - loop.time():.3f} {kind.__name__}")
        self.network.restore()

    def _swap(self, _: int) -> None:
        one, other = (self.routes[node_id] for node_id in FAULTY)
        one.broker, other.broker = other.broker, one.broker
        self._sever_all()

    def _misroute(self, node_id: int) -> None:
        cluster = next(self._elsewhere)
        self.routes[node_id].broker = self.random.choice(list(cluster.brokers.values()))
        self._sever(node_id)

    def _swallow(self, node_id: int) -> None:
        self.routes[node_id].swallows = True

    def _take_down(self, node_id: int) -> None:
        self.routes[node_id].is_down = True
        self._sever(node_id)

    def _delay(self, node_id: int) -> None:
        self.routes[node_id].delay_s = self.random.uniform(0.01, 0.6)

    def _move(self, node_id: int) -> None:
        """Partitions of nodes 1 and 2 get another leader; those of node 3 stay."""
        for index, partition in self.cluster.topics["t"].items():
            if LEADERS[index] != HEALTHY and self.random.random() < 0.5:
                partition.leader = self.random.choice((1, 2, 3))
                partition.leader_epoch += 1

    def _heal(self, node_id: int) -> None:
        self.routes[node_id].restore()
        self._sever(node_id)

    def _sever(self, node_id: int) -> None:
        self.network.sever(Address(*self.cluster.advertised[node_id]))

    def _sever_all(self) -> None:
        for node_id in FAULTY:
            self._sever(node_id)

    # -- what is in the logs

    def stored(self, index: int) -> list[bytes]:
        """The values in the log of a partition."""
        return [record.value or b"" for record in self.cluster.topics["t"][index].records()]

    def read(self, index: int) -> list[bytes]:
        return [row.value or b"" for row in self.consumed if row.partition == index]
