"""What happens in real clusters through other clients and the controller: leaders and coordinators that move, producers
that are fenced. The kit asks the brokers for it, on a listener that no fault concerns; it works with TLS, too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from signalbox.client.failures import ClientFailure
from signalbox.common.ids import TopicPartition
from signalbox.common.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.testing.faults.fault import Undo, nothing
from signalbox.testing.faults.kit_admin import kit_admin

if TYPE_CHECKING:
    from signalbox.client.admin import AdminClient
    from signalbox.testing.switchboard import Switchboard

_TIMEOUT_S = 60.0
_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class MoveLeader:
    """Another broker leads the partition: `to`, or one of those in sync. Taken back, the former one leads again if it
    runs. A broker that has no replica gets one, in place of the last one."""

    topic: str
    partition: int
    to: int | None = None

    def claims(self) -> frozenset[str]:
        return frozenset({f"leader of {self.topic}-{self.partition}"})

    async def apply(self, board: Switchboard) -> Undo:
        return await _move(board, TopicPartition(self.topic, self.partition), self.to)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveCoordinator:
    """Another broker coordinates the group, or the producer with this transactional id: `to`, or one of those in sync.
    All groups or producers of the same partition of the internal topic move with it. Taken back as MoveLeader is."""

    group: str | None = None
    transactional_id: str | None = None
    to: int | None = None

    def __post_init__(self) -> None:
        if (self.group is None) == (self.transactional_id is None):
            raise ValueError("a coordinator has a group or a transactional_id: give one of them")

    def claims(self) -> frozenset[str]:
        return frozenset({f"coordinator of {self.group or self.transactional_id}"})

    async def apply(self, board: Switchboard) -> Undo:
        from signalbox.client.admin_apis.group_admin import GROUP, TRANSACTION
        from signalbox.coordinator.group_coordinator import partition_for  # large imports, which few need

        key, topic = self.group or self.transactional_id or "", OFFSETS_TOPIC if self.group else TRANSACTIONS_TOPIC
        async with kit_admin(board) as admin:
            await _until(partial(_has_coordinator, admin, key, GROUP if self.group else TRANSACTION))
            count = len((await admin.describe_topics([topic]))[topic].partitions)
        return await _move(board, TopicPartition(topic, partition_for(key, count)), self.to)


@dataclass(frozen=True, slots=True)
class FenceProducer:
    """A second producer with the transactional id begins: the first one is fenced, and its open transaction is aborted.
    This cannot be taken back: the first one has to begin again."""

    transactional_id: str

    def claims(self) -> frozenset[str]:
        return frozenset()

    async def apply(self, board: Switchboard) -> Undo:
        async with kit_admin(board) as admin:
            await admin.fence_producers([self.transactional_id])
        return nothing


async def _has_coordinator(admin: AdminClient, key: str, kind: int) -> bool:
    """The first question creates the internal topic."""
    from signalbox.client.admin_apis.group_admin import find_coordinator

    try:
        await find_coordinator(admin.client, key, kind)
    except KafkaError as error:
        if error.error != Error.COORDINATOR_NOT_AVAILABLE:
            raise
        return False
    return True


async def _move(board: Switchboard, partition: TopicPartition, to: int | None) -> Undo:
    async with kit_admin(board) as admin:
        view = (await admin.describe_topics([partition.topic]))[partition.topic].partitions.get(partition.partition)
        if view is None:
            raise ValueError(f"there is no partition {partition}")
        if view.leader_id < 0:
            raise ValueError(f"{partition} has no leader that could move")
        former = list(view.replica_nodes)
        chosen = to if to is not None else next((node for node in view.isr_nodes if node != view.leader_id), None)
        if chosen is None:
            raise ValueError(f"{partition} has no other replica in sync than its leader, broker {view.leader_id}")
        if chosen != view.leader_id:
            wanted = [chosen, *(node for node in former if node != chosen)][: len(former)]
            await _replicas(admin, partition, wanted)
            try:
                await _elect(admin, partition, chosen)
            except (KafkaError, TimeoutError):
                await _replicas(admin, partition, former)
                raise

    async def undo() -> None:
        async with kit_admin(board) as admin:
            try:
                first = [view.leader_id, *(node for node in former if node != view.leader_id)]
                await _replicas(admin, partition, first)
                await _elect(admin, partition, view.leader_id)
                await _replicas(admin, partition, former)
            except (KafkaError, ClientFailure, TimeoutError):
                return  # the former leader does not run, no broker does, or the topic was deleted

    return undo


async def _elect(admin: AdminClient, partition: TopicPartition, leader: int) -> None:
    """Returns when `leader`, the first one of the replicas, leads. KafkaError, TimeoutError."""
    (result,) = (await admin.elect_leaders([partition])).values()
    if result.error.name != "ELECTION_NOT_NEEDED":
        result.raise_for_error()

    async def leads() -> bool:
        topics = await admin.describe_topics([partition.topic])
        return topics[partition.topic].partitions[partition.partition].leader_id == leader

    await _until(leads)


async def _replicas(admin: AdminClient, partition: TopicPartition, replicas: Sequence[int]) -> None:
    """Returns when the partition has these replicas in this order."""
    (result,) = (await admin.reassign_partitions({partition: replicas})).values()
    result.raise_for_error()

    async def is_done() -> bool:
        return not await admin.list_reassignments([partition])

    await _until(is_done)


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    """TimeoutError after a minute."""
    import asyncio  # a large import, which the help of commands does not need

    async with asyncio.timeout(_TIMEOUT_S):
        while not await holds():  # noqa: ASYNC110 - brokers send no event
            await asyncio.sleep(_PAUSE_S)
