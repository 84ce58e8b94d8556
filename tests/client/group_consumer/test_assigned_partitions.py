from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.admin_apis.offset_admin import LATEST
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import Consumer, ConsumerSettings
from signalbox.client.failures import NoCommittedOffset
from signalbox.client.group_consumer.assigned_partitions import AssignedPartitions
from signalbox.client.group_consumer.committed_offsets import CommittedOffsets
from signalbox.client.group_consumer.group_requests import GroupRequests
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.group_consumer.membership import Membership
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.group_consumer.scripted_coordinator import ScriptedCoordinator
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_consumer import fill
from tests.waiting import until_true

T1, T2, T3 = TopicPartition("t1", 0), TopicPartition("t2", 0), TopicPartition("t3", 0)
Case = Callable[[ScriptedCoordinator, AssignedPartitions, Consumer, asyncio.Event], Awaitable[None]]


def with_partitions(test: Case, reset: str = "earliest", **fields: Any) -> None:
    async def run(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        fill(cluster, "t1", b"0", b"1", b"2")
        fill(cluster, "t2", b"0", b"1")
        coordinator = ScriptedCoordinator(cluster)
        fetch = ConsumerSettings(auto_offset_reset=reset)
        settings = GroupConsumerSettings(group_id="g", fetch=fetch, **fields)
        membership = Membership()
        membership.joined("m-1", 4, "range")
        requests = GroupRequests(client, settings, membership)
        consumer, changed = Consumer(client, fetch), asyncio.Event()
        offsets = CommittedOffsets(client, requests, membership)
        partitions = AssignedPartitions(client, consumer, offsets, settings, changed.set)
        await test(coordinator, partitions, consumer, changed)
        await partitions.close()
        await consumer.close()

    with_client(run)


@pytest.mark.parametrize(("reset", "expected"), [("earliest", 0), ("latest", 2)])
def test_partitions_are_read_from_the_committed_offset_or_the_reset(reset: str, expected: int) -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        coordinator.offsets["t1", 0] = 2
        partitions.add(frozenset({T1, T2}))
        assert (partitions.assigned, consumer.assignment) == (frozenset({T1, T2}), frozenset())
        partitions.find_positions()
        await asyncio.wait_for(changed.wait(), 30)
        assert consumer.positions() == {T1: 2, T2: expected}

    with_partitions(test, reset)


def test_without_offset_and_reset_the_next_call_raises() -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        partitions.add(frozenset({T1}))
        partitions.find_positions()
        await asyncio.wait_for(changed.wait(), 30)
        with pytest.raises(NoCommittedOffset, match=r"partition t1-0 has no committed offset, and auto\.offset\.reset"):
            partitions.find_positions()

    with_partitions(test, "none")


def test_a_partition_without_a_leader_does_not_hold_up_the_others() -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        coordinator.cluster.topics["t1"][0].leader = -1
        partitions.add(frozenset({T1, T2}))
        partitions.find_positions()
        await until_true(lambda: T2 in consumer.assignment)
        partitions.add(frozenset({T3}))
        partitions.find_positions()
        await until_true(lambda: T3 in consumer.assignment)
        assert T1 not in consumer.assignment
        coordinator.cluster.topics["t1"][0].leader = 1

        def found() -> bool:
            partitions.find_positions()
            return T1 in consumer.assignment

        await until_true(found)

    with_partitions(test)


def test_without_offset_and_reset_the_other_partitions_are_read() -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        coordinator.offsets["t2", 0] = 1
        partitions.add(frozenset({T1, T2}))
        partitions.find_positions()
        await asyncio.wait_for(changed.wait(), 30)
        assert consumer.positions() == {T2: 1}
        with pytest.raises(NoCommittedOffset, match="t1-0"):
            partitions.find_positions()

    with_partitions(test, "none")


def test_a_seek_to_the_end_wins_over_the_committed_offset_that_is_found_meanwhile() -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        coordinator.offsets["t1", 0] = 1
        leader = coordinator.cluster.brokers[1]
        released = asyncio.Event()

        async def slow(request: Any, version: int) -> Any:
            await released.wait()
            return leader.list_offsets(request)

        leader.scripts[ApiKey.LIST_OFFSETS] = slow
        partitions.add(frozenset({T1}))
        seeking = asyncio.create_task(partitions.seek(T1, LATEST))
        await until_true(lambda: leader.seen(ApiKey.LIST_OFFSETS) != [])
        partitions.find_positions()
        await asyncio.wait_for(changed.wait(), 30)
        assert consumer.positions() == {T1: 1}
        released.set()
        await seeking
        assert consumer.positions() == {T1: 3}

    with_partitions(test)


def test_partitions_that_are_dropped_meanwhile_are_not_read() -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        partitions.add(frozenset({T1, T2}))
        partitions.find_positions()
        partitions.drop(frozenset({T1}))
        await asyncio.wait_for(changed.wait(), 30)
        changed.clear()
        partitions.find_positions()
        await asyncio.wait_for(changed.wait(), 30)
        assert consumer.assignment == partitions.assigned == {T2}

    with_partitions(test)


def test_partitions_are_paused_and_sought_before_they_have_a_position() -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        partitions.add(frozenset({T1, T2}))
        partitions.pause([T1])
        await partitions.seek(T2, 1)
        assert (partitions.paused, consumer.positions()) == (frozenset({T1}), {T2: 1})
        partitions.find_positions()
        await asyncio.wait_for(changed.wait(), 30)
        assert consumer.positions() == {T1: 0, T2: 1}
        assert consumer.paused == partitions.paused == {T1}
        await partitions.seek(T1, 2)
        partitions.resume([T1])
        assert (partitions.paused, consumer.position(T1)) == (frozenset(), 2)
        with pytest.raises(ValueError, match="partition t1-5 is not assigned"):
            await partitions.seek(TopicPartition("t1", 5), 0)

    with_partitions(test)


def test_positions_are_committed_when_the_interval_has_passed() -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        partitions.add(frozenset({T1}))
        await partitions.seek(T1, 1)
        partitions.commit_if_due()
        assert coordinator.seen(ApiKey.OFFSET_COMMIT) == [], "the interval begins with the first poll"

        def committed() -> bool:
            partitions.commit_if_due()
            return len(coordinator.seen(ApiKey.OFFSET_COMMIT)) == 1

        await until_true(committed)

    with_partitions(test, auto_commit_interval_ms=20)


def test_a_failed_automatic_commit_is_logged_and_no_more(caplog: pytest.LogCaptureFixture) -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        partitions.add(frozenset({T1}))
        await partitions.seek(T1, 1)
        coordinator.fail(ApiKey.OFFSET_COMMIT, Error.ILLEGAL_GENERATION)
        await partitions.commit_now()
        assert "Automatic offset commit of group g failed: ILLEGAL_GENERATION" in caplog.text

    with_partitions(test)


def test_a_topic_that_one_broker_does_not_know_is_committed_before_a_rebalance() -> None:
    """Its metadata is older than the topic, or the topic was deleted: the coordinator knows which. Without the commit
    the next owner would read the records again."""

    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        partitions.add(frozenset({T1}))
        await partitions.seek(T1, 1)
        await no_longer_in_metadata(coordinator.cluster, consumer, "t1")
        await partitions.commit_now()
        (request,) = coordinator.seen(ApiKey.OFFSET_COMMIT)
        assert [(row.name, row.partitions[0].committed_offset) for row in request.topics] == [("t1", 1)]

    with_partitions(test)


def test_a_topic_that_the_coordinator_does_not_know_either_does_not_hold_up_the_commit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        partitions.add(frozenset({T1, T2}))
        await partitions.seek(T1, 1)
        await partitions.seek(T2, 1)
        await no_longer_in_metadata(coordinator.cluster, consumer, "t1")
        coordinator_without_t1(coordinator)
        await partitions.commit_now()
        (request,) = coordinator.seen(ApiKey.OFFSET_COMMIT)
        assert sorted(row.name for row in request.topics) == ["t1", "t2"]
        assert "Automatic offset commit of group g failed: UNKNOWN_TOPIC_OR_PARTITION" in caplog.text
        assert "t1-0" in caplog.text

    with_partitions(test)


def test_a_deleted_topic_is_one_warning_until_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        partitions.add(frozenset({T1, T2}))
        await partitions.seek(T1, 1)
        await partitions.seek(T2, 1)
        deleted = coordinator.cluster.topics["t1"]
        await no_longer_in_metadata(coordinator.cluster, consumer, "t1")
        knows_t1 = coordinator.cluster.brokers[1].scripts[ApiKey.OFFSET_COMMIT]
        coordinator_without_t1(coordinator)
        for _ in range(3):
            await partitions.commit_now()
        assert len(caplog.messages) == 1
        coordinator.cluster.brokers[1].scripts[ApiKey.OFFSET_COMMIT] = knows_t1
        coordinator.cluster.topics["t1"] = deleted
        consumer._client.metadata_updater.refresh_soon(["yet another"])
        await until_true(lambda: consumer._client.view.topics["t1"].error_code == Error.NONE)
        await partitions.commit_now()
        await no_longer_in_metadata(coordinator.cluster, consumer, "t1")
        coordinator_without_t1(coordinator)
        for _ in range(2):
            await partitions.commit_now()
        assert len(caplog.messages) == 2, "deleted again"

    caplog.set_level(logging.WARNING, "signalbox.client")
    with_partitions(test)


def coordinator_without_t1(coordinator: ScriptedCoordinator) -> None:
    """The coordinator no longer knows the topic."""
    answer = coordinator.cluster.brokers[1].scripts[ApiKey.OFFSET_COMMIT]

    def without_t1(request: Any, version: int) -> Any:
        response = answer(request, version)
        for topic in response.topics:
            if topic.name == "t1":
                topic.partitions[0].error_code = Error.UNKNOWN_TOPIC_OR_PARTITION
        return response

    coordinator.cluster.brokers[1].scripts[ApiKey.OFFSET_COMMIT] = without_t1


async def no_longer_in_metadata(cluster: LoopbackCluster, consumer: Consumer, topic: str) -> None:
    """Wait until the client has Metadata in which the topic is unknown."""
    client = consumer._client
    del cluster.topics[topic]
    client.metadata_updater.refresh_soon([topic, "another"])
    await until_true(lambda: "another" in client.view.topics)
    await until_true(lambda: client.view.topics[topic].error_code == Error.UNKNOWN_TOPIC_OR_PARTITION)


def test_nothing_is_committed_unless_commits_are_automatic() -> None:
    async def test(
        coordinator: ScriptedCoordinator, partitions: AssignedPartitions, consumer: Consumer, changed: asyncio.Event
    ) -> None:
        partitions.add(frozenset({T1}))
        await partitions.seek(T1, 1)
        await partitions.commit_now()
        partitions.commit_if_due()
        assert coordinator.seen(ApiKey.OFFSET_COMMIT) == []

    with_partitions(test, enable_auto_commit=False)
