from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure
from signalbox.client.group_consumer.committed_offsets import CommittedOffsets
from signalbox.client.group_consumer.group_requests import GroupRequests
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.group_consumer.membership import Membership
from signalbox.client.rejections import AuthorizationFailed, CommitFailed, RequestRejected, UnknownTopic
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.group_consumer.scripted_coordinator import ScriptedCoordinator
from tests.client.loopback_cluster import LoopbackCluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
Case = Callable[[ScriptedCoordinator, CommittedOffsets, Membership, ClusterClient], Awaitable[None]]


def with_offsets(test: Case) -> None:
    async def run(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        coordinator = ScriptedCoordinator(cluster)
        membership = Membership()
        membership.joined("m-1", 4, "range")
        requests = GroupRequests(client, GroupConsumerSettings(group_id="g"), membership)
        await test(coordinator, CommittedOffsets(client, requests, membership), membership, client)

    with_client(run)


def test_offsets_are_committed_with_member_and_generation() -> None:
    async def test(
        coordinator: ScriptedCoordinator, offsets: CommittedOffsets, membership: Membership, client: ClusterClient
    ) -> None:
        await offsets.commit({T0: 5, T1: CommittedOffset(6, 2, "here")}, client.deadline())
        (request,) = coordinator.seen(ApiKey.OFFSET_COMMIT)
        assert (request.group_id, request.member_id, request.generation_id_or_member_epoch) == ("g", "m-1", 4)
        rows = [
            (row.partition_index, row.committed_offset, row.committed_leader_epoch, row.committed_metadata)
            for row in request.topics[0].partitions
        ]
        assert rows == [(0, 5, -1, ""), (1, 6, 2, "here")]

    with_offsets(test)


@pytest.mark.parametrize("error", [Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR])
def test_a_commit_is_retried(error: Error) -> None:
    async def test(
        coordinator: ScriptedCoordinator, offsets: CommittedOffsets, membership: Membership, client: ClusterClient
    ) -> None:
        coordinator.fail(ApiKey.OFFSET_COMMIT, error, error)
        await offsets.commit({T0: 5}, client.deadline())
        assert len(coordinator.seen(ApiKey.OFFSET_COMMIT)) == 3
        assert len(coordinator.seen(ApiKey.FIND_COORDINATOR)) == (3 if error is Error.NOT_COORDINATOR else 1)

    with_offsets(test)


@pytest.mark.parametrize(
    ("error", "kind", "lost", "needs_join"),
    [
        (Error.ILLEGAL_GENERATION, CommitFailed, True, True),
        (Error.UNKNOWN_MEMBER_ID, CommitFailed, True, True),
        (Error.REBALANCE_IN_PROGRESS, CommitFailed, False, True),
        (Error.GROUP_AUTHORIZATION_FAILED, AuthorizationFailed, False, False),
        (Error.OFFSET_METADATA_TOO_LARGE, RequestRejected, False, False),
    ],
)
def test_a_final_error_of_a_commit(error: Error, kind: type[ClientFailure], lost: bool, needs_join: bool) -> None:
    async def test(
        coordinator: ScriptedCoordinator, offsets: CommittedOffsets, membership: Membership, client: ClusterClient
    ) -> None:
        membership.synced()
        coordinator.fail(ApiKey.OFFSET_COMMIT, error)
        with pytest.raises(kind, match="offset commit of t-0"):
            await offsets.commit({T0: 5}, client.deadline())
        assert len(coordinator.seen(ApiKey.OFFSET_COMMIT)) == 1
        assert (membership.lost, membership.needs_join) == (lost, needs_join)

    with_offsets(test)


@pytest.mark.parametrize("error", [Error.ILLEGAL_GENERATION, Error.UNKNOWN_MEMBER_ID, Error.REBALANCE_IN_PROGRESS])
def test_a_response_about_an_older_generation_leaves_the_membership_as_it_is(error: Error) -> None:
    """Else the member would be out of a group that it has just joined, and would never join again."""

    async def test(
        coordinator: ScriptedCoordinator, offsets: CommittedOffsets, membership: Membership, client: ClusterClient
    ) -> None:
        coordinator.fail(ApiKey.OFFSET_COMMIT, error)
        answer = coordinator.cluster.brokers[1].scripts[ApiKey.OFFSET_COMMIT]

        def rebalanced_meanwhile(request: Any, version: int) -> Any:
            membership.joined("m-1", 5, "range")
            membership.synced()
            return answer(request, version)

        coordinator.cluster.brokers[1].scripts[ApiKey.OFFSET_COMMIT] = rebalanced_meanwhile
        with pytest.raises(CommitFailed):
            await offsets.commit({T0: 5}, client.deadline())
        assert (membership.generation, membership.lost, membership.needs_join) == (5, False, False)

    with_offsets(test)


def test_a_partition_that_may_be_deleted_is_committed_without_a_retry_if_the_coordinator_does_not_know_it() -> None:
    async def test(
        coordinator: ScriptedCoordinator, offsets: CommittedOffsets, membership: Membership, client: ClusterClient
    ) -> None:
        coordinator.fail(ApiKey.OFFSET_COMMIT, Error.NOT_COORDINATOR, Error.UNKNOWN_TOPIC_OR_PARTITION)
        with pytest.raises(UnknownTopic, match="offset commit of t-0: the coordinator does not know the topic"):
            await offsets.commit({T0: 5, T1: 6}, client.deadline(), {T0})
        requests = coordinator.seen(ApiKey.OFFSET_COMMIT)
        numbers = [[row.partition_index for row in request.topics[0].partitions] for request in requests]
        assert numbers == [[0, 1], [0, 1], [1]], "the other one, which its topic's broker knows, is retried"

    with_offsets(test)


def test_who_is_no_member_does_not_commit() -> None:
    """With generation -1 the coordinator would take the commit of an administrator, if the group is empty."""

    async def test(
        coordinator: ScriptedCoordinator, offsets: CommittedOffsets, membership: Membership, client: ClusterClient
    ) -> None:
        membership.left()
        with pytest.raises(CommitFailed, match="not a member"):
            await offsets.commit({T0: 5}, client.deadline())
        assert coordinator.seen(ApiKey.OFFSET_COMMIT) == []

    with_offsets(test)


def test_a_commit_ends_at_its_deadline_with_the_last_error() -> None:
    async def test(
        coordinator: ScriptedCoordinator, offsets: CommittedOffsets, membership: Membership, client: ClusterClient
    ) -> None:
        coordinator.fail(ApiKey.OFFSET_COMMIT, *[Error.COORDINATOR_LOAD_IN_PROGRESS] * 1_000)
        with pytest.raises(RequestRejected, match="COORDINATOR_LOAD_IN_PROGRESS"):
            await offsets.commit({T0: 5}, client.deadline(150))

    with_offsets(test)


def test_committed_offsets_are_read_and_retried() -> None:
    async def test(
        coordinator: ScriptedCoordinator, offsets: CommittedOffsets, membership: Membership, client: ClusterClient
    ) -> None:
        coordinator.offsets["t", 1] = 9
        coordinator.fail(ApiKey.OFFSET_FETCH, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR)
        assert await offsets.committed([T1, T0], client.deadline()) == {T1: CommittedOffset(9, -1, "")}
        assert coordinator.seen(ApiKey.OFFSET_FETCH)[0].require_stable
        assert await offsets.committed([], client.deadline()) == {}

    with_offsets(test)
