"""ISR changes that a leader stores itself: what it may write, and what is rejected."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.metadata.entries.partition_state import LeaderRecoveryState, PartitionState, decode_partition_state
from signalbox.metadata.layout import create_roots, partition_path, partition_state_path, partitions_path, topic_path
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, OperationResult, StoreUnavailable, Write
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from signalbox.replication.isr.isr_state import RECOVERED, RECOVERING
from signalbox.replication.isr.stored_isr import StoredIsr

pytestmark = pytest.mark.spec("M2", "M3")

LEADER = 1
STATE = PartitionState(leader=LEADER, leader_epoch=4, isr=(1, 2, 3), controller_epoch=9, partition_epoch=0)
IsrResponse = AlterPartitionResponse | Error


class Store(MemoryMetadataStore):
    """A store whose responses can be lost after the commit."""

    lost_answers = 0

    async def commit(self, *arguments: Any) -> list[OperationResult]:
        results = await super().commit(*arguments)
        if self.lost_answers:
            self.lost_answers -= 1
            raise StoreUnavailable("the answer was lost")
        return results


class Announced:
    """Keeps the announced partitions."""

    def __init__(self) -> None:
        self.partitions: list[TopicPartition] = []
        self.stopped = False

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        self.partitions += partitions

    async def stop(self) -> None:
        self.stopped = True


class Bench:
    """Topic t with partitions 0 to 2. Broker 1 leads them with leader epoch 4."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.announced = Announced()
        self.pauses = 0
        self.sender = StoredIsr(store, self.announced, self.pause)

    async def pause(self) -> None:
        self.pauses += 1

    async def ask(self, *partition_data: AlterPartitionRequest.PartitionData, broker_id: int = LEADER) -> IsrResponse:
        response: asyncio.Future[IsrResponse] = asyncio.get_running_loop().create_future()
        topic = AlterPartitionRequest.TopicData(topic_name="t", topic_id=b"t" * 16, partitions=[*partition_data])
        self.sender.send(AlterPartitionRequest(broker_id=broker_id, topics=[topic]), response.set_result)
        return await response

    async def errors(
        self, *partition_data: AlterPartitionRequest.PartitionData, broker_id: int = LEADER
    ) -> list[Error]:
        response = await self.ask(*partition_data, broker_id=broker_id)
        assert isinstance(response, AlterPartitionResponse)
        return [Error.of(partition_data.error_code) for partition_data in response.topics[0].partitions]

    async def state(self, partition: int = 0) -> PartitionState:
        path = partition_state_path("t", partition)
        entry = await self.store.read(path)
        assert entry is not None
        return decode_partition_state(path, entry.data, entry.version)

    async def write(self, state: PartitionState, partition: int = 0) -> None:
        """Writes the state, as another writer would."""
        await self.store.commit([Write(partition_state_path("t", partition), state.encode())])


def partition_data(isr: Iterable[int], partition: int = 0, **fields: Any) -> AlterPartitionRequest.PartitionData:
    members = [AlterPartitionRequest.BrokerState(broker_id=broker_id) for broker_id in isr]
    request: dict[str, Any] = {"partition_index": partition, "leader_epoch": 4, "partition_epoch": 0}
    return AlterPartitionRequest.PartitionData(new_isr_with_epochs=members, **{**request, **fields})


def run(scenario: Callable[[Bench], Awaitable[None]]) -> None:
    async def within() -> None:
        store = Store(SharedEntries())
        await create_roots(store)
        await store.commit([Create(topic_path("t")), Create(partitions_path("t"))])
        for number in range(3):
            path = partition_state_path("t", number)
            await store.commit([Create(partition_path("t", number)), Create(path, STATE.encode())])
        async with asyncio.timeout(10):
            await scenario(Bench(store))

    asyncio.run(within())


def test_a_leader_stores_its_isr_and_announces_it() -> None:
    async def scenario(bench: Bench) -> None:
        response = await bench.ask(partition_data([1, 2]), partition_data([1], partition=2))
        assert isinstance(response, AlterPartitionResponse)
        [topic] = response.topics
        assert (topic.topic_name, topic.topic_id) == ("t", b"t" * 16)
        assert [
            (
                partition_data.partition_index,
                partition_data.error_code,
                partition_data.isr,
                partition_data.partition_epoch,
            )
            for partition_data in topic.partitions
        ] == [
            (0, 0, [1, 2], 1),
            (2, 0, [1], 1),
        ]
        assert [(partition_data.leader_id, partition_data.leader_epoch) for partition_data in topic.partitions] == [
            (1, 4)
        ] * 2
        assert await bench.state() == replace(STATE, isr=(1, 2), partition_epoch=1), "under the epoch of its election"
        assert await bench.state(1) == STATE
        assert bench.announced.partitions == [TopicPartition("t", 0), TopicPartition("t", 2)]

    run(scenario)


@pytest.mark.parametrize(
    ("now", "error"),
    [
        (replace(STATE, leader=2, leader_epoch=5), Error.FENCED_LEADER_EPOCH),
        (replace(STATE, leader_epoch=5), Error.FENCED_LEADER_EPOCH),
        (replace(STATE, leader=-1, leader_epoch=5), Error.FENCED_LEADER_EPOCH),
        (replace(STATE, isr=(1, 3)), Error.INVALID_UPDATE_VERSION),
    ],
    ids=["another leads", "elected again", "no leader", "another ISR"],
)
def test_a_deposed_leader_or_an_old_partition_epoch_writes_nothing(now: PartitionState, error: Error) -> None:
    async def scenario(bench: Bench) -> None:
        await bench.write(now)
        assert await bench.errors(partition_data([1, 2])) == [error]
        assert await bench.state() == replace(now, partition_epoch=1)
        assert bench.announced.partitions == []

    run(scenario)


@pytest.mark.parametrize(
    ("between", "result"),
    [
        (replace(STATE, leader=2, leader_epoch=5), Error.FENCED_LEADER_EPOCH),
        (replace(STATE, isr=(1, 3)), Error.INVALID_UPDATE_VERSION),
        (replace(STATE, isr=(1, 2)), Error.NONE),
    ],
    ids=["another leads", "another ISR", "its own earlier try"],
)
def test_a_concurrent_write_is_kept(between: PartitionState, result: Error) -> None:
    async def scenario(bench: Bench) -> None:
        commit, came = bench.store.commit, list[list[OperationResult]]()

        async def commit_after_it(*arguments: Any) -> list[OperationResult]:
            if not came:
                came.append(await commit([Write(partition_state_path("t", 0), between.encode())]))
            return await commit(*arguments)

        bench.store.commit = commit_after_it  # type: ignore[method-assign]
        assert await bench.errors(partition_data([1, 2])) == [result]
        assert await bench.state() == replace(between, partition_epoch=1)

    run(scenario)


def test_another_broker_and_an_unknown_partition() -> None:
    async def scenario(bench: Bench) -> None:
        assert await bench.errors(partition_data([1, 2]), broker_id=2) == [Error.FENCED_LEADER_EPOCH]
        assert await bench.errors(partition_data([1], partition=9), partition_data([1, 2])) == [
            Error.UNKNOWN_TOPIC_OR_PARTITION,
            Error.NONE,
        ]
        await bench.store.commit([Write(partition_state_path("t", 1), b"?")])
        assert await bench.errors(partition_data([1], partition=1)) == [Error.OPERATION_NOT_ATTEMPTED]

    run(scenario)


def test_no_replica_can_take_itself_out() -> None:
    async def scenario(bench: Bench) -> None:
        assert await bench.errors(partition_data([2])) == [Error.INVALID_REQUEST]

    run(scenario)


def test_a_retry_after_a_lost_response_succeeds() -> None:
    async def scenario(bench: Bench) -> None:
        bench.store.lost_answers = 1
        assert await bench.ask(partition_data([1, 2])) is Error.NETWORK_EXCEPTION
        assert bench.pauses == 1
        response = await bench.ask(partition_data([1, 2]))
        assert isinstance(response, AlterPartitionResponse)
        assert [
            (partition_data.isr, partition_data.partition_epoch) for partition_data in response.topics[0].partitions
        ] == [([1, 2], 1)]
        assert (await bench.state()).partition_epoch == 1, "stored once"
        assert bench.announced.partitions == [TopicPartition("t", 0)]

    run(scenario)


def test_a_recovered_leader_stores_its_recovery() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.write(replace(STATE, isr=(1,), recovery=LeaderRecoveryState.RECOVERING))
        request = partition_data([1], partition_epoch=1, leader_recovery_state=RECOVERED)
        assert await bench.errors(request) == [Error.NONE]
        assert (await bench.state()).recovery == RECOVERED != RECOVERING

    run(scenario)


def test_a_broker_whose_session_has_ended_writes_nothing() -> None:
    async def scenario(bench: Bench) -> None:
        session_id = await bench.store.open_session()
        bench.store._shared.expire(session_id)
        assert await bench.ask(partition_data([1, 2])) is Error.NETWORK_EXCEPTION
        await bench.store.open_session()
        assert await bench.state() == STATE

    run(scenario)


def test_nothing_is_answered_after_the_end() -> None:
    async def scenario(bench: Bench) -> None:
        answered: list[IsrResponse] = []
        request = AlterPartitionRequest.TopicData(topic_name="t", partitions=[partition_data([1])])
        bench.sender.send(AlterPartitionRequest(broker_id=1, topics=[request]), answered.append)
        await bench.sender.stop()
        assert (answered, bench.announced.stopped) == ([], True)
        assert await bench.state() == STATE

    run(scenario)
