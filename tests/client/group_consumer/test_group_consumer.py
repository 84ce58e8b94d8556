"""The group consumer against Signalbox brokers in this process."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import ConsumerSettings
from signalbox.client.failures import NoCommittedOffset
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.rejections import AuthorizationFailed, CommitFailed, InvalidTopic, MemberFenced
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.find_coordinator import FindCoordinatorResponse
from signalbox.protocol.messages.join_group import JoinGroupResponse
from signalbox.testing.cluster import Cluster
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.group_consumer.members import EARLIEST, Group, with_group
from tests.client.group_consumer.scripted_coordinator import ScriptedCoordinator
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import settle, until_true

COOPERATIVE = ("cooperative-sticky",)


def values(text: str, count: int) -> list[bytes]:
    return [b"%s%d" % (text.encode(), number) for number in range(count)]


@pytest.mark.spec("R10")
@pytest.mark.parametrize("strategy", [("range",), COOPERATIVE])
def test_a_member_reads_all_and_goes_on_where_it_committed(cluster: Cluster, strategy: tuple[str, ...]) -> None:
    topic = f"one-{strategy[0]}"

    async def test(group: Group) -> None:
        await group.create(topic, 3)
        await group.produce(topic, values("a", 60), 3)
        first = await group.member(partition_assignment_strategy=strategy)
        first.start(topic)
        await until_true(lambda: len(first.records) == 60)
        assert sorted(first.values) == sorted(values("a", 60))
        assert first.events == ["assigned 0 1 2"]
        await first.leave()  # with an automatic commit
        assert first.events == ["assigned 0 1 2", "revoked 0 1 2"]
        await group.produce(topic, values("b", 30), 3)
        second = await group.member(partition_assignment_strategy=strategy)
        second.start(topic)
        await until_true(lambda: len(second.records) >= 30)
        assert sorted(second.values) == sorted(values("b", 30)), "nothing is read twice"

    with_group(cluster.bootstrap_servers, topic, test)


@pytest.mark.spec("R10")
def test_with_range_all_partitions_are_revoked_before_each_rebalance(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("eager", 4)
        first = await group.member(partition_assignment_strategy=("range",))
        first.start("eager")
        await group.settled("0 1 2 3")
        second = await group.member(partition_assignment_strategy=("range",))
        second.start("eager")
        await until_true(lambda: sorted([first.has, second.has]) == ["0 1", "2 3"])
        assert first.events[:2] == ["assigned 0 1 2 3", "revoked 0 1 2 3"]
        await second.leave()
        await until_true(lambda: first.has == "0 1 2 3")

    with_group(cluster.bootstrap_servers, "eager", test)


@pytest.mark.spec("R10")
def test_with_cooperative_sticky_only_what_moves_is_revoked(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("sticky", 4)
        first = await group.member(partition_assignment_strategy=COOPERATIVE)
        first.start("sticky")
        await group.settled("0 1 2 3")
        second = await group.member(partition_assignment_strategy=COOPERATIVE)
        second.start("sticky")
        await until_true(lambda: len(first.has) == len(second.has) == len("0 1"))
        revoked = [event for event in first.events if event.startswith("revoked")]
        assert revoked == [f"revoked {second.has}"], "in one step, and nothing else"
        assert first.events[0] == "assigned 0 1 2 3"
        kept = first.has
        await second.leave()
        await until_true(lambda: first.has == "0 1 2 3")
        assert first.events[-1] == f"assigned {' '.join(sorted(set('0123') - set(kept)))}"

    with_group(cluster.bootstrap_servers, "sticky", test)


@pytest.mark.spec("R10")
@pytest.mark.parametrize("strategy", [("range",), COOPERATIVE, ("range", "cooperative-sticky")])
def test_no_record_is_lost_while_members_come_and_go(cluster: Cluster, strategy: tuple[str, ...]) -> None:
    topic = f"moving-{'-'.join(strategy)}"

    async def test(group: Group) -> None:
        await group.create(topic, 6)
        members = [await group.member(partition_assignment_strategy=strategy) for _ in range(3)]
        members[0].start(topic)
        for round_number in range(4):
            producing = asyncio.create_task(group.produce(topic, values(f"r{round_number}-", 90), 6))
            if round_number < 2:
                members[round_number + 1].start(topic)
            elif round_number == 2:
                await members[1].leave()
            await producing
        expected = {value for round_number in range(4) for value in values(f"r{round_number}-", 90)}
        await until_true(lambda: {value for member in members for value in member.values} == expected)
        assert [member.failure for member in members] == [None, None, None]

    with_group(cluster.bootstrap_servers, topic, test)


@pytest.mark.spec("R10")
def test_a_static_member_comes_back_without_a_rebalance_and_fences_its_former_self(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("static", 2)
        former = await group.member(group_instance_id="a")
        other = await group.member(group_instance_id="b")
        former.start("static")
        other.start("static")
        await group.settled("0", "1")
        events, generation = list(other.events), other.consumer.generation
        again = await group.member(group_instance_id="a")
        again.start("static")
        await until_true(lambda: again.has == "0")
        await until_true(lambda: former.failure is not None)
        assert isinstance(former.failure, MemberFenced)
        assert (other.events, other.consumer.generation) == (events, generation)

    with_group(cluster.bootstrap_servers, "static", test)


@pytest.mark.spec("R10")
def test_a_member_that_does_not_poll_leaves_and_comes_back(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("slow", 2)
        slow = await group.member(max_poll_interval_ms=300)
        slow.start("slow")
        await group.settled("0 1")
        await slow.pause_polling()
        other = await group.member(max_poll_interval_ms=300)
        other.start("slow")
        await until_true(lambda: other.has == "0 1")
        with pytest.raises(CommitFailed):
            await slow.consumer.commit({TopicPartition("slow", 0): 0})
        slow.start()
        await until_true(lambda: len(slow.has) == len(other.has) == 1)
        assert slow.events[:2] == ["assigned 0 1", "lost 0 1"]

    with_group(cluster.bootstrap_servers, "slow", test)


def test_new_partitions_are_assigned(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("growing", 1)
        member = await group.member(partition_assignment_strategy=COOPERATIVE)
        member.start("growing", "later")
        await group.settled("0")
        results = await AdminClient(group.client).create_partitions({"growing": 3})
        results["growing"].raise_for_error()

        def is_assigned(topic: str, partition: int) -> bool:
            member.consumer._client.metadata_updater.refresh_soon()  # a broker may not know of the change yet
            return TopicPartition(topic, partition) in member.consumer.assignment

        await until_true(lambda: is_assigned("growing", 2))
        await group.settled("0 1 2")
        await group.create("later", 1)  # a topic that did not exist when the member subscribed
        await until_true(lambda: is_assigned("later", 0))
        assert member.events[:2] == ["assigned 0", "assigned 1 2"]

    with_group(cluster.bootstrap_servers, "growing", test)


def test_another_subscription_replaces_the_first(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("old", 1)
        await group.create("new", 1)
        await group.produce("new", [b"x"], 1)
        member = await group.member(partition_assignment_strategy=COOPERATIVE)
        member.start("old")
        await until_true(lambda: member.consumer.assignment == {TopicPartition("old", 0)})
        member.consumer.subscribe(["new"], member)
        await until_true(lambda: member.values == [b"x"])
        assert member.consumer.subscription == {"new"}
        assert member.events == ["assigned 0", "revoked 0", "assigned 0"]

    with_group(cluster.bootstrap_servers, "resubscribed", test)


def test_seek_pause_resume_position_and_committed(cluster: Cluster) -> None:
    zero, one = TopicPartition("seek", 0), TopicPartition("seek", 1)

    async def test(group: Group) -> None:
        await group.create("seek", 2)
        await group.produce("seek", values("v", 8), 2)
        consumer = (await group.member(enable_auto_commit=False)).consumer
        consumer.subscribe(["seek"])
        found: list[ConsumedRecord] = []
        while len(found) < 8:
            found += await consumer.poll(1_000, max_records=3)
        assert [consumer.position(partition) for partition in (zero, one)] == [4, 4]
        await consumer.commit({zero: 2})
        assert {partition: row.offset for partition, row in (await consumer.committed([zero, one])).items()} == {
            zero: 2
        }
        await consumer.commit()
        assert (await consumer.committed([one]))[one].offset == 4
        consumer.pause([zero])
        assert consumer.paused == {zero}
        await consumer.seek(zero, 1)
        await consumer.seek(one, 3)
        assert [row.value for row in await consumer.poll(1_000)] == [b"v7"]
        assert await consumer.poll(100) == []
        consumer.resume([zero])
        assert [row.value for row in await consumer.poll(1_000)] == [b"v2", b"v4", b"v6"]
        with pytest.raises(ValueError, match="partition seek-9 is not assigned"):
            consumer.pause([TopicPartition("seek", 9)])

    with_group(cluster.bootstrap_servers, "seek", test)


def test_a_cancelled_poll_loses_no_record(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("cancelled", 1)
        consumer = (await group.member()).consumer
        consumer.subscribe(["cancelled"])
        producing = asyncio.create_task(group.produce("cancelled", values("v", 200), 1))
        found: list[bytes | None] = []
        rounds = 0
        while len(found) < 200:
            rounds += 1
            polling = asyncio.create_task(consumer.poll(1_000, max_records=7))
            for _ in range(rounds % 40):
                await asyncio.sleep(0)
            polling.cancel()
            with suppress(asyncio.CancelledError):
                found += [row.value for row in await polling]
        await producing
        assert found == values("v", 200)

    with_group(cluster.bootstrap_servers, "cancelled", test)


def test_without_a_committed_offset_and_a_reset_poll_ends(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("none", 1)
        member = await group.member(fetch=ConsumerSettings(auto_offset_reset="none"))
        member.start("none")
        await until_true(lambda: member.failure is not None)
        assert isinstance(member.failure, NoCommittedOffset)

    with_group(cluster.bootstrap_servers, "none", test)


def test_the_listener_may_seek_instead(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("listener", 1)
        await group.produce("listener", values("v", 5), 1)
        member = await group.member(fetch=ConsumerSettings(auto_offset_reset="none", fetch_max_wait_ms=50))

        async def seek(partitions: frozenset[TopicPartition]) -> None:
            for partition in partitions:
                await member.consumer.seek(partition, 3)

        member.on_assigned = seek  # type: ignore[method-assign]
        member.start("listener")
        await until_true(lambda: member.values == [b"v3", b"v4"])
        assert member.failure is None

    with_group(cluster.bootstrap_servers, "listener", test)


def test_automatic_commits_follow_the_interval(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("timed", 1)
        await group.produce("timed", values("v", 5), 1)
        member = await group.member(auto_commit_interval_ms=50)
        member.start("timed")
        admin, partition = AdminClient(group.client), TopicPartition("timed", 0)
        committed: dict[TopicPartition, CommittedOffset] = {}
        async with asyncio.timeout(30):
            while partition not in committed or committed[partition].offset != 5:
                committed = await admin.committed_offsets("timed")

    with_group(cluster.bootstrap_servers, "timed", test)


def test_an_invalid_topic_ends_poll(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        member = await group.member()
        member.start("no/such name")
        await until_true(lambda: member.failure is not None)
        assert isinstance(member.failure, InvalidTopic)

    with_group(cluster.bootstrap_servers, "invalid", test)


def test_poll_needs_a_subscription(cluster: Cluster) -> None:
    async def run() -> None:
        async with GroupConsumer.of(cluster.bootstrap_servers, "nothing") as consumer:
            with pytest.raises(RuntimeError, match="not subscribed"):
                await consumer.poll()
            await consumer.close()  # and again at the end of the block
            assert (consumer.member_id, consumer.generation, consumer.assignment) == ("", -1, frozenset())

    asyncio.run(run())


@pytest.mark.spec("R10")
def test_without_the_right_on_the_group_poll_ends_at_once() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        row = FindCoordinatorResponse.Coordinator(error_code=Error.GROUP_AUTHORIZATION_FAILED, error_message="no")
        for broker in cluster.brokers.values():
            broker.scripts[ApiKey.FIND_COORDINATOR] = lambda request, version: FindCoordinatorResponse(
                coordinators=[row]
            )
        consumer = GroupConsumer(client, GroupConsumerSettings(group_id="g", fetch=EARLIEST))
        consumer.subscribe(["t1"])
        async with asyncio.timeout(40):
            with pytest.raises(AuthorizationFailed):
                await consumer.poll(50_000)
        await consumer.close()

    with_client(test)


def test_a_member_that_closes_while_it_joins_leaves_under_the_id_that_it_gets() -> None:
    """Else the coordinator, which expects it to join with that id, would hold up the group for the session timeout."""

    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        coordinator = ScriptedCoordinator(cluster)
        arrived, released = asyncio.Event(), asyncio.Event()

        async def join(request: Any, version: int) -> Any:
            arrived.set()
            await released.wait()
            return JoinGroupResponse(error_code=Error.MEMBER_ID_REQUIRED, member_id="m-7", protocol_name="")

        cluster.brokers[1].scripts[ApiKey.JOIN_GROUP] = join
        consumer = GroupConsumer(client, GroupConsumerSettings(group_id="g"))
        consumer.subscribe(["t1"])
        polling = asyncio.create_task(consumer.poll(50_000))
        await arrived.wait()
        polling.cancel()
        closing = asyncio.create_task(consumer.close())
        await settle()
        released.set()
        await closing
        (leave,) = coordinator.seen(ApiKey.LEAVE_GROUP)
        assert [row.member_id for row in leave.members] == ["m-7"]

    with_client(test)


def test_a_second_close_waits_for_what_a_cancelled_one_has_left() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        ScriptedCoordinator(cluster)
        consumer = GroupConsumer(client, GroupConsumerSettings(group_id="g"), owns_client=True)
        consumer.subscribe(["t1"])
        await consumer.poll(0)
        heartbeats = consumer._heartbeats
        assert heartbeats is not None
        task = heartbeats._task
        assert task is not None
        closing = asyncio.create_task(consumer.close())
        async with asyncio.timeout(60):
            while not consumer._ended:  # noqa: ASYNC110 - the moment lasts for one round of the loop
                await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await consumer.close()
        assert task.done()
        with pytest.raises(RuntimeError, match="the consumer is closed"):
            await consumer._consumer.poll()
        with pytest.raises(RuntimeError, match="the client is not started, or closed"):
            client.metrics()

    with_client(test)
