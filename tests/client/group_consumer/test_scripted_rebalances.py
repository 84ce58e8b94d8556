"""The group consumer in rebalances whose responses a test gives in advance: what a real coordinator does rarely."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.group_consumer.member_subscription import encode_assignment
from signalbox.client.group_consumer.membership import Reaction
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.group_consumer.members import EARLIEST, Member
from tests.client.group_consumer.scripted_coordinator import ScriptedCoordinator
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import until_true

P0, P1 = TopicPartition("two", 0), TopicPartition("two", 1)
Case = Callable[[ScriptedCoordinator, Member], Awaitable[None]]


def with_member(test: Case, **fields: Any) -> None:
    """A member of the cooperative protocol that is given P0 and P1; polled by the test."""

    async def run(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("two", 1, 1)
        coordinator = ScriptedCoordinator(cluster)
        coordinator.assignment = encode_assignment([P0, P1])
        given = {"partition_assignment_strategy": ("cooperative-sticky",), "fetch": EARLIEST, **fields}
        settings = GroupConsumerSettings(group_id="g", heartbeat_interval_ms=10, **given)
        member = Member(GroupConsumer(client, settings))
        member.consumer.subscribe(["two"], member)
        await test(coordinator, member)
        await member.consumer.close()

    with_client(run)


async def poll_until(member: Member, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            member.records += await member.consumer.poll(20)


def joining(member: Member) -> asyncio.Task[Any] | None:
    return member.consumer._joining


@pytest.mark.spec("R10")
def test_heartbeats_go_on_after_a_rebalance_without_another_poll() -> None:
    async def test(coordinator: ScriptedCoordinator, member: Member) -> None:
        await member.consumer.poll(0)
        await until_true(lambda: len(coordinator.seen(ApiKey.HEARTBEAT)) > 3)
        assert coordinator.seen(ApiKey.HEARTBEAT)[0].generation_id == 1

    with_member(test)


@pytest.mark.spec("R10")
def test_a_member_that_was_expelled_after_its_rebalance_joins_again() -> None:
    """Between the end of a rebalance and the next `poll`, a commit or a heartbeat may find out that it is over."""

    async def test(coordinator: ScriptedCoordinator, member: Member) -> None:
        await member.consumer.poll(0)
        task = joining(member)
        assert task is not None
        await until_true(task.done)
        member.consumer._membership.react(Reaction.REJOIN_WITHOUT_GENERATION)
        await poll_until(member, lambda: member.has != "")
        assert (member.has, member.consumer.generation) == ("0 1", 2)
        assert member.events == ["assigned 0 1"]

    with_member(test)
