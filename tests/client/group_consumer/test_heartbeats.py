from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.group_consumer.group_requests import GroupRequests
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.group_consumer.heartbeats import Heartbeats
from signalbox.client.group_consumer.membership import Membership
from signalbox.client.rejections import AuthorizationFailed, MemberFenced
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.group_consumer.scripted_coordinator import ScriptedCoordinator
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import until_true

Case = Callable[[ScriptedCoordinator, Heartbeats, Membership, asyncio.Event], Awaitable[None]]


def with_heartbeats(test: Case, max_poll_interval_ms: int = 100_000, instance_id: str | None = None) -> None:
    async def run(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        coordinator = ScriptedCoordinator(cluster)
        settings = GroupConsumerSettings(
            group_id="g",
            heartbeat_interval_ms=10,
            max_poll_interval_ms=max_poll_interval_ms,
            group_instance_id=instance_id,
        )
        membership = Membership(instance_id)
        membership.joined("m-1", 4, "range")
        membership.synced()
        changed = asyncio.Event()
        heartbeats = Heartbeats(GroupRequests(client, settings, membership), membership, settings, changed.set)
        heartbeats.start()
        try:
            await test(coordinator, heartbeats, membership, changed)
        finally:
            await heartbeats.stop()

    with_client(run)


def test_heartbeats_are_sent_while_the_member_is_in_the_group() -> None:
    async def test(
        coordinator: ScriptedCoordinator, heartbeats: Heartbeats, membership: Membership, changed: asyncio.Event
    ) -> None:
        await until_true(lambda: len(coordinator.seen(ApiKey.HEARTBEAT)) > 3)
        request = coordinator.seen(ApiKey.HEARTBEAT)[0]
        assert (request.group_id, request.member_id, request.generation_id) == ("g", "m-1", 4)
        membership.waits = True
        coordinator.fail(ApiKey.HEARTBEAT, Error.REBALANCE_IN_PROGRESS)
        await asyncio.sleep(0)
        assert not changed.is_set()

    with_heartbeats(test)


@pytest.mark.parametrize(
    ("error", "lost", "member_id"),
    [
        (Error.REBALANCE_IN_PROGRESS, False, "m-1"),
        (Error.ILLEGAL_GENERATION, True, "m-1"),
        (Error.UNKNOWN_MEMBER_ID, True, ""),
    ],
)
def test_a_heartbeat_says_that_the_member_has_to_rejoin(error: Error, lost: bool, member_id: str) -> None:
    async def test(
        coordinator: ScriptedCoordinator, heartbeats: Heartbeats, membership: Membership, changed: asyncio.Event
    ) -> None:
        coordinator.fail(ApiKey.HEARTBEAT, Error.COORDINATOR_NOT_AVAILABLE, error)
        await asyncio.wait_for(changed.wait(), 30)
        assert (membership.needs_join, membership.lost, membership.member_id) == (True, lost, member_id)
        assert len(coordinator.seen(ApiKey.FIND_COORDINATOR)) == 2

    with_heartbeats(test)


def test_a_final_error_ends_the_heartbeats() -> None:
    async def test(
        coordinator: ScriptedCoordinator, heartbeats: Heartbeats, membership: Membership, changed: asyncio.Event
    ) -> None:
        coordinator.fail(ApiKey.HEARTBEAT, Error.FENCED_INSTANCE_ID)
        await asyncio.wait_for(changed.wait(), 30)
        for _ in range(2):
            with pytest.raises(MemberFenced):
                heartbeats.raise_failure()

    with_heartbeats(test)


def test_heartbeats_go_on_when_a_final_error_was_raised() -> None:
    async def test(
        coordinator: ScriptedCoordinator, heartbeats: Heartbeats, membership: Membership, changed: asyncio.Event
    ) -> None:
        coordinator.fail(ApiKey.HEARTBEAT, Error.GROUP_AUTHORIZATION_FAILED)
        await asyncio.wait_for(changed.wait(), 30)
        sent = len(coordinator.seen(ApiKey.HEARTBEAT))
        with pytest.raises(AuthorizationFailed):
            heartbeats.raise_failure()
        heartbeats.raise_failure()
        await until_true(lambda: len(coordinator.seen(ApiKey.HEARTBEAT)) > sent)
        assert (membership.is_member, membership.needs_join) == (True, False)

    with_heartbeats(test)


@pytest.mark.parametrize(("instance_id", "leaves"), [(None, 1), ("static", 0)])
def test_a_member_that_is_not_polled_leaves_unless_it_is_static(instance_id: str | None, leaves: int) -> None:
    async def test(
        coordinator: ScriptedCoordinator, heartbeats: Heartbeats, membership: Membership, changed: asyncio.Event
    ) -> None:
        await asyncio.wait_for(changed.wait(), 30)
        assert membership.lost
        assert len(coordinator.seen(ApiKey.LEAVE_GROUP)) == leaves

    with_heartbeats(test, max_poll_interval_ms=50, instance_id=instance_id)


def generations(coordinator: ScriptedCoordinator) -> set[int]:
    return {request.generation_id for request in coordinator.seen(ApiKey.HEARTBEAT)}


def test_a_member_that_joined_again_while_it_left_stays() -> None:
    async def test(
        coordinator: ScriptedCoordinator, heartbeats: Heartbeats, membership: Membership, changed: asyncio.Event
    ) -> None:
        answer = coordinator.cluster.brokers[1].scripts[ApiKey.LEAVE_GROUP]

        def joined_meanwhile(request: Any, version: int) -> Any:
            heartbeats.polling = True
            membership.joined("m-2", 5, "range")
            return answer(request, version)

        coordinator.cluster.brokers[1].scripts[ApiKey.LEAVE_GROUP] = joined_meanwhile
        await until_true(lambda: len(coordinator.seen(ApiKey.LEAVE_GROUP)) == 1)
        await until_true(lambda: membership.lost or 5 in generations(coordinator))
        assert (membership.identity, membership.lost) == (("m-2", 5), False)

    with_heartbeats(test, max_poll_interval_ms=50)


def test_a_poll_that_waits_counts_as_polling() -> None:
    async def test(
        coordinator: ScriptedCoordinator, heartbeats: Heartbeats, membership: Membership, changed: asyncio.Event
    ) -> None:
        heartbeats.polling = True
        sent = len(coordinator.seen(ApiKey.HEARTBEAT))
        await until_true(lambda: len(coordinator.seen(ApiKey.HEARTBEAT)) > sent + 8)  # longer than the interval
        assert not changed.is_set()

    with_heartbeats(test, max_poll_interval_ms=50)
