"""Patterns, `unsubscribe`, and calls of two tasks at once, against Signalbox brokers in this process."""

from __future__ import annotations

import asyncio
import re

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.group_consumer.subscription import Subscription
from signalbox.testing.cluster import Cluster
from tests.client.group_consumer.members import Group, Member, with_group
from tests.waiting import until_true


def topics_of(member: Member) -> set[str]:
    return {row.topic for row in member.consumer.assignment}


@pytest.mark.spec("R10")
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_pattern_follows_the_topics_that_it_matches(cluster: Cluster, strategy: str) -> None:
    prefix = f"area-{strategy}"

    async def test(group: Group) -> None:
        await group.create(f"{prefix}-north", 2)
        await group.create(f"other-{prefix}-north", 1)
        member = await group.member(partition_assignment_strategy=(strategy,))
        member.consumer.subscribe(re.compile(f"{prefix}-.*"), member)
        member.start()
        await until_true(lambda: topics_of(member) == {f"{prefix}-north"})
        await group.create(f"{prefix}-south", 1)
        group.refresh(member)
        await until_true(lambda: topics_of(member) == {f"{prefix}-north", f"{prefix}-south"})
        assert member.consumer.subscription == {f"{prefix}-north", f"{prefix}-south"}
        await group.produce(f"{prefix}-south", [b"a"], 1)
        await until_true(lambda: member.values == [b"a"])
        await AdminClient(group.client).delete_topics([f"{prefix}-north"])
        group.refresh(member)
        await until_true(lambda: topics_of(member) == {f"{prefix}-south"})
        assert member.failure is None

    with_group(cluster.bootstrap_servers, prefix, test)


@pytest.mark.spec("R10")
def test_a_pattern_without_a_match_joins_the_group_and_waits(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        member = await group.member()
        member.consumer.subscribe(re.compile("nothing-yet"), member)
        member.start()
        await until_true(lambda: member.consumer.generation >= 0)
        assert member.consumer.assignment == frozenset()
        await group.create("nothing-yet", 1)
        group.refresh(member)
        await until_true(lambda: member.has == "0")
        member.consumer.subscribe(["nothing-yet"], member)
        await until_true(lambda: member.has == "0" and not group.updater(member).has_all_topics)

    with_group(cluster.bootstrap_servers, "nothing-yet", test)


@pytest.mark.spec("R10")
@pytest.mark.parametrize("instance_id", [None, "a"])
def test_unsubscribe_commits_revokes_and_leaves(cluster: Cluster, instance_id: str | None) -> None:
    topic = f"unsubscribed-{instance_id}"

    async def test(group: Group) -> None:
        await group.create(topic, 2)
        await group.produce(topic, [b"0", b"1"], 2)
        leaving = await group.member(group_instance_id=instance_id)
        leaving.start(topic)
        await until_true(lambda: len(leaving.values) == 2)
        await leaving.pause_polling()
        await leaving.consumer.unsubscribe()
        assert leaving.events == ["assigned 0 1", "revoked 0 1"]
        consumer = leaving.consumer
        assert (consumer.assignment, consumer.subscription, consumer.member_id) == (frozenset(), frozenset(), "")
        with pytest.raises(RuntimeError, match="not subscribed"):
            await consumer.poll()
        described = await AdminClient(group.client).describe_group(group.group_id)
        assert len(described.members) == (0 if instance_id is None else 1)
        leaving.start(topic)
        await until_true(lambda: leaving.has == "0 1")
        await group.produce(topic, [b"2"], 1)
        await until_true(lambda: leaving.values[2:] == [b"2"])
        assert leaving.events[2:] == ["assigned 0 1"]

    with_group(cluster.bootstrap_servers, topic, test)


@pytest.mark.spec("R10")
def test_unsubscribe_before_the_member_has_joined(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("early", 1)
        member = await group.member()
        await member.consumer.unsubscribe()
        member.consumer.subscribe(["early"], member)
        await member.consumer.poll(0)
        await member.consumer.unsubscribe()
        assert (await AdminClient(group.client).describe_group("early")).members == []
        member.start("early")
        await until_true(lambda: member.has == "0")

    with_group(cluster.bootstrap_servers, "early", test)


@pytest.mark.spec("R10")
def test_a_second_call_while_another_task_polls_is_an_error(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("shared", 1)
        member = await group.member()
        member.start("shared")
        await until_true(lambda: member.has == "0")
        for call in (member.consumer.poll, member.consumer.unsubscribe):
            with pytest.raises(RuntimeError, match=f"{call.__name__} was called while another call is under way"):
                await call()
        await member.pause_polling()
        assert await member.consumer.poll(0) == []
        assert member.failure is None

    with_group(cluster.bootstrap_servers, "shared", test)


def test_one_name_is_no_list_of_topics(cluster: Cluster) -> None:
    async def run() -> None:
        async with ClusterClient(ClientSettings.of(cluster.bootstrap_servers)) as client:
            subscription = Subscription(client)
            with pytest.raises(TypeError, match=r"\['orders'\]"):
                subscription.set("orders", None)
            assert subscription.is_empty
        async with GroupConsumer.of(cluster.bootstrap_servers, "closed") as consumer:
            pass
        with pytest.raises(RuntimeError, match="closed"):
            await consumer.poll()

    asyncio.run(run())
