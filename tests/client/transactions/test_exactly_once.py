"""Consume, transform, produce: exactly once, although connections are cut and coordinators fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.producer import Producer
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.testing.cluster import Cluster
from tests.client.transactions.conftest import OVERRIDES, finalize
from tests.client.transactions.transactional import (
    COMMITTED,
    Cuts,
    RandomCuts,
    client_of,
    cutting,
    producer_of,
    settings,
    values,
)

pytestmark = pytest.mark.spec("R10")

_RECORDS = 24
_IN_TRANSACTION = 4
CUT_KINDS = [
    ApiKey.FIND_COORDINATOR,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.PRODUCE,
    ApiKey.END_TXN,
]
_ONLY_VERSION_1 = (ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN)


async def provide(client: ClusterClient, topic: str) -> None:
    async with Producer(client) as producer:
        for number in range(_RECORDS):
            await producer.send(topic, b"%d" % number, partition=number % 2)


class Loop:
    """Reads `source`, writes the same values to `sink`; the next step is `before_commit`, in every transaction."""

    def __init__(self, bootstrap: str, source: str, sink: str) -> None:
        self.sink = sink
        self.source = source
        self.bootstrap = bootstrap
        self.copied = 0
        self.aborts = 0
        self.delivery_timeout_ms = 120_000.0
        self.before_commit: Callable[[int], None] = lambda _: None

    async def run(self, client: ClusterClient) -> None:
        member = GroupConsumerSettings(group_id=f"copy-{self.sink}", enable_auto_commit=False, fetch=COMMITTED)
        async with (
            ClusterClient(settings(self.bootstrap)) as own,
            GroupConsumer(own, member) as consumer,
            producer_of(client, self.sink, delivery_timeout_ms=self.delivery_timeout_ms) as producer,
        ):
            consumer.subscribe([self.source])
            await producer.init_transactions()
            async with asyncio.timeout(120):
                while self.copied < _RECORDS:
                    records = await consumer.poll(1_000, _IN_TRANSACTION)
                    if records:
                        await self._copy(consumer, producer, records)

    async def _copy(self, consumer: GroupConsumer, producer: Producer, records: list[ConsumedRecord]) -> None:
        try:
            async with producer.transaction():
                for record in records:
                    await producer.send(self.sink, record.value, partition=record.partition)
                offsets = {TopicPartition(row.topic, row.partition): row.offset + 1 for row in records}
                await producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
                self.before_commit(self.copied)
        except ClientFailure:
            self.aborts += 1
            for record in reversed(records):
                await consumer.seek(TopicPartition(record.topic, record.partition), record.offset)
        else:
            self.copied += len(records)

    async def check(self, client: ClusterClient) -> None:
        assert await values(client, self.sink, 2) == [
            [b"%d" % number for number in range(_RECORDS) if number % 2 == index] for index in (0, 1)
        ]
        partitions = [TopicPartition(self.source, index) for index in (0, 1)]
        committed = await AdminClient(client).committed_offsets(
            f"copy-{self.sink}", partitions=partitions, require_stable=True
        )
        assert [*committed] == partitions
        assert {row.offset for row in committed.values()} == {_RECORDS // 2}


async def copy(
    bootstrap: str, name: str, cuts_of: Callable[[Loop], Cuts], delivery_timeout_ms: float = 120_000
) -> Loop:
    source, sink = f"{name}-in", f"{name}-out"
    async with client_of(bootstrap, **{source: 2, sink: 2}) as client:
        await provide(client, source)
        loop = Loop(bootstrap, source, sink)
        loop.delivery_timeout_ms = delivery_timeout_ms
        with cutting(cuts_of(loop)):
            await loop.run(client)
        await loop.check(client)
        return loop


@pytest.mark.parametrize("executed", [True, False], ids=["response lost", "connection lost"])
@pytest.mark.parametrize("api_key", CUT_KINDS, ids=lambda key: key.name)
def test_each_record_is_copied_once_although_requests_are_lost(
    both_versions: Cluster, api_key: ApiKey, executed: bool, request: pytest.FixtureRequest
) -> None:
    version = request.node.callspec.params["both_versions"]
    cuts = Cuts(api_key, executed=executed, when=lambda number: number in (1, 2, 4, 7))
    name = f"cut-{version}-{api_key.name}-{executed}"
    loop = asyncio.run(copy(both_versions.bootstrap_servers, name, lambda _: cuts))
    assert cuts.cuts == 0 if version == 2 and api_key in _ONLY_VERSION_1 else cuts.cuts >= 2
    assert loop.aborts == 0


@pytest.mark.parametrize("seed", range(2))
def test_each_record_is_copied_once_although_any_request_may_be_lost(both_versions: Cluster, seed: int) -> None:
    cuts = RandomCuts(seed, CUT_KINDS, 0.3)
    name = f"random-{seed}"
    asyncio.run(copy(both_versions.bootstrap_servers, name, lambda _: cuts))
    assert cuts.cuts


@pytest.mark.parametrize("executed", [True, False], ids=["response lost", "connection lost"])
def test_each_record_is_copied_once_although_batches_are_given_up(both_versions: Cluster, executed: bool) -> None:
    """Their transactions are aborted, and the records are read again: two of them, each while all exchanges fail."""

    def until_aborted(loop: Loop) -> Cuts:
        def is_cut(_: int) -> bool:
            return loop.aborts < (1 if loop.copied < _RECORDS // 2 else 2)

        return Cuts(ApiKey.PRODUCE, executed=executed, when=is_cut)

    name = f"given-up-{executed}"
    loop = asyncio.run(copy(both_versions.bootstrap_servers, name, until_aborted, delivery_timeout_ms=60))
    assert loop.aborts >= 2


@pytest.mark.parametrize("version", [1, 2])
def test_each_record_is_copied_once_although_the_coordinator_fails(version: int) -> None:
    async def test(cluster: Cluster) -> None:
        async with client_of(cluster.bootstrap_servers, **{"in": 2, "out": 2}) as client:
            await provide(client, "in")
            loop = Loop(cluster.bootstrap_servers, "in", "out")
            stopped: list[int] = []

            def fail_coordinator(copied: int) -> None:
                if copied >= _IN_TRANSACTION and not stopped:
                    stopped.append(coordinator_id)
                    cluster.stop_broker(coordinator_id)

            loop.before_commit = fail_coordinator
            async with producer_of(client, "out") as producer:
                await producer.init_transactions()
            described = await AdminClient(client).describe_transactions(["out"])
            coordinator_id = described["out"].coordinator_id
            await loop.run(client)
            assert stopped
            cluster.start_broker(coordinator_id)
            await loop.check(client)

    with Cluster(brokers=3, overrides=OVERRIDES) as cluster:
        if version > 1:
            asyncio.run(finalize(cluster, version))
        asyncio.run(test(cluster))
