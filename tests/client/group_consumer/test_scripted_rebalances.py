"""The group consumer in rebalances whose responses a test gives in advance: what a real coordinator does rarely."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.group_consumer.member_subscription import decode_subscription, encode_assignment
from signalbox.client.group_consumer.membership import Reaction
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.group_consumer.members import EARLIEST, Member
from tests.client.group_consumer.scripted_coordinator import ScriptedCoordinator
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_consumer import fill
from tests.waiting import until_true

P0, P1, P2 = (TopicPartition("three", number) for number in range(3))
Case = Callable[[ScriptedCoordinator, Member], Awaitable[None]]


def with_member(test: Case, **fields: Any) -> None:
    """A member of the cooperative protocol that is given P0 and P1; polled by the test."""

    async def run(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.add_topic("three", 1, 1, 1)
        coordinator = ScriptedCoordinator(cluster)
        coordinator.assignment = encode_assignment([P0, P1])
        given = {"partition_assignment_strategy": ("cooperative-sticky",), "fetch": EARLIEST, **fields}
        settings = GroupConsumerSettings(group_id="g", heartbeat_interval_ms=10, **given)
        member = Member(GroupConsumer(client, settings))
        member.consumer.subscribe(["three"], member)
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


@pytest.mark.spec("R10")
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_listener_that_fails_or_is_cancelled_does_not_cost_the_assignment(cancelled: bool) -> None:
    async def test(coordinator: ScriptedCoordinator, member: Member) -> None:
        entered = asyncio.Event()

        async def on_revoked(partitions: frozenset[TopicPartition]) -> None:
            if not entered.is_set():
                entered.set()
                if cancelled:
                    await asyncio.Event().wait()
                raise LookupError("of the application")

        await poll_until(member, lambda: member.has == "0 1")
        member.on_revoked = on_revoked  # type: ignore[method-assign]
        coordinator.assignment = encode_assignment([P1, P2])
        coordinator.fail(ApiKey.HEARTBEAT, Error.REBALANCE_IN_PROGRESS)
        polling = asyncio.create_task(poll_until(member, lambda: False))
        await asyncio.wait_for(entered.wait(), 60)
        if cancelled:
            polling.cancel()
        with pytest.raises(asyncio.CancelledError if cancelled else LookupError):
            await polling
        joins = coordinator.seen(ApiKey.JOIN_GROUP)
        assert len(joins) == 2
        await poll_until(member, lambda: len(coordinator.seen(ApiKey.JOIN_GROUP)) == 3)
        assert (member.has, member.events[:2]) == ("1 2", ["assigned 0 1", "assigned 2"])
        (protocol,) = coordinator.seen(ApiKey.JOIN_GROUP)[2].protocols
        assert decode_subscription("", None, bytes(protocol.metadata)).owned == {P1, P2}

    with_member(test)


@pytest.mark.spec("R10")
@pytest.mark.parametrize("strategy", [("range",), ("cooperative-sticky",)])
def test_a_listener_that_always_fails_does_not_hold_up_the_rebalance(strategy: tuple[str, ...]) -> None:
    async def test(coordinator: ScriptedCoordinator, member: Member) -> None:
        async def on_revoked(partitions: frozenset[TopicPartition]) -> None:
            if member.events.count("failed") < 5:
                member.events.append("failed")
                raise LookupError("of the application")

        await poll_until(member, lambda: member.has == "0 1")
        member.on_revoked = on_revoked  # type: ignore[method-assign]
        coordinator.assignment = encode_assignment([P1])
        coordinator.fail(ApiKey.HEARTBEAT, Error.REBALANCE_IN_PROGRESS)
        with pytest.raises(LookupError):
            await poll_until(member, lambda: False)
        await poll_until(member, lambda: member.has == "1")
        assert member.events.count("failed") == 1
        member.events += ["failed"] * 5

    with_member(test, partition_assignment_strategy=strategy)


@pytest.mark.spec("R10")
def test_what_was_read_during_a_rebalance_is_committed_before_it_is_revoked() -> None:
    async def test(coordinator: ScriptedCoordinator, member: Member) -> None:
        answer = coordinator.cluster.brokers[1].scripts[ApiKey.SYNC_GROUP]
        released = asyncio.Event()

        async def slow(request: Any, version: int) -> Any:
            await released.wait()
            return answer(request, version)

        await poll_until(member, lambda: member.has == "0 1")
        coordinator.cluster.brokers[1].scripts[ApiKey.SYNC_GROUP] = slow
        coordinator.assignment = encode_assignment([P1])
        coordinator.fail(ApiKey.HEARTBEAT, Error.REBALANCE_IN_PROGRESS)
        await poll_until(member, lambda: len(coordinator.seen(ApiKey.SYNC_GROUP)) == 2)
        fill(coordinator.cluster, "three", b"during the rebalance")
        await poll_until(member, lambda: member.values == [b"during the rebalance"])
        released.set()
        await poll_until(member, lambda: member.has == "1")
        committed = [
            (request.generation_id_or_member_epoch, row.partition_index, row.committed_offset)
            for request in coordinator.seen(ApiKey.OFFSET_COMMIT)
            for row in request.topics[0].partitions
        ]
        assert (2, 0, 1) in committed

    with_member(test)


@pytest.mark.spec("R10")
@pytest.mark.parametrize("hangs", [False, True])
def test_a_member_leaves_even_if_its_listener_fails(hangs: bool) -> None:
    async def test(coordinator: ScriptedCoordinator, member: Member) -> None:
        async def on_revoked(partitions: frozenset[TopicPartition]) -> None:
            if hangs:
                await asyncio.Event().wait()
            raise LookupError("of the application")

        await poll_until(member, lambda: member.has == "0 1")
        member.on_revoked = on_revoked  # type: ignore[method-assign]
        with pytest.raises(TimeoutError if hangs else LookupError):
            await member.consumer.close(timeout_ms=200)
        assert [request.members[0].member_id for request in coordinator.seen(ApiKey.LEAVE_GROUP)] == ["m-1"]
        assert member.has == ""

    with_member(test)


@pytest.mark.spec("R10")
def test_a_closed_consumer_is_closed() -> None:
    async def test(coordinator: ScriptedCoordinator, member: Member) -> None:
        await poll_until(member, lambda: member.has == "0 1")
        await member.consumer.close()
        await member.consumer.close()
        assert len(coordinator.seen(ApiKey.LEAVE_GROUP)) == 1
        with pytest.raises(RuntimeError, match="the consumer is closed"):
            member.consumer.subscribe(["three"])
        for call in (
            member.consumer.poll(),
            member.consumer.commit({P0: 1}),
            member.consumer.committed([P0]),
            member.consumer.seek(P0, 0),
            member.consumer.unsubscribe(),
        ):
            with pytest.raises(RuntimeError, match="the consumer is closed"):
                await call

    with_member(test)


@pytest.mark.spec("R10")
@pytest.mark.parametrize("silent", [(ApiKey.OFFSET_COMMIT,), (ApiKey.OFFSET_COMMIT, ApiKey.LEAVE_GROUP)])
def test_a_coordinator_that_never_answers_does_not_hold_up_the_end(silent: tuple[ApiKey, ...]) -> None:
    async def test(coordinator: ScriptedCoordinator, member: Member) -> None:
        released = asyncio.Event()

        async def stall(request: Any, version: int) -> None:
            await released.wait()

        await poll_until(member, lambda: member.has == "0 1")
        await member.consumer.commit({P0: 0})  # so that there is a connection for the commit at the end
        coordinator.cluster.brokers[1].scripts.update(dict.fromkeys(silent, stall))
        async with asyncio.timeout(30):
            await member.consumer.close(timeout_ms=100)
        assert (member.has, member.events[-1]) == ("", "revoked 0 1")
        released.set()

    with_member(test)


@pytest.mark.spec("R10")
def test_the_offsets_of_a_topic_that_was_deleted_are_committed_without_a_retry_at_the_end() -> None:
    """The coordinator does not know its partitions, which is retriable: it would hold up the rebalance or the end."""

    async def test(coordinator: ScriptedCoordinator, member: Member) -> None:
        await poll_until(member, lambda: member.has == "0 1")
        fill(coordinator.cluster, "three", b"0")
        await poll_until(member, lambda: member.values == [b"0"])
        del coordinator.cluster.topics["three"]
        member.consumer._client.metadata_updater.refresh_soon(["another"])
        await until_true(lambda: "another" in member.consumer._client.view.topics)
        coordinator.fail(ApiKey.OFFSET_COMMIT, *[Error.UNKNOWN_TOPIC_OR_PARTITION] * 1_000)
        await member.consumer.close()
        assert len(coordinator.seen(ApiKey.OFFSET_COMMIT)) == 1
        assert coordinator.seen(ApiKey.LEAVE_GROUP)

    with_member(test, auto_commit_interval_ms=3_600_000)
